"""The command line: `python -m coursebuild build|serve|check|golden|restamp|compare|bench`."""

import argparse
import gc
import signal
import subprocess
import sys
from pathlib import Path

from coursebuild import addresses, compare, golden
from coursebuild.build import Options, Summary, build, check_sources
from coursebuild.course import Course
from coursebuild.execution.cache import Cache
from coursebuild.execution.scheduler import SECONDS
from coursebuild.info import Info
from coursebuild.problems import BuildError
from coursebuild.project import LANGUAGES, Project, find_root


def main() -> int:
    parser = argparse.ArgumentParser(prog="coursebuild", description=__doc__)
    parser.add_argument(
        "--root", type=Path, default=find_root(), help="the project (default: the one this package is in)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("build", help="run what changed, render both languages into site/")
    one.add_argument("--site", type=Path, help="the folder to write (default: site/)")
    one.add_argument("--jobs", type=int, help="chapters run side by side (default: one a core)")
    one.add_argument(
        "--seconds", type=float, default=SECONDS, help="when a chapter counts as hanging (default: %(default)g)"
    )
    one.add_argument(
        "--draft", action="store_true", help="stop for failing chapters only, report all else (for a preview)"
    )
    two = commands.add_parser("serve", help="build, serve, and build again at every change")
    two.add_argument("--port", type=int, default=8000)
    commands.add_parser("check", help="check the sources without running them")
    commands.add_parser(
        "golden", help="after review: record what the chapters show today, and the site's new addresses"
    )
    three = commands.add_parser("restamp", help="after review: say that the English follows today's Chinese")
    three.add_argument("paths", nargs="*", type=Path, help="English files (default: all)")
    commands.add_parser("compare", help="run all chapters under this interpreter, show how they differ from the record")
    four = commands.add_parser("bench", help="time the build beside others, and write docs/benchmark.json")
    four.add_argument("--runs", type=int, default=3, help="of each case (default: %(default)s)")
    four.add_argument("--case", action="append", help="only this case, and write nothing; may be repeated")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that running chapters are ended, too
    project = Project(options.root.resolve())
    if options.command == "build":
        gc.disable()  # the process ends before there is enough garbage to matter, and looking for it takes a tenth
        how = Options(options.jobs, options.seconds, options.draft)
        return report(build(project, (options.site or project.site).resolve(), how))
    if options.command == "serve":
        return serve(project, options.port)
    if options.command == "check":
        summary = Summary(chapters=len(project.chapters()))
        try:
            summary.problems = check_sources(project, Course(project))
        except BuildError as error:
            summary.problems = error.problems
        return report(summary)
    if options.command == "golden":
        return record(project)
    if options.command == "compare":
        return compare_versions(project)
    if options.command == "bench":
        return bench(project, options.runs, options.case)
    from coursebuild import stamps

    try:
        stamps.restamp(project.root, options.paths)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def report(summary: Summary) -> int:
    """Print what is wrong, then the one line that ends every build."""
    for problem in summary.warnings:
        print(f"would stop a build that isn't a draft: {problem}", file=sys.stderr)
    for problem in summary.problems:
        print(problem, file=sys.stderr)
    sys.stderr.flush()
    print(summary, flush=True)
    return 1 if summary.problems else 0


def record(project: Project) -> int:
    """Build, then write the golden files and the list of addresses anew."""
    summary = build(project, project.site)
    if not summary.problems:
        cache = Cache(project.root)
        results = {chapter: cache.find(chapter) for chapter in project.chapters()}
        changed = golden.record(project.root, golden.texts(results))
        print("\n".join(f"recorded {path}" for path in changed) or "the golden files are as they were")
        print("\n".join(f"new address: {a}" for a in addresses.record(project.root, project.site)) or "no new address")
    return report(summary)


def compare_versions(project: Project) -> int:
    """Print the report; a difference is a finding, no failure, so the exit status says only whether it was made."""
    try:
        text = compare.report(compare.run(project))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    path = compare.save(project, text)
    print(f"{text}\n(kept in {path.relative_to(project.root)})", flush=True)
    return 0


def bench(project: Project, runs: int, only: list[str] | None) -> int:
    """Measure, and keep the results unless they are of chosen cases only."""
    from coursebuild.bench import results as results_of_bench
    from coursebuild.bench import runner

    known = {case.key: case for case in runner.CASES}
    if unknown := [key for key in only or [] if key not in known]:
        print(f"no such case: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    try:
        results = runner.run(project.root, runs, tuple(known[key] for key in only or known))
    except runner.BenchError as error:
        print(error, file=sys.stderr)
        return 1
    if not only:
        results_of_bench.save(project.root, results)
        print(f"written: {results_of_bench.FILE}")
    return 0


def serve(project: Project, port: int) -> int:
    """Build drafts, each in a process of its own, so that an edit of the build code counts, too."""
    from coursebuild.server import serve as run_server

    site = project.cache / "serve"
    command = [
        sys.executable,
        "-m",
        "coursebuild",
        "--root",
        str(project.root),
        "build",
        "--draft",
        "--site",
        str(site),
    ]

    def rebuild(changed: set[Path]) -> tuple[bool, str]:
        made = subprocess.run(command, stdout=None, stderr=subprocess.PIPE, text=True)
        print(made.stderr, end="", file=sys.stderr, flush=True)
        return made.returncode == 0, made.stderr

    ok, _ = rebuild(set())
    if not ok and not site.exists():
        return 1
    watch = [project.root / name for name in ("examples", "common", "docs", "mkdocs.yml", "mkdocs.en.yml")]
    generated = [(language, folder) for language in LANGUAGES for folder in [*project.modules(language), "downloads"]]
    ignored = [project.root / "docs" / language / folder for language, folder in generated]
    run_server(site, watch, rebuild, port=port, ignored=ignored, base_path=Info.load(project.root).base_path)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
