"""One stage as an SVG drawing. Colours and fonts come from the stylesheet, by class."""

from __future__ import annotations

from collections.abc import Collection

from common.figures.cells import INT8, Cell
from common.figures.layout import FRAME, Layout, Point, by_place, is_framed
from common.figures.markup import esc
from common.figures.places import Place
from common.figures.routes import Box, Route, boxes_of, loop_overhang, routes_of
from common.figures.shapes import LETTER, NOTE_ROW, PAD, lines_of, outline
from common.figures.twin import SIGNS
from common.figures.words import Words

_HALO = 8.0  # how far the halo of a highlighted node stands off
_BADGE = 6.5  # radius
_HEAD = 7.5  # length of an arrow head
_SYMBOLS = {"new": "m-3 0h6m-3-3v6", "gone": "m-3 0h6", "changed": "m-3 2.4h6l-3-5.4z"}


def stage_svg(
    uid: str,
    title: str,
    width: int,
    cells: list[Cell],
    places: list[Place],
    layout: Layout,
    stage: int,
    highlight: Collection[str],
    words: Words,
) -> str:
    """The drawing of one stage, `width` px wide; every id in it begins with `uid`."""
    boxes = boxes_of(cells, places)
    routes = routes_of(cells, places, layout, stage)
    by_name = {cell.name: cell for cell in cells}
    parts = [_halo(boxes[name]) for name in highlight if name in boxes]
    parts += [_edge(route, by_name) for route in routes]
    for group in by_place(cells).values():
        if is_framed(group):
            parts.append(_frame(group, boxes))
    parts += [_node(cell, boxes[cell.name], cell.name in highlight, words) for cell in cells]
    parts += [_badges(group, boxes, is_framed(group)) for group in by_place(cells).values()]
    names = ", ".join(cell.name for cell in cells)
    desc = f"{words.nodes}: {names}" if cells else words.empty
    changes = [(mark, [c.name for c in cells if mark in c.change]) for mark in SIGNS]
    desc += "".join(f". {getattr(words, mark)}: {', '.join(which)}" for mark, which in changes if which)
    height = round(layout.height)
    return (
        f'<svg class="fx-drawing" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-labelledby="{uid}-title {uid}-desc"><title id="{uid}-title">{esc(title)}</title>'
        f'<desc id="{uid}-desc">{esc(desc)}</desc>{"".join(parts)}</svg>'
    )


def drawing_width(stages: list[list[Cell]], places: list[Place], layout: Layout) -> float:
    """The width that all stages share, in px: the layout's, or more where a self-loop reaches further."""
    loops = [
        loop_overhang(boxes_of(cells, places)[cell.name])
        for cells in stages
        for cell in cells
        if any(source == cell.name for source, _ in cell.reads)
    ]
    return max([layout.width, *loops])


def sample(role: str) -> str:
    """A small drawing of a role, for the legend."""
    drawn = f'<g class="fx-node fx-{role}"><g class="fx-shape">{outline(role, 13, 8, 23, 13)}</g></g>'
    if role == "integer":
        drawn = '<g class="fx-edge fx-int8"><path class="fx-line" d="M2 8H24"/></g>'
    return f'<svg width="26" height="16" aria-hidden="true">{drawn}</svg>'


def _node(cell: Cell, box: Box, highlighted: bool, words: Words) -> str:
    role = getattr(words, "quantize" if cell.role == "dequantize" else cell.role)
    facts = [role, *(getattr(words, mark) for mark in cell.change), *([cell.value] if cell.value else [])]
    tooltip = f"{cell.name}: {', '.join(facts)}"
    classes = ["fx-node", f"fx-{cell.role}", *(f"fx-is-{mark}" for mark in cell.change)]
    classes += ["fx-highlight"] if highlighted else []
    x = box.x + (LETTER / 2 if cell.letter else 0)
    notes = lines_of(cell)
    y = box.y - NOTE_ROW / 2 * len(notes) + 4.5
    text = f'<text x="{x:.1f}" y="{y:.1f}">{esc(cell.title)}</text>'
    for k, line in enumerate(notes, 1):
        text += f'<text class="fx-note" x="{x:.1f}" y="{y + 1 + NOTE_ROW * k:.1f}">{esc(line)}</text>'
    if cell.letter:
        left = box.x - box.w / 2 + PAD + LETTER / 2 - (1 if cell.role == "annotation" else 0)
        text += (
            f'<g class="fx-letter"><circle cx="{left:.1f}" cy="{box.y:.1f}" r="8.5"/>'
            f'<text x="{left:.1f}" y="{box.y + 4:.1f}">{esc(cell.letter)}</text></g>'
        )
    return (
        f'<g class="{" ".join(classes)}" data-node="{esc(cell.name)}" data-place="{cell.place}" data-role="{cell.role}"'
        f' data-change="{" ".join(cell.change)}"><title>{esc(tooltip)}</title>'
        f'<g class="fx-shape">{outline(cell.role, box.x, box.y, box.w, box.h)}</g>{text}</g>'
    )


