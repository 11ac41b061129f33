"""The text twin of a figure: what it shows, as lines of text."""

from __future__ import annotations

from collections import Counter

from common.figures.cells import Cell
from common.figures.markup import bare
from common.figures.words import Words

SIGNS = {"new": "+", "gone": "−", "changed": "△"}


def heading(number: int, label: str, cells: list[Cell], words: Words) -> str:
    """``[2] prepared  +3 new  △1 changed``."""
    counts = [f"{SIGNS[mark]}{n} {getattr(words, mark)}" for mark, n in count_marks(cells)]
    return "  ".join([f"[{number}] {bare(label)}".rstrip(), *counts])


def count_marks(cells: list[Cell]) -> list[tuple[str, int]]:
    """(mark, number of nodes) for the marks that occur, in a fixed order."""
    count = Counter(mark for cell in cells for mark in cell.change)
    return [(mark, count[mark]) for mark in SIGNS if count[mark]]


def stage_text(cells: list[Cell], words: Words) -> str:
    """A line for each node: its marks, its name, what it calls on what, the value it gives, and its sharing letter."""
    if not cells:
        return f"  {words.empty}"
    lines = []
    for cell in cells:
        marks = "".join(SIGNS[mark] for mark in SIGNS if mark in cell.change)
        line = f"{marks:<2} {cell.name} = {cell.call}"
        line += f"  ({cell.letter})" if cell.letter else ""
        lines.append(line + (f" : {cell.value}" if cell.value else ""))
    return "\n".join(lines)
