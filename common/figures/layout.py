"""Where the places stand: one run of Graphviz `dot` on the union of all stages.

Node sizes are given, so a layout does not depend on fonts. Lengths are px, y points down.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict, deque
from dataclasses import dataclass

import graphviz

from common.figures.cells import ON_EDGE, Cell, is_state
from common.figures.places import Place
from common.figures.shapes import size_of

Point = tuple[float, float]
Link = tuple[int, int]

MARGIN = 12.0  # around the drawing: room for badges and halos
FRAME = 4.0  # how far the frame of a mark stands off
NECK = 10.0  # between a quantize and its dequantize
_GAP_X, _GAP_Y = 20.0, 26.0
_COLUMN_GAP = 14.0  # between the members of a column
_AISLE = 12.0  # from a column to the gap before its reader: where the lines run together
_INCH = 72.0


@dataclass
class Layout:
    """What `dot` made of the union, and what each stage makes of that.

    Attributes:
        width, height: of the drawing.
        curves: of each link of the union, chained cubic Béziers (1 + 3n points).
        routes: for each stage, which links lie behind an edge between two places.
        columns: reader → what stands in the column at its left.
        dot: the union in DOT.
    """

    width: float
    height: float
    curves: dict[Link, list[Point]]
    routes: list[dict[Link, list[Link]]]
    columns: dict[int, list[int]]
    dot: str

    @property
    def stacked(self) -> set[int]:
        return {member for column in self.columns.values() for member in column}


def group_size(group: list[Cell]) -> tuple[float, float]:
    """Width and height of the cells that share a place in one stage: one cell, or a quantize over its dequantize."""
    sizes = [size_of(cell) for cell in group]
    return max(w for w, _ in sizes), sum(h for _, h in sizes) + NECK * (len(group) - 1)


def is_framed(group: list[Cell]) -> bool:
    """Whether a frame stands around the cells of a place: they are new, gone, or a quantize–dequantize pair."""
    return len(group) > 1 or bool({"new", "gone"} & set(group[0].change))


def by_place(cells: list[Cell]) -> dict[int, list[Cell]]:
    """The cells of one stage by place, in graph order."""
    groups: dict[int, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.place, []).append(cell)
    return groups


def lay_out(stages: list[list[Cell]], places: list[Place]) -> Layout:
    """Set the coordinates of `places` and return the rest of the layout.

    Raises:
        graphviz.ExecutableNotFound: `dot` is not installed.
    """
    for cells in stages:
        for index, group in by_place(cells).items():
            w, h = group_size(group)
            around = 2 * FRAME * is_framed(group)
            place = places[index]
            # Even numbers: `dot` rounds, and the middle of a node is where its lines end.
            place.width = max(place.width, 2 * math.ceil((w + around) / 2))
            place.height = max(place.height, 2 * math.ceil((h + around) / 2))
    wanted = [_edges(cells) for cells in stages]
    filled = [{cell.place for cell in cells} for cells in stages]
    links = _reduced(set().union(*wanted) | _series(wanted, filled), wanted, filled)
    columns = _columns(links, stages, places)
    source = _source(stages, places, links, columns)
    layout = Layout(0, 0, {}, [], columns, source)
    _read(graphviz.Source(source).pipe(format="plain", encoding="utf-8", quiet=True), places, layout)
    layout.routes = [
        {edge: [edge] if edge in links else _through(links, full, *edge) for edge in sorted(want)}
        for want, full in zip(wanted, filled, strict=True)
    ]
    return layout


def _edges(cells: list[Cell]) -> set[Link]:
    """The stage's edges between places; a self-loop counts, the line inside a quantize–dequantize pair does not."""
    where = {cell.name: cell.place for cell in cells}
    return {
        (where[source], cell.place)
        for cell in cells
        for source, _ in cell.reads
        if where[source] != cell.place or source == cell.name
    }