def _around(group: list[Cell], boxes: dict[str, Box]) -> Box:
    top, bottom = boxes[group[0].name], boxes[group[-1].name]
    return Box(top.x, (top.top + bottom.bottom) / 2, top.w, bottom.bottom - top.top)


def _frame(group: list[Cell], boxes: dict[str, Box]) -> str:
    box = _around(group, boxes).grown(FRAME)
    marks = dict.fromkeys(mark for cell in group for mark in cell.change if mark != "changed")
    classes = " ".join(["fx-frame", *(f"fx-is-{mark}" for mark in marks)])
    return (
        f'<rect class="{classes}" x="{box.x - box.w / 2:.1f}" y="{box.top:.1f}"'
        f' width="{box.w:.1f}" height="{box.h:.1f}" rx="9"/>'
    )


def _badges(group: list[Cell], boxes: dict[str, Box], framed: bool) -> str:
    """The marks of a place, from its upper right corner to the left."""
    box = _around(group, boxes).grown(FRAME if framed else 1)
    marks = [mark for mark in SIGNS if any(mark in cell.change for cell in group)]
    parts = []
    for k, mark in enumerate(marks):
        x, y = box.x + box.w / 2 - 4 - 16 * k, box.top + 1
        parts.append(
            f'<g class="fx-badge fx-is-{mark}"><circle cx="{x:.1f}" cy="{y:.1f}" r="{_BADGE}"/>'
            f'<path d="M{x:.1f} {y:.1f}{_SYMBOLS[mark]}"/></g>'
        )
    return "".join(parts)


def _halo(box: Box) -> str:
    b = box.grown(_HALO)
    return (
        f'<rect class="fx-halo" x="{b.x - b.w / 2:.1f}" y="{b.top:.1f}" width="{b.w:.1f}" height="{b.h:.1f}" rx="12"/>'
    )


def _edge(route: Route, by_name: dict[str, Cell]) -> str:
    classes = "fx-edge"
    classes += " fx-int8" if by_name[route.source].dtype in INT8 else ""
    classes += " fx-loop" if route.source == route.target else ""
    *body, before, end = route.points
    length = ((end[0] - before[0]) ** 2 + (end[1] - before[1]) ** 2) ** 0.5 or 1.0
    ux, uy = (end[0] - before[0]) / length, (end[1] - before[1]) / length
    neck = (end[0] - _HEAD * ux, end[1] - _HEAD * uy)
    d = _path([*body, before, (end[0] - 0.7 * _HEAD * ux, end[1] - 0.7 * _HEAD * uy)])
    wings = ((neck[0] - 3.7 * uy, neck[1] + 3.7 * ux), (neck[0] + 3.7 * uy, neck[1] - 3.7 * ux))
    head = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (wings[0], end, wings[1])) + "Z"
    return (
        f'<g class="{classes}" data-from="{esc(route.source)}" data-to="{esc(route.target)}">'
        f'<path class="fx-line" d="{d}"/><path class="fx-tip" d="{head}"/></g>'
    )


def _path(points: list[Point]) -> str:
    d = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for i in range(1, len(points) - 1, 3):
        piece = points[i - 1 : i + 3]
        if max(x for x, _ in piece) - min(x for x, _ in piece) < 0.05:
            d += f"V{piece[3][1]:.1f}"
        else:
            d += "C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in piece[1:])
    return d
