"""Chips for a quantizer's annotations: they stand on the edges where ``prepare_pt2e`` will put observers.

Reads ``meta["quantization_annotation"]`` by its attributes, so torchao need not be installed. Which specs share an
observer follows torchao 0.18, ``quantization/pt2e/prepare.py``: a SharedQuantizationSpec, or specs of one value that
agree.
"""

from __future__ import annotations

from typing import Any

from torch.fx import GraphModule, Node

from common.figures.cells import Cell
from common.figures.facts import is_guard, label_of_param, nodes_in
from common.figures.text import plain

KEY = "quantization_annotation"
# One value observed twice needs one observer if the specs agree on these.
_AGREE = ("dtype", "is_dynamic", "quant_min", "quant_max", "qscheme", "ch_axis", "scale", "zero_point")

_KINDS = {
    "SharedQuantizationSpec": "shared",
    "DerivedQuantizationSpec": "derived",
    "FixedQParamsQuantizationSpec": "fixed",
}

# What a spec is about: the output of a node, or the edge (source, reader). Names, because a copied graph's annotations
# still hold the nodes of the original.
Spot = str | tuple[str, str]


def add_annotations(gm: GraphModule, cells: list[Cell]) -> list[Cell]:
    """`cells` with a chip on each annotated edge; unchanged once the graph has observers or quantize nodes."""
    specs = _specs(gm)
    if not specs or any(cell.role in ("observer", "quantize", "dequantize") for cell in cells):
        return cells
    nodes = {plain(node.name): node for node in gm.graph.nodes if not is_guard(node)}
    groups = _groups(specs, nodes)
    drawn = {cell.name: cell for cell in cells}
    made: dict[str, list[Cell]] = {}  # by the cell that they follow, or precede if nothing drawn is before them

    def chip(name: str, spot: Spot, source: Node) -> Cell:
        own, root = specs[spot], specs[groups[spot]]
        cell = Cell(name, "annotation", _kind(root), call=f"spec({plain(source.name)})", group=groups[spot])
        if source.op == "get_attr" and plain(source.name) not in drawn:
            cell.notes.append(label_of_param(source))
            cell.call = f"spec({label_of_param(source, in_full=True)})"
        cell.notes += _how(own, root)
        cell.call += " " + ", ".join([cell.title, *_how(own, root)])
        cell.details = {"op": "annotation", "spec": type(own).__name__, **_facts(root)}
        return cell

    def redirect(reader: Cell, old: str, new: str) -> None:
        reader.reads = [(new if name == old else name, index) for name, index in reader.reads]

    for spot in specs:
        if isinstance(spot, str) and spot in drawn:
            cell = chip(f"spec of {spot}", spot, nodes[spot])
            for reader in cells:
                redirect(reader, spot, cell.name)
            cell.reads = [(spot, 0)]
            made.setdefault(spot, []).append(cell)
    on_edge: dict[tuple[str, Spot], str] = {}
    for spot in specs:
        if isinstance(spot, str) or spot[1] not in drawn or spot[0] not in nodes:
            continue
        source, reader = spot
        arguments = list(nodes_in((nodes[reader].args, nodes[reader].kwargs)))
        if nodes[source] not in arguments:
            continue  # the graph was edited after it was annotated
        if groups.get(source) == groups[spot]:
            continue  # the observer of the source's output serves this edge too
        before = f"spec of {source}" if source in specs and source in drawn else source
        if (source, groups[spot]) in on_edge:
            redirect(drawn[reader], before, on_edge[source, groups[spot]])
            continue
        cell = chip(f"spec of {source} → {reader}", spot, nodes[source])
        if source in drawn:
            on_edge[source, groups[spot]] = cell.name
            redirect(drawn[reader], before, cell.name)
            cell.reads = [(before, 0)]
        else:
            label = label_of_param(nodes[source])
            drawn[reader].reads = sorted(
                [*drawn[reader].reads, (cell.name, arguments.index(nodes[source]))], key=lambda read: read[1]
            )
            drawn[reader].notes = [note for note in drawn[reader].notes if note != label]
        made.setdefault(source if source in drawn else reader, []).append(cell)
    result: list[Cell] = []
    for cell in cells:
        chips = made.get(cell.name, [])
        result += [c for c in chips if not c.reads] + [cell] + [c for c in chips if c.reads]
    return result


