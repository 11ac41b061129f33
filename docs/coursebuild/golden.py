"""Golden outputs: what each chapter shows, as text in the repository, so that a change of it is a change to review."""

import difflib
import json
from itertools import zip_longest
from pathlib import Path

from coursebuild.problems import Problem
from coursebuild.project import Chapter

FOLDER = Path("tests", "golden")


def path_of(chapter: Chapter) -> Path:
    """Where a chapter's golden file lies, relative to the project's root."""
    return FOLDER / chapter.language / chapter.module / f"{chapter.stem}.txt"


def text_of(outputs: list[dict]) -> str:
    """Outputs (the `outputs.json` of a result) as text: prints and tables as shown, figures as text twin and DOT."""
    return "\n".join(
        f"== {o['kind']} #{o['id']}{': ' + o['title'] if o.get('title') else ''}\n{_body(o)}\n" for o in outputs
    )


def _body(output: dict) -> str:
    if output["kind"] == "table":
        return "\n".join(" | ".join(row) for row in [output["headers"], *output["rows"]])
    return output["text"] + (f"\n-- DOT\n{output['dot']}" if output["kind"] == "figure" else "")


def texts(results: dict[Chapter, Path]) -> dict[Path, str]:
    """Golden file → its content, for the result folders of chapters."""
    return {
        path_of(c): text_of(json.loads((f / "outputs.json").read_text(encoding="utf-8"))) for c, f in results.items()
    }


def compare(root: Path, wanted: dict[Path, str]) -> list[Problem]:
    """Where today's outputs differ from the golden files; also golden files of chapters that are gone."""
    problems = []
    for path, text in wanted.items():
        file = root / path
        kept = file.read_text(encoding="utf-8") if file.exists() else ""
        if kept != text:
            lines = difflib.unified_diff(kept.split("\n"), text.split("\n"), "recorded", "today", lineterm="", n=1)
            at = next((i for i, (a, b) in enumerate(zip_longest(kept.split("\n"), text.split("\n")), 1) if a != b), 1)
            what = "shows something else than was recorded" if file.exists() else "has no golden file yet"
            problems.append(
                Problem(
                    path.as_posix(),
                    at,
                    f"the chapter {what}",
                    "review it, then `make golden`:\n" + "\n".join(list(lines)[:60]),
                )
            )
    for file in sorted((root / FOLDER).rglob("*.txt")):
        if file.relative_to(root) not in wanted:
            problems.append(
                Problem(
                    file.relative_to(root).as_posix(),
                    1,
                    "there is no such chapter any more",
                    "`make golden` removes it",
                )
            )
    return problems


def record(root: Path, wanted: dict[Path, str]) -> list[Path]:
    """Write the golden files that differ, remove those of chapters that are gone; return what was changed."""
    changed = []
    for path, text in wanted.items():
        file = root / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
            changed.append(path)
    for file in sorted((root / FOLDER).rglob("*.txt")):
        if file.relative_to(root) not in wanted:
            file.unlink()
            changed.append(file.relative_to(root))
    return changed