def _series(wanted: list[set[Link]], filled: list[set[int]]) -> set[Link]:
    """Links that put places in series which are never filled together and have the same neighbours."""
    before, after = _neighbours(set().union(*wanted))
    first = {place: next(i for i, full in enumerate(filled) if place in full) for place in set().union(*filled)}
    return {
        (a, b)
        for a, b in itertools.permutations(sorted(first), 2)
        if first[a] < first[b]
        and before[a] == before[b] != set()
        and after[a] == after[b] != set()
        and not any({a, b} <= full for full in filled)
    }


def _reduced(links: set[Link], wanted: list[set[Link]], filled: list[set[int]]) -> set[Link]:
    """`links` without those that every stage which has them can run through places that are empty there."""
    dropped: set[Link] = set()
    for link in sorted(links):
        if link[0] == link[1]:
            continue
        rest, gone = links - {link}, dropped | {link}
        if all(_through(rest, full, *e) for want, full in zip(wanted, filled, strict=True) for e in want & gone):
            links, dropped = rest, gone
    return links


def _through(links: set[Link], occupied: set[int], start: int, end: int) -> list[Link]:
    """The shortest path from `start` to `end` whose inner places are empty in this stage; [] if there is none."""
    came = {start: start}
    queue = deque([start])
    onward: dict[int, list[int]] = {}
    for a, b in sorted(links):
        onward.setdefault(a, []).append(b)
    while queue:
        here = queue.popleft()
        for there in onward.get(here, []):
            if there not in came and (there == end or there not in occupied):
                came[there] = here
                queue.append(there)
    path = []
    while end in came and end != start:
        path.append((came[end], end))
        end = came[end]
    return path[::-1]


def _columns(links: set[Link], stages: list[list[Cell]], places: list[Place]) -> dict[int, list[int]]:
    """What brings weights to one reader stands in a column at its left: parameters, and observers and the like on them.

    A column's members may have columns of their own, as a weight's observer has the weight.
    """
    state = {cell.place for cells in stages for cell in cells if is_state(cell)}
    before, after = _neighbours(links)
    # A place on a line carries state if all that it reads does; going on until nothing is added finds chains.
    on_line = {index for index, place in enumerate(places) if place.kind == "edge" and index not in state}
    no_input = {cell.place for cells in stages for cell in cells if cell.role in ON_EDGE and not cell.reads}
    while found := {i for i in on_line - state if before[i] <= state and (before[i] or i in no_input)}:
        state |= found

    def fits(member: int) -> bool:
        """Whether it and all that leads to it have one reader."""
        alone = member in state and [places[reader].kind in ("op", "edge") for reader in after[member]] == [True]
        return alone and all(map(fits, before[member]))

    columns: dict[int, list[int]] = {}
    for member in sorted(state, key=lambda i: (min((position for _, position in places[i].readers), default=0), i)):
        if fits(member):
            columns.setdefault(min(after[member]), []).append(member)
    return columns


def _neighbours(links: set[Link]) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    before: dict[int, set[int]] = defaultdict(set)
    after: dict[int, set[int]] = defaultdict(set)
    for a, b in links:
        before[b].add(a)
        after[a].add(b)
    return before, after


