"""The puzzles of the M02 lab: random prepared and calibrated graphs, and what each call should make of them.

torchao is imported where a case is made, not with this module.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import GraphModule, Node

from common.checks.annotations import annotate_cat, annotate_conv, prepared, specs
from common.checks.compare import Problem
from common.checks.graphs import BATCHES, Layer, export, inputs, random_graphs
from common.checks.puzzles import Case
from common.checks.rows import Ref, Row, built, copied, rows_of

KINDS = ("conv", "conv", "conv_relu_", "cat", "relu", "tanh", "add")
PICTURED: tuple[Layer, ...] = (("tanh", 0, 0, 0), ("conv", 1, 1, 0), ("add", 2, 1, 0))
PARTS = ("q", "scale", "zero_point")  # of a folded weight: the ends of its buffers' names


@dataclass(frozen=True)
class ConversionPuzzle:
    """Which observers its cases are about: with one scale, or with one a channel; ``whole``: all of a graph at once."""

    per_channel: bool = False
    whole: bool = False


CONVERSION_PUZZLES = {
    "convert_activation": ConversionPuzzle(),
    "convert_weight": ConversionPuzzle(per_channel=True),
    "convert": ConversionPuzzle(whole=True),
}


@functools.lru_cache(maxsize=4)
def calibrated_graphs(seed: int) -> tuple[GraphModule, ...]:
    """Random graphs with observers on convs and cats, calibrated; smallest first. Copy one before editing it."""
    made = [calibrated(gm) for gm in random_graphs(seed, KINDS)]
    return tuple(sorted((gm for gm in made if observers(gm)), key=lambda gm: len(gm.graph.nodes)))


def calibrated(gm: GraphModule) -> GraphModule:
    """A prepared copy that has seen two batches."""

    def annotate(model: GraphModule) -> None:
        annotate_conv(model, specs()["act"], specs()["weight"])
        annotate_cat(model, specs()["act"])

    new = prepared(copied(gm), annotate)
    with torch.no_grad():
        for batch in BATCHES:
            new(inputs(batch))
    return new


def observers(gm: GraphModule) -> list[Node]:
    """The nodes that call an observer."""
    from torchao.quantization.pt2e import ObserverBase

    calls = gm.graph.find_nodes(op="call_module")
    return [node for node in calls if isinstance(gm.get_submodule(node.target), ObserverBase)]


def is_per_channel(gm: GraphModule, node: Node) -> bool:
    """Whether the observer has one scale for each channel."""
    return gm.get_submodule(node.target).qscheme in (torch.per_channel_symmetric, torch.per_channel_affine)


def converted(gm: GraphModule, name: str) -> GraphModule:
    """A copy of ``gm`` in which q/dq stand for the observer that the node ``name`` calls."""
    node = next(node for node in gm.graph.nodes if node.name == name)
    observer: Any = gm.get_submodule(node.target)
    ops = torch.ops.quantized_decomposed
    scale, zero_point = observer.calculate_qparams()
    limits = (observer.quant_min, observer.quant_max, observer.dtype)
    row = next(row for row in rows_of(gm) if row.name == name)
    if is_per_channel(gm, node):
        weight = gm.get_parameter(node.args[0].target).detach()
        axis = observer.ch_axis
        q = ops.quantize_per_channel(weight, scale, zero_point, axis, *limits)
        buffers = dict(zip((f"{name}_{part}" for part in PARTS), (q, scale, zero_point), strict=True))
        new = [Row(buffer, "get_attr", buffer) for buffer in buffers]
        args = (*map(Ref, buffers), axis, *limits)
        new.append(Row(f"{name}_dequantize", "call_function", ops.dequantize_per_channel.default, args))
    else:
        buffers = {}
        args = (scale.item(), zero_point.item(), *limits)
        quantize = Row(f"{name}_quantize", "call_function", ops.quantize_per_tensor.default, (*row.args, *args))
        to_float = ops.dequantize_per_tensor.default
        new = [quantize, Row(f"{name}_dequantize", "call_function", to_float, (Ref(quantize.name), *args))]
    rows: list[Row] = []
    for old in rows_of(gm):
        rows += new if old.name == name else [old.retaking({name: new[-1].name})]
    taken = {each for other in rows for each in other.takes}
    source = row.takes[0]
    rows = [other for other in rows if not (other.op == "get_attr" and other.name == source and source not in taken)]
    wanted = built(gm, rows)
    for buffer, tensor in buffers.items():
        wanted.register_buffer(buffer, tensor)
    wanted.delete_submodule(row.target)
    return wanted


def _case(gm: GraphModule, nodes: list[Node], whole: bool) -> Case:
    wanted = gm
    for node in nodes:
        wanted = converted(wanted, node.name)
    args = () if whole else (nodes[0].name,)
    return Case(gm, args, wanted, nodes[0].name, f"{nodes[0].name}_dequantize")


@functools.lru_cache(maxsize=8)
def conversion_cases(name: str, seed: int) -> tuple[Case, ...]:
    """The random cases of a puzzle, smallest graph first. They are shared: copy a graph before editing it."""
    puzzle, rng = CONVERSION_PUZZLES[name], random.Random(f"{name} {seed}")
    made = []
    for gm in (*calibrated_graphs(2 * seed), *calibrated_graphs(2 * seed + 1)):
        nodes = [node for node in observers(gm) if puzzle.whole or is_per_channel(gm, node) == puzzle.per_channel]
        chosen = [nodes] if puzzle.whole else [[node] for node in rng.sample(nodes, min(2, len(nodes)))]
        made += [_case(gm, each, puzzle.whole) for each in chosen]
    return tuple(sorted(made, key=lambda case: len(case.before.graph.nodes)))


def conversion_picture(name: str) -> Case:
    """The case that the lab draws."""
    puzzle, gm = CONVERSION_PUZZLES[name], calibrated(export(PICTURED))
    nodes = [node for node in observers(gm) if puzzle.whole or is_per_channel(gm, node) == puzzle.per_channel]
    return _case(gm, nodes, puzzle.whole)


def refined(name: str, problem: Problem, gm: GraphModule) -> Problem:
    """Where all of a graph was to be converted and nodes are missing: whether ``gm`` still has observers."""
    if CONVERSION_PUZZLES[name].whole and problem.code == "missing" and (left := observers(gm)):
        return replace(problem, code="observers_left", fields={"nodes": ", ".join(node.name for node in left)})
    return problem
