"""A whole build: checks, execution, rendering, checks of the built site; then, and only then, the site is replaced."""

import contextlib
import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from filelock import FileLock, Timeout

from coursebuild import addresses, cells, layout, links, lint, pairs, parallel, render, sitecheck, stamps, wheel
from coursebuild.course import Course
from coursebuild.execution import scheduler
from coursebuild.execution.cache import Cache, versions
from coursebuild.info import Info, commit, configured
from coursebuild.problems import BuildError, Problem
from coursebuild.progress import Progress
from coursebuild.project import LANGUAGES, Chapter, Project


@dataclass(frozen=True)
class Options:
    """How to build. `jobs`: chapters run side by side (None: one a core); `seconds`: when one of them counts as
    hanging; `draft`: only a chapter that fails stops the build, all else that is wrong is reported (for a preview)."""

    jobs: int | None = None
    seconds: float = scheduler.SECONDS
    draft: bool = False


@dataclass
class Summary:
    """The last line of a build (scripts of both languages are counted), and what is wrong: `problems` stopped it,
    `warnings` didn't, as it was for a preview."""

    chapters: int = 0
    run: int = 0
    cached: int = 0
    failed: int = 0
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def __str__(self) -> str:
        return f"chapters: {self.chapters}, run: {self.run}, cached: {self.cached}, failed: {self.failed}"

    def add(self, problems: list[Problem], options: Options) -> None:
        """Stop the build if there are problems and it isn't a draft."""
        if problems and not options.draft:
            raise BuildError(problems)
        self.warnings += problems


def build(project: Project, site: Path, options: Options = Options()) -> Summary:
    """Build the site of both languages into `site`. Where anything stops it, `summary.problems` says what, and `site`
    is as it was."""
    summary = Summary()
    try:
        _make_cache(project)
        with _alone(project):
            _sweep(project, site)
            _build(project, site, options, summary)
    except BuildError as error:
        summary.problems += error.problems
    return summary


def preflight() -> None:
    """What every build needs, said before anything runs."""
    configured()  # raises where an address is none
    problems = []
    if sys.flags.optimize:
        problems.append(
            Problem(
                "docs/coursebuild/build.py",
                1,
                "Python runs with -O or PYTHONOPTIMIZE, which removes every assert",
                "run it without: a build that checks nothing must not publish",
            )
        )
    if not shutil.which("dot"):
        problems.append(
            Problem(
                "docs/coursebuild/build.py",
                1,
                "there is no `dot` on the PATH, so no figure can be drawn",
                "install Graphviz: apt-get install graphviz, or brew install graphviz",
            )
        )
    if problems:
        raise BuildError(problems)


def _make_cache(project: Project) -> None:
    try:
        project.cache.mkdir(exist_ok=True)
    except OSError as error:
        name = project.cache.name
        raise BuildError([Problem(name, 1, f"can't be a folder: {error.strerror}", "remove it")]) from None


def _check_readable(root: Path) -> None:
    """No other check can read a script or a page that isn't a file in UTF-8."""
    problems = []
    for top, name in (("examples", "*/*.py"), ("docs", "*.md")):
        for path in sorted(path for language in LANGUAGES for path in (root / top / language).glob(name)):
            try:
                cells.readable(path)
            except BuildError as error:
                problems += error.problems
    if problems:
        raise BuildError(problems)


