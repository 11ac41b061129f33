"""The puzzles of the M03 lab: random graphs to annotate, and where observers should be after prepare.

torchao is imported where a case is made, not with this module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule, Node

from common.checks.graphs import Layer, export, random_graphs
from common.checks.rows import copied

if TYPE_CHECKING:
    from torchao.quantization.pt2e.quantizer import QuantizationSpec

KEY = "quantization_annotation"
RELUS = (torch.ops.aten.relu.default, torch.ops.aten.relu_.default)
CONV, ADD, CAT = torch.ops.aten.conv2d.default, torch.ops.aten.add.Tensor, torch.ops.aten.cat.default
Edge = tuple[str, str]  # the names of a node and of one that uses it


@dataclass(frozen=True)
class AnnotationCase:
    """One graph, and the same graph annotated as it should be and prepared."""

    before: GraphModule
    wanted: GraphModule


@dataclass(frozen=True)
class AnnotationPuzzle:
    """The right annotation, the op that it is about, and its graphs: what random layers may be, and whole graphs."""

    annotate: Callable[..., None]
    op: Any
    specs: tuple[str, ...]  # what the reader's function gets after gm
    kinds: tuple[str, ...]
    pictured: tuple[Layer, ...]
    traps: tuple[tuple[Layer, ...], ...] = ()  # what random graphs seldom have, beside these


@functools.cache
def specs() -> dict[str, QuantizationSpec]:
    """``act`` is int8, per tensor, affine; ``weight`` is int8, per channel, symmetric."""
    from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver
    from torchao.quantization.pt2e.quantizer import QuantizationSpec

    return {
        "act": QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, torch.per_tensor_affine),
        "weight": QuantizationSpec(
            torch.int8, PerChannelMinMaxObserver, -127, 127, torch.per_channel_symmetric, ch_axis=0
        ),
    }


def prepared(gm: GraphModule, annotate: Callable[[GraphModule], Any]) -> GraphModule:
    """``gm`` itself, annotated by ``annotate`` and prepared. Raises whatever prepare_pt2e raises."""
    from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
    from torchao.quantization.pt2e.quantizer import Quantizer

    class Annotator(Quantizer):
        def annotate(self, model: GraphModule) -> GraphModule:
            annotate(model)
            return model

        def validate(self, model: GraphModule) -> None:
            pass

    return prepare_pt2e(gm, Annotator())


def annotate_conv(gm: GraphModule, act: QuantizationSpec, weight: QuantizationSpec) -> None:
    """The input and the weight of each conv2d."""
    for conv in _calls(gm, CONV):
        _annotate(conv, {conv.args[0]: act, conv.args[1]: weight})


def annotate_add_relu(gm: GraphModule, act: QuantizationSpec) -> None:
    """The inputs of each add, and its output: behind the relu, if that is its only user."""
    for add in _calls(gm, ADD):
        inputs = {arg: act for arg in add.args if isinstance(arg, Node)}
        if is_fused(add):
            _annotate(add, inputs)
            _annotate(next(iter(add.users)), {}, act)
        else:
            _annotate(add, inputs, act)


def annotate_cat(gm: GraphModule, act: QuantizationSpec) -> None:
    """The inputs and the output of each cat, all with one observer."""
    from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec

    for cat in _calls(gm, CAT):
        first, *others = dict.fromkeys(cat.args[0])
        shared = SharedQuantizationSpec((first, cat))
        _annotate(cat, {first: act} | dict.fromkeys(others, shared), shared)


def is_fused(add: Node) -> bool:
    """Whether a relu is the only user."""
    return len(add.users) == 1 and next(iter(add.users)).target in RELUS


def _calls(gm: GraphModule, target: Any) -> list[Node]:
    return list(gm.graph.find_nodes(op="call_function", target=target))


def _annotate(node: Node, inputs: dict[Node, Any], output: Any = None) -> None:
    from torchao.quantization.pt2e.quantizer import QuantizationAnnotation

    node.meta[KEY] = QuantizationAnnotation(inputs, output, _annotated=True)


ANNOTATION_PUZZLES = {
    "annotate_conv": AnnotationPuzzle(
        annotate_conv,
        CONV,
        ("act", "weight"),
        ("conv", "conv", "conv_relu_", "relu", "tanh", "add"),
        (("conv", 0, 0, 0), ("relu", 1, 1, 0), ("conv", 2, 2, 1), ("add", 3, 2, 0)),
    ),
    "annotate_add_relu": AnnotationPuzzle(
        annotate_add_relu,
        ADD,
        ("act",),
        ("add", "add", "add_relu", "add_relu_", "add_one", "relu", "tanh", "sigmoid"),
        (("tanh", 0, 0, 0), ("add_relu", 1, 0, 0), ("add", 2, 1, 0)),
        (
            (("add", 0, 0, 0), ("relu", 1, 1, 0), ("tanh", 1, 1, 0)),
            (("tanh", 0, 0, 0), ("add_one", 1, 1, 0), ("relu", 2, 2, 0), ("add_relu_", 3, 2, 0)),
        ),
    ),
    "annotate_cat": AnnotationPuzzle(
        annotate_cat,
        CAT,
        ("act",),
        ("cat", "cat", "cat3", "relu", "tanh", "sigmoid", "add"),
        (("tanh", 0, 0, 0), ("relu", 0, 0, 0), ("cat", 1, 2, 0)),
    ),
}


@functools.lru_cache(maxsize=8)
def annotation_cases(name: str, seed: int) -> tuple[AnnotationCase, ...]:
    """The graphs of a puzzle that have its op, smallest first. They are shared: copy a graph before editing it."""
    puzzle = ANNOTATION_PUZZLES[name]
    graphs = [gm for seed_ in (3 * seed, 3 * seed + 1, 3 * seed + 2) for gm in random_graphs(seed_, puzzle.kinds)]
    graphs += map(export, puzzle.traps)
    made = [_case(name, gm) for gm in graphs if _calls(gm, puzzle.op)]
    return tuple(sorted(made, key=lambda case: len(case.before.graph.nodes)))


def annotation_picture(name: str) -> AnnotationCase:
    """The case that the lab draws."""
    return _case(name, export(ANNOTATION_PUZZLES[name].pictured))


def _case(name: str, gm: GraphModule) -> AnnotationCase:
    puzzle = ANNOTATION_PUZZLES[name]
    given = [specs()[each] for each in puzzle.specs]
    return AnnotationCase(gm, prepared(copied(gm), lambda model: puzzle.annotate(model, *given)))


def observed(gm: GraphModule) -> dict[Edge, tuple[torch.nn.Module, ...]]:
    """The edges of a prepared graph with observers on them, in order; the observers from the source on."""
    from torchao.quantization.pt2e import ObserverBase

    modules = {
        node: module
        for node in gm.graph.find_nodes(op="call_module")
        if isinstance(module := gm.get_submodule(node.target), ObserverBase)
    }
    found = {}
    for user in gm.graph.nodes:
        for source in user.all_input_nodes if user not in modules else ():
            chain: list[torch.nn.Module] = []
            while source in modules:
                chain.insert(0, modules[source])
                source = source.args[0]
            if chain:
                found[source.name, user.name] = tuple(chain)
    return found


def label(observers: tuple[torch.nn.Module, ...]) -> str:
    """Which specs the observers were made from: "act", "weight", or what they are."""

    def one(observer: Any) -> str:
        facts = (observer.dtype, observer.quant_min, observer.quant_max, observer.qscheme)
        for name, spec in specs().items():
            if facts == (spec.dtype, spec.quant_min, spec.quant_max, spec.qscheme):
                return name
        return f"{type(observer).__name__}({str(observer.dtype).removeprefix('torch.')})"

    return ", ".join(map(one, observers))