def _source(stages: list[list[Cell]], places: list[Place], links: set[Link], columns: dict[int, list[int]]) -> str:
    """The union as DOT. Tooltips name what stands at a place; they do not touch the layout."""
    spine = set()
    for cells in stages:
        where = {cell.name: cell.place for cell in cells}
        spine |= {(where[source], cell.place) for cell in cells for source, position in cell.reads if position == 0}
    ends = {a for a, _ in links} | {index for index, place in enumerate(places) if place.kind == "output"}
    spine = {(a, b) for a, b in spine if b in ends}  # what nobody reads may stand aside
    stacked = {member for column in columns.values() for member in column}
    graph = graphviz.Digraph(
        graph_attr={"nodesep": f"{_GAP_X / _INCH:.4f}", "ranksep": f"{_GAP_Y / _INCH:.4f}"},
        node_attr={"shape": "box", "fixedsize": "true", "label": ""},
        edge_attr={"arrowhead": "none"},
    )

    def box(name: str, w: float, h: float, text: str) -> None:
        graph.node(name, width=f"{w / _INCH:.4f}", height=f"{h / _INCH:.4f}", tooltip=graphviz.escape(text))

    def tooltip(index: int) -> str:
        return ", ".join(dict.fromkeys(cell.name for cells in stages for cell in cells if cell.place == index))

    for index, place in enumerate(places):
        if index in stacked:
            continue
        names = dict.fromkeys(cell.name for cells in stages for cell in cells if cell.place == index)
        attributes = {"tooltip": graphviz.escape(", ".join(names))}
        if index in columns:  # one node, so that nothing comes between; lines end at the reader's part
            beside = _column_size(columns[index], places, columns)[0] + _AISLE + _GAP_X
            height = _member_size(index, places, columns)[1]
            parts = f'<td width="{beside:.0f}"></td><td port="o" width="{place.width:.0f}" height="{height:.0f}"></td>'
            attributes["label"] = f'<<table border="0" cellspacing="0" cellpadding="0"><tr>{parts}</tr></table>>'
        w, h = _member_size(index, places, columns)
        graph.node(f"p{index}", width=f"{w / _INCH:.4f}", height=f"{h / _INCH:.4f}", **attributes)
    with graph.subgraph(graph_attr={"rank": "sink"}) as bottom:
        for index, place in enumerate(places):
            if place.kind == "output":
                bottom.node(f"p{index}")
    for a, b in sorted(links):
        if a == b:
            graph.edge(f"p{a}", f"p{b}")
        elif a not in stacked:
            ports = {"tailport": "o:s" if a in columns else "s", "headport": "o:n" if b in columns else "n"}
            graph.edge(f"p{a}", f"p{b}", weight="8" if (a, b) in spine else "1", **ports)
    return graph.source


def _column_size(column: list[int], places: list[Place], columns: dict[int, list[int]]) -> tuple[float, float]:
    """Width and height of a column, with the columns of its members."""
    sizes = [_member_size(member, places, columns) for member in column]
    return max(w for w, _ in sizes), sum(h for _, h in sizes) + _COLUMN_GAP * (len(column) - 1)


def _member_size(member: int, places: list[Place], columns: dict[int, list[int]]) -> tuple[float, float]:
    w, h = places[member].width, places[member].height
    if member not in columns:
        return w, h
    inner, high = _column_size(columns[member], places, columns)
    return w + _AISLE + _GAP_X + inner, max(h, high)


def _read(plain: str, places: list[Place], layout: Layout) -> None:
    """Take sizes, centres and curves from dot's plain output (inches, y up)."""
    for row in map(str.split, plain.splitlines()):
        if row[0] == "graph":
            layout.width, layout.height = (float(v) * _INCH + 2 * MARGIN for v in row[2:4])

        def point(column: int, row: list[str] = row) -> Point:
            x, y = float(row[column]), float(row[column + 1])
            return round(x * _INCH + MARGIN, 1), round(layout.height - MARGIN - y * _INCH, 1)

        if row[0] == "node":
            index = int(row[1][1:])
            (x, y), w = point(2), float(row[4]) * _INCH
            place, columns = places[index], layout.columns
            place.x, place.y = round(x + (w - place.width) / 2, 1), y
            if index in columns:
                _fill_column(columns[index], place.x - place.width / 2 - _GAP_X - _AISLE, y, places, columns)
        elif row[0] == "edge":
            layout.curves[int(row[1][1:]), int(row[2][1:])] = [point(4 + 2 * i) for i in range(int(row[3]))]


def _fill_column(column: list[int], right: float, y: float, places: list[Place], columns: dict[int, list[int]]) -> None:
    """Centre the members of a column under each other, so that its right edge is at `right` and its middle at `y`."""
    _, h = _column_size(column, places, columns)
    widest = max(places[member].width for member in column)
    top = y - h / 2
    for member in column:
        high = _member_size(member, places, columns)[1]
        place = places[member]
        place.x, place.y = round(right - widest / 2, 1), round(top + high / 2, 1)
        if member in columns:
            _fill_column(columns[member], place.x - place.width / 2 - _GAP_X - _AISLE, place.y, places, columns)
        top += high + _COLUMN_GAP
