"""The lines of one stage: calm S-curves that keep clear of its nodes. Lengths are px, y points down.

dot's own curves lead around the nodes of all stages; where some are absent, a line may run straighter.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from common.figures.cells import Cell
from common.figures.layout import FRAME, MARGIN, NECK, Layout, Link, Point, by_place, group_size, is_framed
from common.figures.places import Place
from common.figures.shapes import size_of

_CLEAR = (7.0, 2.0)  # what a line keeps from a node that is not its own, and what it makes do with
_STEP = 24.0  # between the points that a line may bend at
_LOOP = 34.0
_PORT_GAP = 18.0  # between the ends of two lines on one node


@dataclass(frozen=True)
class Box:
    """A rectangle around its centre."""

    x: float
    y: float
    w: float
    h: float

    @property
    def top(self) -> float:
        return self.y - self.h / 2

    @property
    def bottom(self) -> float:
        return self.y + self.h / 2

    def grown(self, by: float) -> Box:
        return Box(self.x, self.y, self.w + 2 * by, self.h + 2 * by)


@dataclass(frozen=True)
class Route:
    """A line from cell `source` to cell `target`: chained cubic Béziers, 1 + 3n points."""

    source: str
    target: str
    points: list[Point]


def boxes_of(cells: list[Cell], places: list[Place]) -> dict[str, Box]:
    """Where each cell's outline stands."""
    boxes = {}
    for index, group in by_place(cells).items():
        place, (width, height) = places[index], group_size(group)
        top = place.y - height / 2
        for cell in group:
            h = size_of(cell)[1]
            boxes[cell.name] = Box(place.x, round(top + h / 2, 1), width, h)
            top += h + NECK
    return boxes


def routes_of(cells: list[Cell], places: list[Place], layout: Layout, stage: int) -> list[Route]:
    """One line for every edge of the stage; arguments that read the same node twice give one."""
    boxes = boxes_of(cells, places)
    by_name = {cell.name: cell for cell in cells}
    outer = {  # with frames: what a line ends at
        cell.name: boxes[cell.name].grown(FRAME) if is_framed(group) else boxes[cell.name]
        for group in by_place(cells).values()
        for cell in group
    }
    ports = _ports(layout, places)
    routes = []
    for target in cells:
        for name in dict.fromkeys(source for source, _ in target.reads):
            source = by_name[name]
            start, end = outer[name], outer[target.name]
            if source is target:
                points = _loop(end)
            elif source.place == target.place:
                points = _straight((boxes[name].x, boxes[name].bottom), (boxes[name].x, boxes[target.name].top))
            else:
                path = layout.routes[stage][source.place, target.place]
                others = [outer[c.name] for c in cells if c.place not in (source.place, target.place)]
                across = [places[b] for a, b in path if a in layout.stacked]
                if len(across) == len(path):
                    points = _from_column(start, across[:-1], (end.x - end.w / 2, end.y))
                elif across:  # out of a column and, where its reader is absent, on to who reads that
                    *passed, corner = across
                    lead = _from_column(start, passed, (corner.x - corner.width / 2, corner.y))
                    turn = _turn((corner.x, corner.y + corner.height / 2), lead[-1])[::-1]
                    start = Box(corner.x, corner.y, 0, corner.height)
                    line = _line(start, end, path[len(across) :], layout, ports, others)
                    points = [*lead, *turn[1:], *line[1:]]
                else:
                    points = _line(start, end, path, layout, ports, others)
            routes.append(Route(name, target.name, [(round(x, 1), round(y, 1)) for x, y in points]))
    return routes


def _ports(layout: Layout, places: list[Place]) -> dict[Link, float]:
    """How far beside the middle each link of the union arrives, so that several do not end in one point."""
    ports: dict[Link, float] = {}
    for index, place in enumerate(places):
        curves = ((link, curve) for link, curve in layout.curves.items() if link[1] == index != link[0])
        arriving = sorted((curve[-4][0] - place.x, link) for link, curve in curves)
        if len(arriving) < 2:
            continue
        middle = min(range(len(arriving)), key=lambda i, a=arriving: (abs(a[i][0]), i))
        gap = min(_PORT_GAP, (place.width / 2 - 14) / max(middle, len(arriving) - 1 - middle))
        for i, (_, link) in enumerate(arriving):
            ports[link] = (i - middle) * gap
    return ports


def _line(
    start: Box, end: Box, path: list[Link], layout: Layout, ports: dict[Link, float], others: list[Box]
) -> list[Point]:
    guide = _guide(start, end, path, layout)
    if end.top > start.bottom:  # else the graph is out of order: a reader stands above what it reads
        for keep in _CLEAR:
            if points := _calm(guide, (end.x + ports.get(path[-1], 0.0), end.top), end, others, keep):
                return points
    return guide


def _from_column(start: Box, passed: list[Place], end: Point) -> list[Point]:
    """From a member of a column to the right, straight through places that are empty in this stage."""
    points = [(start.x + start.w / 2, start.y)]
    for place in passed:
        left, right = place.x - place.width / 2, place.x + place.width / 2
        points += _sideways(points[-1], (left, place.y))[1:] + _straight((left, place.y), (right, place.y))[1:]
    return points + _sideways(points[-1], end)[1:]


