"""A table as HTML and as aligned text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from common.figures.markup import bare, code_spans, esc, stand_alone
from common.figures.text import columns, plain
from common.figures.words import WORDS, language_of

_NUMBER = re.compile(r"[-−+]?\d[\d.,]*(e[-+]?\d+)?( ?(%|dB))?", re.IGNORECASE)


class Table:
    """Rows of text under headers. A cell is shown as its ``str``, None as an empty cell; `backticks` mark code.

    Raises:
        TypeError: a row is a str (a list of cells is wanted).
        ValueError: a row has more or fewer cells than there are headers; names the row, counted from 1.
    """

    def __init__(self, rows: Iterable[Sequence[Any]], headers: Sequence[Any], title: str = "") -> None:
        self.title = title
        self.headers = [_cell(header) for header in headers]
        self.rows: list[list[str]] = []
        for number, row in enumerate(rows, 1):
            if isinstance(row, str):
                raise TypeError(f"table: row {number} is a str; a row is a list of cells")
            cells = [_cell(value) for value in row]
            if len(cells) != len(self.headers):
                raise ValueError(
                    f"table: row {number} has {len(cells)} cells, expected {len(self.headers)}, "
                    f"one for each header ({', '.join(self.headers)})"
                )
            self.rows.append(cells)
        self.language = language_of(title, *self.headers)

    def html(self, id: str) -> str:
        """The table in a wrapper that scrolls and can be reached by keyboard, for a page that has the stylesheet."""
        words = WORDS[self.language]
        kind = [
            ' class="fx-number"' if self.rows and all(_NUMBER.fullmatch(row[i]) for row in self.rows) else ""
            for i in range(len(self.headers))
        ]
        head = " ".join(f'<th scope="col"{k}>{code_spans(h)}</th>' for k, h in zip(kind, self.headers, strict=True))
        body = "\n".join(
            f"<tr>{' '.join(f'<td{k}>{code_spans(c)}</td>' for k, c in zip(kind, row, strict=True))}</tr>"
            for row in self.rows
        )
        caption = f"<caption>{code_spans(self.title)}</caption>\n" if self.title else ""
        label = self.title or f"{words.table}: {', '.join(self.headers)}"
        return (
            f'<div class="fx-table" id="{esc(id)}" tabindex="0" role="region" aria-label="{esc(bare(label))}">\n'
            f'<table class="fx-grid">\n{caption}<thead>\n<tr>{head}</tr>\n</thead>\n'
            f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
        )

    @property
    def text(self) -> str:
        """Title, headers and rows in aligned columns; a CJK character counts as two."""
        grid = [[bare(cell) for cell in row] for row in (self.headers, *self.rows)]
        widths = [max(columns(row[i]) for row in grid) for i in range(len(self.headers))]
        grid.insert(1, ["─" * width for width in widths])
        lines = [
            "  ".join(cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in grid
        ]
        return "\n".join([bare(self.title)] * bool(self.title) + lines)

    def _repr_html_(self) -> str:
        """The table for Jupyter: stands alone, in its own light style."""
        return stand_alone(self.html)

    def __repr__(self) -> str:
        return self.text


def _cell(value: Any) -> str:
    return "" if value is None else plain(value)