def _specs(gm: GraphModule) -> dict[Spot, Any]:
    """The spec of every annotated edge and output, by names, in graph order."""
    specs: dict[Spot, Any] = {}
    for node in gm.graph.nodes:
        annotation, name = node.meta.get(KEY), plain(node.name)
        for source, spec in (getattr(annotation, "input_qspec_map", None) or {}).items():
            if spec is not None:
                specs[plain(source.name), name] = spec
        if getattr(annotation, "output_qspec", None) is not None:
            specs[name] = annotation.output_qspec
    return specs


def _spot(edge_or_node: Any) -> Spot:
    if isinstance(edge_or_node, tuple):
        return plain(edge_or_node[0].name), plain(edge_or_node[1].name)
    return plain(edge_or_node.name)


def _groups(specs: dict[Spot, Any], nodes: dict[str, Node]) -> dict[Spot, Spot]:
    """The spot that leads each spot's group: those of one group will be observed by one object."""
    leader: dict[Spot, Spot] = {}

    def find(spot: Spot) -> Spot:
        while spot in leader:
            spot = leader[spot]
        return spot

    def join(spot: Spot, other: Spot) -> None:
        if other in specs and (a := find(spot)) != (b := find(other)):
            # A spec of its own leads, because it says what the observer is.
            shared = getattr(specs[b], "edge_or_node", None) is not None
            leader[a if not shared else b] = b if not shared else a

    for spot, spec in specs.items():
        if (target := getattr(spec, "edge_or_node", None)) is not None:
            join(spot, _spot(target))
    for spot in specs:
        if isinstance(spot, str) or spot[0] not in nodes:
            continue
        reader = nodes.get(spot[1])
        if reader is None or not getattr(reader.meta[KEY], "allow_implicit_sharing", True):
            continue
        others = [(spot[0], plain(user.name)) for user in nodes[spot[0]].users if plain(user.name) != spot[1]]
        for other in (*others, spot[0]):
            if other in specs and _agree(specs[find(spot)], specs[find(other)]):
                join(spot, other)
    return {spot: find(spot) for spot in specs}


def _agree(a: Any, b: Any) -> bool:
    missing = object()
    return all(getattr(a, key, missing) == getattr(b, key, missing) for key in _AGREE)


def _kind(spec: Any) -> str:
    """First line of a chip: ``int8 per tensor``."""
    dtype = plain(getattr(spec, "dtype", "?")).removeprefix("torch.")
    if (scheme := getattr(spec, "qscheme", None)) is None:
        return dtype
    return f"{dtype} per {plain(scheme).removeprefix('torch.per_').partition('_')[0]}"


def _how(spec: Any, root: Any) -> list[str]:
    """Further lines of a chip: shared, derived or fixed, else the scheme and the observer's class."""
    if kind := _KINDS.get(type(spec).__name__):
        return [kind]
    scheme = plain(getattr(root, "qscheme", None) or "").partition("per_")[2].partition("_")[2]
    return [part for part in (scheme, _observer(root).removesuffix("Observer")) if part]


def _observer(spec: Any) -> str:
    """The class that a spec's constructor makes; constructors may be partial wrappers."""
    maker = getattr(spec, "observer_or_fake_quant_ctr", None)
    maker = getattr(maker, "p", maker)
    return getattr(getattr(maker, "func", maker), "__name__", "")


def _facts(spec: Any) -> dict[str, str]:
    keys = ("dtype", "qscheme", "quant_min", "quant_max", "ch_axis", "is_dynamic", "scale", "zero_point")
    values = {key: getattr(spec, key, None) for key in keys} | {"observer": _observer(spec) or None}
    return {key: plain(value).removeprefix("torch.") for key, value in values.items() if value is not None}
