"""Which cell of which stage stands at which place, what changed between stages, and which letters say "shared".

A place is matched by name first. Otherwise it is who reads a cell, and as which argument, that decides; observers and
quantize/dequantize are looked through, but only at argument 0, so a scale never takes the place of the weight.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from common.figures.cells import ON_EDGE, STATE_PREFIXES, Cell


@dataclass
class Place:
    """A position that all stages share.

    Attributes:
        kind: leaf, op, output, edge (observers and their like) or fan (one of several dequantize of one quantize).
        names, readers, sources: of all cells that stand here; a reader is (place, argument position).
        width, height: px, room for the largest of them; x, y: px, the centre.
    """

    kind: str
    names: set[str] = field(default_factory=set)
    readers: set[tuple[int, int]] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0


def pairs_of(cells: list[Cell]) -> dict[str, str]:
    """Name of a quantize → name of its dequantize, where that is its only reader: they share a place."""
    by_name = {cell.name: cell for cell in cells}
    readers = _readers(cells)
    pairs = {}
    for cell in cells:
        if cell.role == "quantize" and len(readers[cell.name]) == 1:
            reader, position = readers[cell.name][0]
            if by_name[reader].role == "dequantize" and position == 0:
                pairs[cell.name] = reader
    return pairs


def assign_places(stages: list[list[Cell]]) -> list[Place]:
    """Set the place of every cell; return the places, roughly from the inputs to the output."""
    places: list[Place] = []
    for cells in stages:
        _assign_stage(cells, places)
    return _in_reading_order(stages, places)


def _assign_stage(cells: list[Cell], places: list[Place]) -> None:
    by_name = {cell.name: cell for cell in cells}
    readers = _readers(cells)
    pairs = pairs_of(cells)
    second = set(pairs.values())
    kinds = {cell.name: _kind(cell, by_name) for cell in cells}
    known = {name for name, kind in kinds.items() if kind not in ("edge", "fan")}
    taken: set[int] = set()
    for cell in cells:
        if cell.name in known:
            matches = (i for i, p in enumerate(places) if cell.name in p.names and p.kind == kinds[cell.name])
            cell.place = next((index for index in matches if index not in taken), -1)
            taken.add(cell.place)
    anchors: dict[str, set[tuple[int, int]]] = {}
    for cell in reversed(cells):  # who reads it is placed first
        name, kind = cell.name, kinds[cell.name]
        anchors[name] = set()
        for reader, position in readers[name]:
            if kinds[reader] in ("edge", "fan") and position == 0:
                anchors[name] |= anchors.get(reader, set())
            elif by_name[reader].place >= 0:
                anchors[name].add((by_name[reader].place, position))
        if name in second:
            continue  # stands with its quantize
        sources = {source for source, _ in cell.reads} or {_stem(name)}
        if cell.place < 0:
            scores = [
                0.0 if i in taken or place.kind != kind else _score(name, kind, anchors[name], sources, place, known)
                for i, place in enumerate(places)
            ]
            best = max(range(len(places)), key=scores.__getitem__, default=-1)
            if best < 0 or not scores[best]:
                places.append(Place(kind))
                best = len(places) - 1
            cell.place = best
            taken.add(best)
        if name in pairs:
            by_name[pairs[name]].place = cell.place
        place = places[cell.place]
        place.names.add(name)
        place.readers |= anchors[name]
        place.sources |= sources


def _score(name: str, kind: str, anchors: set, sources: set[str], place: Place, known: set[str]) -> float:
    """How well a place fits a cell that no place knows by name; 0: not at all."""
    common = len(place.readers & anchors)
    if kind in ("edge", "fan"):
        # Who reads it counts most, then what it reads, and of several that fit the one of the same name.
        return common + 0.5 * bool(place.sources & sources) + 0.1 * (bool(common) and name in place.names)
    if place.names & known:
        return 0.0  # waits for a node of this stage that it knows by name
    if anchors:
        return float(common)
    return 0.5 * (not place.readers and _stem(name) in map(_stem, place.names))


def _kind(cell: Cell, by_name: dict[str, Cell]) -> str:
    if cell.role in ON_EDGE:
        several = cell.role == "dequantize" and cell.reads and by_name[cell.reads[0][0]].role == "quantize"
        return "fan" if several else "edge"
    if cell.role in ("io", "param"):
        return "output" if cell.signature[:1] == ("output",) else "leaf"
    return "op"


def _stem(name: str) -> str:
    """A name without the prefix that export gives a placeholder of model state: p_conv_weight → conv_weight."""
    return name[2:] if name.startswith(STATE_PREFIXES) else name


def _readers(cells: list[Cell]) -> dict[str, list[tuple[str, int]]]:
    readers: dict[str, list[tuple[str, int]]] = {cell.name: [] for cell in cells}
    for cell in cells:
        for source, position in cell.reads:
            readers[source].append((cell.name, position))
    return readers


def _in_reading_order(stages: list[list[Cell]], places: list[Place]) -> list[Place]:
    """Renumber the places by where in a stage they come first, so equal graphs give equal layouts."""
    first: dict[int, float] = {}
    for cells in stages:
        for index, cell in enumerate(cells):
            first[cell.place] = min(first.get(cell.place, 1.0), index / len(cells))
    for index, place in enumerate(places):
        if place.kind == "fan":  # in the order of their readers, so that a skip connection comes last
            first[index] = min((first[reader] for reader, _ in place.readers), default=first[index])
    order = sorted(first, key=lambda place: (first[place], place))
    number = {old: new for new, old in enumerate(order)}
    for cells in stages:
        for cell in cells:
            cell.place = number[cell.place]
    for place in places:
        place.readers = {(number[reader], position) for reader, position in place.readers}
    return [places[old] for old in order]


def mark_changes(stages: list[list[Cell]]) -> None:
    """Set ``change`` of every cell: "new", "gone" (in the next stage) and "changed", by name.

    Arguments count by place: reading the same place as before is no change, whatever stands there now.
    """
    signatures = []
    for cells in stages:
        by_name = {cell.name: cell for cell in cells}
        where = {cell.name: _source_place(cell, by_name) for cell in cells}
        signatures.append({cell.name: _resolve(cell.signature, where) for cell in cells if cell.role != "annotation"})
    for number, cells in enumerate(stages):
        before = signatures[number - 1] if number else None
        after = signatures[number + 1] if number + 1 < len(stages) else None
        for cell in cells:
            if cell.role == "annotation":
                continue  # no node: it does not come or go
            marks = []
            if before is not None and cell.name not in before:
                marks.append("new")
            elif before is not None and before[cell.name] != signatures[number][cell.name]:
                marks.append("changed")
            if after is not None and cell.name not in after:
                marks.append("gone")
            cell.change = tuple(marks)


def _source_place(cell: Cell, by_name: dict[str, Cell]) -> int:
    """The place that a reader of `cell` reads; of several dequantize of one quantize it is that of the quantize."""
    source = by_name.get(cell.reads[0][0]) if cell.role == "dequantize" and cell.reads else None
    return source.place if source is not None and source.role == "quantize" else cell.place


def _resolve(token: object, where: dict[str, int]) -> object:
    if isinstance(token, tuple):
        if len(token) == 2 and token[0] == "node":
            return ("place", where.get(token[1], token[1]))
        return tuple(_resolve(item, where) for item in token)
    return token


def assign_letters(stages: list[list[Cell]]) -> None:
    """Give each group of a stage a letter; at the places of an earlier stage's group it gets the same letter."""
    known: list[set[int]] = []  # places of each letter
    for cells in stages:
        groups: dict[object, list[Cell]] = {}
        for cell in cells:
            if cell.group is not None:
                groups.setdefault(cell.group, []).append(cell)
        used: set[int] = set()
        for members in groups.values():
            if len(members) < 2:
                continue  # shares with none
            places = {cell.place for cell in members}
            index = next((i for i, seen in enumerate(known) if i not in used and seen & places), len(known))
            if index == len(known):
                known.append(set())
            known[index] |= places
            used.add(index)
            for cell in members:
                cell.letter = _letter(index)


def _letter(index: int) -> str:
    return chr(ord("A") + index) if index < 26 else f"{chr(ord('A') + index % 26)}{index // 26}"