@contextlib.contextmanager
def _alone(project: Project):
    """One build at a time in a checkout; a second one waits."""
    lock = FileLock(project.cache / "build.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("another build is running in this checkout; waiting for it to end", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _sweep(project: Project, site: Path) -> None:
    """Remove what builds that were killed have left; a site that one of them had just put aside is the site again."""
    aside = render.aside(project, site)
    if aside.exists() and not site.exists():
        aside.rename(site)
    shutil.rmtree(aside, ignore_errors=True)
    for path in [*project.cache.glob("site-*"), *project.cache.glob("run/*"), *project.cache.glob("results/*/.new-*")]:
        shutil.rmtree(path, ignore_errors=True)


def check_sources(project: Project, course: Course) -> list[Problem]:
    """Everything that can be said of the sources without running them. Raises BuildError where they can't be read."""
    root = project.root
    _check_readable(root)
    found = parallel.each(
        [
            lambda: course.check() + pairs.find(root / "examples"),
            *(partial(lint.check_all, root, [language]) for language in LANGUAGES),
            partial(pairs.check_all, root),
            partial(stamps.check_all, root),
        ]
    )
    return list(dict.fromkeys(chain.from_iterable(found)))  # what can't be read is said once, not by each check


def _build(project: Project, site: Path, options: Options, summary: Summary) -> None:
    preflight()
    course = Course(project)
    chapters = project.chapters()
    summary.chapters = len(chapters)
    cache = Cache(project.root)
    stale = [chapter for chapter in chapters if cache.find(chapter) is None]
    if stale:
        scheduler.warm_up(project.root)
    summary.add(check_sources(project, course), options)
    with render.waiting(project) as renderers:
        results = execute(project, chapters, stale, cache, options, summary)
        summary.add(check_outputs(project, results), options)
        _publish(project, course, results, renderers, site, options, summary)


def _publish(
    project: Project,
    course: Course,
    results: dict[Chapter, Path],
    renderers: render.Renderers,
    site: Path,
    options: Options,
    summary: Summary,
) -> None:
    """Render the results, check the pages, and make them the site."""
    start = time.monotonic()
    sha, epoch = commit(project.root)
    info = Info(
        *configured(),
        commit=_clean(project, sha),
        epoch=epoch,
        versions=versions(),
        wheel=wheel.build(project.root).name,
    )
    info.save(project.root)
    for language in LANGUAGES:
        layout.lay_out(project, language, {c: r for c, r in results.items() if c.language == language}, course, info)
    staging = render.render(project, info, renderers, strict=not options.draft)
    try:
        addresses.write_redirects(project.root, staging, info.base_path)
        short = {entry.anchor: links.page_of(entry) for entry in course.entries if course.exists(entry)}
        addresses.write_short_links(staging, info.base_path, short)
        summary.add(sitecheck.check(staging, info.site_url) + addresses.check(project.root, staging), options)
        render.put_in_place(staging, site, render.aside(project, site))
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    print(f"rendered and checked both languages in {time.monotonic() - start:.1f} s", flush=True)


def execute(
    project: Project,
    chapters: list[Chapter],
    stale: list[Chapter],
    cache: Cache,
    options: Options,
    summary: Summary,
) -> dict[Chapter, Path]:
    """The result folders of all chapters; those of `stale` are run first."""
    summary.cached = len(chapters) - len(stale)
    with Progress(len(stale)) as progress:

        def report(chapter: Chapter, took: float, problems: list[Problem]) -> None:
            summary.run += 1
            summary.failed += bool(problems)
            progress.step(f"{chapter.module}/{chapter.stem} {chapter.language}", took, not problems)

        problems = []
        if stale:
            # twins side by side: they take equally long, so no core waits for a long last one
            queue = sorted(stale, key=lambda chapter: (chapter.module, chapter.stem, chapter.language))
            problems = scheduler.run(project.root, queue, cache.keep, report, options.jobs, options.seconds)
    if problems:
        raise BuildError(problems)
    found = {chapter: cache.find(chapter) for chapter in chapters}
    moved = {chapter for chapter, folder in found.items() if folder is None} | set(cache.changed(chapters))
    if moved:
        raise BuildError(
            Problem(str(chapter), 1, "the script or common/ changed while the build ran", "build again")
            for chapter in chapters
            if chapter in moved
        )
    return found


def check_outputs(project: Project, results: dict[Chapter, Path]) -> list[Problem]:
    """Whether the two scripts of a pair showed the same."""
    problems = []
    first, *others = LANGUAGES
    for chapter, folder in results.items():
        twins = [Chapter(language, chapter.module, chapter.stem) for language in others]
        for twin in twins if chapter.language == first else ():
            if twin not in results:  # said by the check of the sources
                continue
            shown = [json.loads((f / "outputs.json").read_text(encoding="utf-8")) for f in (folder, results[twin])]
            problems += pairs.check_outputs(*shown, (str(chapter), str(twin)))
    return problems


def _clean(project: Project, sha: str) -> str:
    """The commit, or "" if the tree that is built differs from it: a page must not name a source that isn't its own."""
    if not sha:
        return ""
    status = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=no"], cwd=project.root, capture_output=True, text=True
    )
    return sha if status.returncode == 0 and not status.stdout.strip() else ""