def _guide(start: Box, end: Box, path: list[Link], layout: Layout) -> list[Point]:
    """dot's curves along `path`, joined by straight pieces through the empty places and to the two nodes."""
    points: list[Point] = [(start.x, start.bottom)]
    for link in path:
        curve = layout.curves[link]
        points += _straight(points[-1], curve[0])[1:] + curve[1:]
    return points + _straight(points[-1], (end.x, end.top))[1:]


def _calm(guide: list[Point], port: Point, end: Box, others: list[Box], keep: float) -> list[Point]:
    """The calmest line along `guide` to `port` that keeps clear: few pieces, little slope. [] if there is none."""
    stops = [guide[0]]
    for i in range(0, len(guide) - 1, 3):
        piece = guide[i : i + 4]
        steps = max(1, int(abs(piece[3][1] - piece[0][1]) // _STEP))
        stops += [_bezier(piece, k / steps) for k in range(1, steps + 1)]
    stops = [stop for stop in stops[:-1] if guide[0][1] <= stop[1] < port[1] - 6] + [port]
    cost = [0.0] + [float("inf")] * (len(stops) - 1)
    came = [0] * len(stops)
    for j, b in enumerate(stops):
        for i, a in enumerate(stops[:j]):
            if b[1] <= a[1]:
                continue
            step = 1 + 2 * ((b[0] - a[0]) / (b[1] - a[1])) ** 2
            if cost[i] + step < cost[j] and _is_clear(_s_curve(a, b), others, keep):
                cost[j], came[j] = cost[i] + step, i
    if cost[-1] == float("inf"):
        return []
    order = [len(stops) - 1]
    while order[-1]:
        order.append(came[order[-1]])
    bends = [stops[i] for i in reversed(order)]
    for k in range(1, len(bends) - 1):  # what is almost vertical becomes vertical
        upright = (bends[k - 1][0], bends[k][1])
        pieces = [*_s_curve(bends[k - 1], upright), *_s_curve(upright, bends[k + 1])[1:]]
        if abs(bends[k][0] - upright[0]) < 9 and _is_clear(pieces, others, keep):
            bends[k] = upright
    points = [bends[0]]
    for a, b in itertools.pairwise(bends):
        points += _s_curve(a, b)[1:]
    (x, y), reach = bends[-2], end.w / 2
    if abs(x - end.x) > reach + 26 and abs(x - port[0]) > 1.5 * (end.top - y):
        # A short, flat last piece looks better as a turn into the node's side.
        side = _turn((x, y), (end.x + (reach if x > end.x else -reach), end.y))
        if _is_clear(side, others, keep):
            return [*points[:-4], *side]
    return points


def _turn(a: Point, b: Point) -> list[Point]:
    """Vertical at `a`, horizontal at `b`."""
    corner = (a[0], b[1])
    return [a, _between(a, corner, 0.6), _between(b, corner, 0.6), b]


def _s_curve(a: Point, b: Point) -> list[Point]:
    """Vertical at both ends."""
    middle = (a[1] + b[1]) / 2
    return [a, (a[0], middle), (b[0], middle), b]


def _straight(a: Point, b: Point) -> list[Point]:
    return [a, _between(a, b, 1 / 3), _between(a, b, 2 / 3), b]


def _sideways(a: Point, b: Point) -> list[Point]:
    """Horizontal at both ends."""
    lean = (b[0] - a[0]) * 0.55
    return [a, (a[0] + lean, a[1]), (b[0] - lean, b[1]), b]


def _loop(box: Box) -> list[Point]:
    x, y = box.x + box.w / 2, box.y
    return [(x, y - 7), (x + _LOOP, y - 24), (x + _LOOP, y + 24), (x, y + 7)]


def loop_overhang(box: Box) -> float:
    """How far right a self-loop reaches, in px, margin included."""
    return box.x + box.w / 2 + FRAME + 0.75 * _LOOP + MARGIN


def _between(a: Point, b: Point, t: float) -> Point:
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t


def _bezier(p: list[Point], t: float) -> Point:
    s = 1 - t
    a, b, c, d = s**3, 3 * s * s * t, 3 * s * t * t, t**3
    x, y = (a * p[0][k] + b * p[1][k] + c * p[2][k] + d * p[3][k] for k in (0, 1))
    return x, y


def samples(points: list[Point], each: int = 12) -> list[Point]:
    """Points along a chain of cubic Béziers."""
    return [points[0]] + [
        _bezier(points[i : i + 4], k / each) for i in range(0, len(points) - 1, 3) for k in range(1, each + 1)
    ]


def _is_clear(points: list[Point], others: list[Box], keep: float) -> bool:
    """Whether the line stays `keep` px away from all of `others`."""
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    boxes = [box.grown(keep) for box in others]
    near = [
        box
        for box in boxes
        if left < box.x + box.w / 2 and box.x - box.w / 2 < right and top < box.bottom and box.top < bottom
    ]
    if not near:
        return True
    line = samples(points, each=8 + int((bottom - top) // 8))
    return not any(abs(x - box.x) < box.w / 2 and box.top < y < box.bottom for x, y in line for box in near)
