"""The whole comparison: every case for every contender, alternating, and the results as data."""

import datetime
import os
import platform
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from coursebuild.bench import contenders, measure, trees
from coursebuild.bench.contenders import Contender
from coursebuild.execution.cache import versions
from coursebuild.info import commit

CHANGED = "m01_1_end_to_end"  # the chapter that is changed
BUILT_WITH = ("mkdocs", "mkdocs-material", "mkdocs-gallery", "sphinx", "sphinx-gallery")
CONTENDERS = (contenders.this_build, contenders.mkdocs_gallery, contenders.sphinx_gallery, contenders.plain_mkdocs)
RUNS = 3


class BenchError(Exception):
    """The comparison can't be made, or did not do what it claims to measure."""


@dataclass(frozen=True)
class Case:
    """`before(tree, contender, number)`: what happens to the tree before each run; `ran`: how many scripts a build that
    notices every change executes, as a function of how many there are; `large`: in the tree with copies."""

    key: str
    before: Callable[[Path, Contender, int], None]
    ran: Callable[[int], int]
    large: bool = False


def _forget(tree: Path, contender: Contender, number: int) -> None:
    contender.forget(tree)


def _nothing(tree: Path, contender: Contender, number: int) -> None:
    pass


def _edit_chapter(tree: Path, contender: Contender, number: int) -> None:
    trees.edit_chapter(tree, CHANGED, number)


def _edit_common(tree: Path, contender: Contender, number: int) -> None:
    trees.edit_common(tree, number)


CASES = (
    Case("cold", _forget, lambda scripts: scripts),
    Case("nothing", _nothing, lambda scripts: 0),
    Case("chapter", _edit_chapter, lambda scripts: 2),
    Case("common", _edit_common, lambda scripts: scripts),
    Case("large-cold", _forget, lambda scripts: scripts, large=True),
    Case("large-nothing", _nothing, lambda scripts: 0, large=True),
)


def executed(contender: Contender, tree: Path, since: float, output: str) -> int:
    """How many scripts a run executed: this build says so, mkdocs-gallery lists what each took (0.00 s: not executed),
    sphinx-gallery writes a checksum beside what it executed."""
    if contender.key == "this":
        return int(re.findall(r"^chapters: \d+, run: (\d+)", output, re.M)[-1])
    if contender.key == "mkdocs-gallery":
        return sum(float(seconds) > 0 for seconds in re.findall(r"\.py: +([\d.]+) sec ", output))
    return sum(path.stat().st_mtime >= since for path in tree.glob("sphinx/*/*/*.md5"))


def failed(output: str) -> int:
    """How many scripts the galleries report as failed: they share a process, so one script can break another."""
    return output.count("failed leaving traceback")


def run(root: Path, runs: int = RUNS, cases: tuple[Case, ...] = CASES, say: Callable[[str], None] = print) -> dict:
    """Measure all `cases`. Raises BenchError, also where a build did not execute what its case says."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        results, body = {}, None
        for large in sorted({case.large for case in cases}):
            these = [case for case in cases if case.large is large]
            field = _set_up(root, Path(folder, "large" if large else "normal"), these[0], say)
            try:
                for case in these:
                    results[case.key] = _measure(case, field, runs, say)
            except measure.CommandFailed as error:
                raise BenchError(str(error)) from None
            if body is None:
                body = _body(field["this"][1], runs)
        scripts = len(list((root / "examples").glob("*/*/*.py")))
        sha, _ = commit(root)
        return {
            "date": datetime.date.today().isoformat(),
            "commit": sha,
            "machine": machine(),
            "versions": versions() | {name: _version(name) for name in BUILT_WITH},
            "scripts": scripts,
            "copies": trees.COPIES,
            "changed": {"chapter": CHANGED, "seconds": body},
            "cases": results,
        }


def _set_up(root: Path, home: Path, first: Case, say: Callable[[str], None]) -> dict[str, tuple[Contender, Path]]:
    """A tree for each contender, built once: it warms the disk's cache, and isn't counted. Where the `first` case is a
    cold build of the large tree, that is left out (it takes minutes), but for MkDocs, which needs the pages."""
    field = {}
    for make in CONTENDERS:
        tree = trees.copy(root, home / make.__name__)
        if first.large:
            trees.multiply(tree)
        contender = make(tree)
        say(f"setting up {contender.key}{' with copies' if first.large else ''}")
        commands = [] if first.large and first.before is _forget else list(contender.commands)
        if contender.key == "mkdocs":
            commands[:0] = contenders.this_build(tree).commands
        try:
            measure.run(commands, tree, contenders.environment(tree))
        except measure.CommandFailed as error:
            raise BenchError(str(error)) from None
        field[contender.key] = contender, tree
    return field


def _measure(case: Case, field: dict[str, tuple[Contender, Path]], runs: int, say: Callable[[str], None]) -> dict:
    """Each contender in turn, and again; each round begins with the next one."""
    found = {key: {"seconds": [], "megabytes": [], "executed": [], "failed": []} for key in field}
    for number in range(runs):
        keys = list(field)
        for key in keys[number % len(keys) :] + keys[: number % len(keys)]:
            contender, tree = field[key]
            case.before(tree, contender, number)
            since = time.time()
            made = measure.run(contender.commands, tree, contenders.environment(tree))
            count = executed(contender, tree, since, made.output)
            say(f"{case.key} {number + 1}/{runs} {key}: {made.seconds:.1f} s, {count} executed")
            found[key]["seconds"].append(round(made.seconds, 2))
            found[key]["megabytes"].append(made.megabytes and round(made.megabytes))
            found[key]["executed"].append(count)
            found[key]["failed"].append(failed(made.output))
    scripts = len(list(field["this"][1].glob("examples/*/*/*.py")))
    wanted = case.ran(scripts)
    if found["this"]["executed"] != [wanted] * runs:
        raise BenchError(f"{case.key}: this build executed {found['this']['executed']} scripts, not {wanted} each time")
    return {
        key: values | {"executed": values["executed"][0], "failed": max(values["failed"])}
        for key, values in found.items()
    }


def _body(tree: Path, runs: int) -> float:
    """Seconds of the changed chapter's own code in a warm process: the median, of the slower language."""
    seconds = []
    for script in sorted(tree.glob(f"examples/*/*/{CHANGED}.py")):
        command = [*contenders.PYTHON, "coursebuild.bench.body", script.relative_to(tree).as_posix()]
        made = [measure.run([command], tree, contenders.environment(tree)).output for _ in range(runs)]
        seconds.append(statistics.median(float(output.strip().split("\n")[-1]) for output in made))
    return round(max(seconds), 2)


def machine() -> dict:
    """Processor, cores, memory and system."""
    model = platform.processor() or platform.machine()
    cpuinfo, memory = Path("/proc/cpuinfo"), None
    if cpuinfo.exists():
        found = re.search(r"model name\s*: (.*)", cpuinfo.read_text())
        model = found[1].strip() if found else model
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "gigabytes": memory,
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise BenchError(f"{name} isn't installed: run `make bench`, which makes the environment") from None
