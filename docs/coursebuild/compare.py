"""What the chapters show under other versions of torch or torchao, against what is on record: a difference to read
before an upgrade. `make compare` makes the environment and runs this in it; only `.cache/compare/` is written."""

import difflib
import json
from dataclasses import dataclass
from pathlib import Path

from coursebuild import golden
from coursebuild.build import preflight
from coursebuild.execution import scheduler
from coursebuild.execution.cache import Cache, versions
from coursebuild.problems import Problem
from coursebuild.progress import Progress
from coursebuild.project import Chapter, Project

SHOWN = ("torch", "torchao", "numpy", "Python", "Graphviz")


@dataclass(frozen=True)
class Difference:
    """One chapter under the versions that run: why it failed ("" if it did not), and how what it showed differs from
    its golden file, as the lines of a unified diff. A chapter that failed is compared as far as it came."""

    chapter: Chapter
    failure: str
    diff: tuple[str, ...]

    @property
    def verdict(self) -> str:
        return "FAILED" if self.failure else "different" if self.diff else "same"

    def __str__(self) -> str:
        return "\n".join([f"{self.chapter}: {self.verdict}", *filter(None, [self.failure]), *self.diff])


def run(project: Project, jobs: int | None = None, seconds: float = scheduler.SECONDS) -> list[Difference]:
    """Run every chapter under this interpreter and compare, in reading order. Results are kept apart from those of the
    build, so that neither pushes out the other's."""
    preflight()
    cache = Cache(project.root, project.cache / "compare" / "results")
    chapters = project.chapters()
    stale = [chapter for chapter in chapters if cache.find(chapter) is None]
    partial: dict[Chapter, str] = {}
    failures: dict[str, Problem] = {}

    def keep_failed(chapter: Chapter, folder: Path) -> None:
        outputs = folder / "outputs.json"
        partial[chapter] = _text(outputs) if outputs.exists() else ""

    with Progress(len(stale)) as progress:

        def report(chapter: Chapter, took: float, problems: list[Problem]) -> None:
            failures.update({str(chapter): problem for problem in problems})
            progress.step(f"{chapter.module}/{chapter.stem} {chapter.language}", took, not problems)

        if stale:
            scheduler.run(project.root, stale, cache.keep, report, jobs, seconds, keep_failed)
    return [_compare(project.root, chapter, failures.get(str(chapter)), partial, cache) for chapter in chapters]


def _compare(
    root: Path, chapter: Chapter, failure: Problem | None, partial: dict[Chapter, str], cache: Cache
) -> Difference:
    recorded = root / golden.path_of(chapter)
    before = recorded.read_text(encoding="utf-8") if recorded.exists() else ""
    if not failure:
        return Difference(chapter, "", _diff(before, _text(cache.find(chapter) / "outputs.json")))
    after = partial[chapter]
    count = after.count("\n== ") + after.startswith("== ")
    reached = "\n== ".join(before.split("\n== ")[:count])
    said = f"line {failure.line}: {failure.message}"
    return Difference(chapter, said, _diff(reached.rstrip("\n"), after.rstrip("\n")))


def _text(outputs: Path) -> str:
    return golden.text_of(json.loads(outputs.read_text(encoding="utf-8")))


def _diff(before: str, after: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), "recorded", "now", lineterm="")
    return tuple(lines)


def report(differences: list[Difference]) -> str:
    """The versions that ran; the chapters that failed, then those that differ (the others are only counted); and last
    one line of counts."""
    ran = versions()
    verdicts = [difference.verdict for difference in differences]
    order = {"FAILED": 0, "different": 1}
    listed = sorted((d for d in differences if d.verdict in order), key=lambda d: order[d.verdict])
    counts = ", ".join(f"{verdict.lower()}: {verdicts.count(verdict)}" for verdict in ("same", "different", "FAILED"))
    head = "with " + ", ".join(f"{name} {ran[name]}" for name in SHOWN)
    return "\n\n".join([head, *map(str, listed), f"chapters: {len(differences)}, {counts}"]) + "\n"


def save(project: Project, text: str) -> Path:
    """Keep the report, and return its path."""
    path = project.cache / "compare" / "report.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path
