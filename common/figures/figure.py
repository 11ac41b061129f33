"""A figure: stages of a graph, aligned. It reads the graphs when it is made, so later edits don't show."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import graphviz
from torch.fx import GraphModule

from common.figures.annotations import add_annotations
from common.figures.arguments import check_graph, check_highlight, check_language, check_per_row, check_stages
from common.figures.cells import INT8, Cell
from common.figures.layout import Layout, lay_out
from common.figures.markup import bare, code_spans, esc, json_block, stand_alone
from common.figures.places import assign_letters, assign_places, mark_changes
from common.figures.reading import read_graph
from common.figures.svg import drawing_width, sample, stage_svg
from common.figures.twin import SIGNS, count_marks, heading, stage_text
from common.figures.words import WORDS, Words, language_of

WIDE = 420  # px: a wider drawing scrolls inside itself instead of shrinking to fit a phone
VERY_WIDE = 690  # px: wider than a page with navigation and table of contents beside it
_ROLES = ("io", "param", "op", "lowered", "annotation", "observer", "quantize")


class GraphvizMissing(RuntimeError):
    """`dot` is not installed; the message says how to get it."""


class Figure:
    """Stages of a graph, in which a node that persists stands at the same place.

    Attributes:
        title: the caption; `backticks` in it and in labels mark code.
        language: of the figure's own words, "zh-TW" or "en".
        text: the text twin.
    """

    def __init__(
        self,
        stages: Sequence[tuple[GraphModule, str]],
        show_params: bool = False,
        per_row: int | None = None,
        title: str = "",
        highlight: Iterable[str] = (),
        like: Iterable[GraphModule] = (),
        lang: str | None = None,
    ) -> None:
        stages = check_stages(stages)
        self.title = title
        self.labels = [label for _, label in stages]
        self.language = check_language(lang) or language_of(title, *self.labels)
        self.per_row = check_per_row(per_row)
        self._stages = [self._read(gm, show_params) for gm, _ in stages]
        self._like = [self._read(check_graph(gm, "like"), show_params) for gm in like]
        self.highlight = check_highlight(highlight, self._stages)
        self._places = assign_places(self._like + self._stages)
        assign_letters(self._stages)
        mark_changes(self._stages)

    @staticmethod
    def _read(gm: GraphModule, show_params: bool) -> list[Cell]:
        return add_annotations(gm, read_graph(gm, show_params))

    @property
    def _words(self) -> Words:
        return WORDS[self.language]

    @cached_property
    def _layout(self) -> Layout:
        try:
            return lay_out(self._stages + self._like, self._places)
        except graphviz.ExecutableNotFound as error:
            raise GraphvizMissing(self._words.no_dot) from error

    @property
    def missing(self) -> str:
        """Empty, or one line that says how to get the `dot` that drawing needs."""
        return "" if shutil.which("dot") else self._words.no_dot

    @property
    def text(self) -> str:
        """The caption and, for each stage, its heading and one line a node."""
        parts = [bare(self.title)] if self.title else []
        for number, (label, cells) in enumerate(zip(self.labels, self._stages, strict=True), 1):
            parts += [heading(number, label, cells, self._words)] if label or len(self._stages) > 1 else []
            parts.append(stage_text(cells, self._words))
        return "\n".join(parts)

    @property
    def dot(self) -> str:
        """The union of all stages in DOT: what was laid out. Raises GraphvizMissing."""
        return self._layout.dot

    @property
    def width(self) -> int:
        """Width of one stage's drawing in px. Raises GraphvizMissing."""
        return round(drawing_width(self._stages, self._places, self._layout))

    def html(self, id: str) -> str:
        """A ``<figure>`` for a page that has the stylesheet; every id in it begins with `id`.

        Raises:
            GraphvizMissing: `dot` is not installed.
        """
        return self._html(id, with_data=True)

    def _repr_html_(self) -> str:
        """The figure for Jupyter: stands alone, in its own light style; without `dot` the text twin and a hint."""
        return stand_alone(self._standing)

    def _standing(self, id: str) -> str:
        try:
            return self._html(id, with_data=False)
        except GraphvizMissing as missing:
            return f'<div class="fx"><pre>{esc_lines(self.text)}</pre><p>{esc(missing)}</p></div>'

    def __repr__(self) -> str:
        return self.text

    def _html(self, id: str, with_data: bool) -> str:
        caption = f"<figcaption>{code_spans(self.title)}</figcaption>\n" if self.title else ""
        panels = "\n".join(self._panel(f"{esc(id)}-s{n + 1}", n) for n in range(len(self._stages)))
        wide = " fx-wide" * (self.width > WIDE) + " fx-very-wide" * (self.width > VERY_WIDE)
        data = json_block(self._data()) if with_data else ""
        style = f"--fx-width: {self.width}px; --fx-per-row: {self.per_row or len(self._stages)}"
        return (
            f'<figure class="fx{wide}" id="{esc(id)}" lang="{self.language}" style="{style}">\n{caption}'
            f'<div class="fx-stages">\n{panels}\n</div>\n{self._legend()}\n'
            f'<details class="fx-twin"><summary>{self._words.twin}</summary>\n'
            f'<pre tabindex="0" role="region" aria-label="{self._words.twin}">{esc_lines(self.text)}</pre></details>\n'
            f"{data}</figure>"
        )

    def _panel(self, uid: str, number: int) -> str:
        words, label, cells = self._words, self.labels[number], self._stages[number]
        several, wide = len(self._stages) > 1, self.width > WIDE
        name = bare(label or (f"{words.stage} {number + 1}" if several else self.title or words.figure))
        top = self._heading(uid, number) if label or several else ""
        if not cells:
            drawing = f'<p class="fx-empty">{words.empty}</p>'
        else:
            drawing = stage_svg(uid, name, self.width, cells, self._places, self._layout, number, self.highlight, words)
        if wide:
            top += f'<p class="fx-hint">⟷ {esc(words.scroll)}</p>\n'
            region = f"{name} ({words.scroll})" if self.language == "en" else f"{name}（{words.scroll}）"
            drawing = f'<div class="fx-scroll" tabindex="0" role="region" aria-label="{esc(region)}">{drawing}</div>'
        return f'<div class="fx-stage" data-stage="{number + 1}">\n<div class="fx-top">\n{top}</div>\n{drawing}\n</div>'

    def _heading(self, uid: str, number: int) -> str:
        """The stage's number and label, and its marks counted in words."""
        counts = " ".join(
            f'<span class="fx-is-{mark}">{SIGNS[mark]}{n} {esc(getattr(self._words, mark))}</span>'
            for mark, n in count_marks(self._stages[number])
        )
        badge = f"<b>{number + 1}</b> " if len(self._stages) > 1 else ""
        marks = f" <small>{counts}</small>" if counts else ""
        return f'<p class="fx-head" id="{uid}">{badge}<span>{code_spans(self.labels[number])}</span>{marks}</p>\n'

    def _legend(self) -> str:
        words = self._words
        cells = [cell for stage in self._stages for cell in stage]
        roles = {"quantize" if cell.role == "dequantize" else cell.role for cell in cells}
        entries = [(sample(role), getattr(words, role)) for role in _ROLES if role in roles]
        if any(cell.dtype in INT8 for cell in cells):
            entries.append((sample("integer"), words.integer))
        if any("[—, —]" in cell.notes for cell in cells):
            entries.append(("", words.no_data))
        if any(cell.letter for cell in cells):
            entries.append(('<b class="fx-key">A</b>', words.shared))
        items = " ".join(f"<li>{picture}<span>{esc(text)}</span></li>" for picture, text in entries)
        return f'<ul class="fx-legend">{items}</ul>'

    def _data(self) -> dict[str, Any]:
        """What a script in the page may use: for every stage and node its place, role, marks and details."""
        return {
            "places": [[place.x, place.y] for place in self._places],
            "stages": [
                {
                    "label": label,
                    "nodes": {
                        cell.name: {
                            "place": cell.place,
                            "role": cell.role,
                            "change": list(cell.change),
                            "letter": cell.letter,
                            "details": cell.details,
                        }
                        for cell in cells
                    },
                }
                for label, cells in zip(self.labels, self._stages, strict=True)
            ],
        }


def esc_lines(text: str) -> str:
    """Escaped text of several lines."""
    return "\n".join(esc(line) for line in text.split("\n"))
