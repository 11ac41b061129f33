"""Graphs that several tests look at. Making them takes seconds, so each is made once; no test edits them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram
from torch.fx import GraphModule

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import Figure, Table, show_with

Stages = list[tuple[GraphModule, str]]


class Scale(nn.Module):
    """Something visible to call."""

    def __init__(self, k: float) -> None:
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.k


torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _quiet() -> None:
    """Once for each test, because pytest gives each its own warning filters."""
    quiet()


@contextmanager
def calm() -> Iterator[None]:
    """`quiet` for fixtures that outlive a test."""
    with warnings.catch_warnings():
        quiet()
        warnings.filterwarnings("ignore", message="Sharing is deprecated!")  # torchao says so of its test quantizer
        yield


@pytest.fixture
def shown() -> Iterator[list[Table | Figure]]:
    """What was shown while the test ran."""
    items: list[Table | Figure] = []
    show_with(items.append)
    yield items
    show_with(None)


@pytest.fixture(scope="session")
def program() -> ExportedProgram:
    """conv-bn-relu, exported in eval mode."""
    return torch.export.export(get_model("conv_bn_relu").eval(), example_inputs())


@pytest.fixture(scope="session")
def editing() -> dict[str, GraphModule]:
    """conv-relu at each step of inserting a module after relu and replacing it; "wrong" rewires the module itself."""
    with calm():
        return _editing()


def _editing() -> dict[str, GraphModule]:
    gm = export_module(get_model("conv_relu").eval(), example_inputs(4))
    steps = {"start": copy.deepcopy(gm)}
    relu = next(node for node in gm.graph.nodes if node.name == "relu")
    gm.add_submodule("scale_out", Scale(2.0))
    with gm.graph.inserting_after(relu):
        scale = gm.graph.call_module("scale_out", (relu,))
    steps["created"] = copy.deepcopy(gm)
    wrong = copy.deepcopy(gm)
    by_name = {node.name: node for node in wrong.graph.nodes}
    by_name["relu"].replace_all_uses_with(by_name["scale_out"])
    steps["wrong"] = wrong
    relu.replace_all_uses_with(scale, delete_user_cb=lambda user: user is not scale)
    steps["rewired"] = copy.deepcopy(gm)
    with gm.graph.inserting_before(scale):
        mul = gm.graph.call_function(torch.ops.aten.mul.Tensor, (relu, 2.0))
    scale.replace_all_uses_with(mul)
    gm.graph.erase_node(scale)
    steps["function"] = copy.deepcopy(gm)
    gm.register_buffer("two", torch.tensor(2.0))
    with gm.graph.inserting_before(mul):
        two = gm.graph.get_attr("two")
        mul_two = gm.graph.call_function(torch.ops.aten.mul.Tensor, (relu, two))
    mul.replace_all_uses_with(mul_two)
    gm.graph.erase_node(mul)
    steps["constant"] = gm
    return steps


class Branches(nn.Module):
    """Two convs that meet in a cat, then a pool: what shares an observer."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 4, 3, padding=1)
        self.b = nn.Conv2d(3, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.max_pool2d(torch.cat([torch.relu(self.a(x)), self.b(x)], 1), 2)


def _quantizer() -> object:
    from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, SharedQuantizationSpec
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    class Sharing(XNNPACKQuantizer):
        """XNNPACK's, but all that meets in a cat and goes on through a pool shares one observer."""

        def annotate(self, gm: GraphModule) -> GraphModule:
            super().annotate(gm)
            for node in gm.graph.nodes:
                if node.target in (torch.ops.aten.cat.default, torch.ops.aten.max_pool2d.default):
                    first, *rest = node.all_input_nodes
                    shared = SharedQuantizationSpec((first, node))
                    own = first.meta["quantization_annotation"].output_qspec
                    inputs = {first: SharedQuantizationSpec(first) if own else shared, **dict.fromkeys(rest, shared)}
                    node.meta["quantization_annotation"] = QuantizationAnnotation(inputs, shared, _annotated=True)
            return gm

    config = get_symmetric_quantization_config(is_per_channel=True)
    return Sharing().set_global(config)


@pytest.fixture(scope="session")
def pt2e() -> Callable[[str], Stages]:
    """The five stages of quantizing a model: exported, annotated, prepared, calibrated, converted."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    made: dict[str, Stages] = {}

    def stages(name: str) -> Stages:
        if name in made:
            return made[name]
        with calm(), torch.no_grad():
            torch.manual_seed(0)
            model = Branches() if name == "branches" else get_model(name)
            exported = export_module(model.eval(), example_inputs(4))
            annotated = copy.deepcopy(exported)
            _quantizer().annotate(annotated)
            prepared = prepare_pt2e(copy.deepcopy(exported), _quantizer())
            fresh = copy.deepcopy(prepared)
            prepared(*example_inputs(4))
            calibrated = copy.deepcopy(prepared)
            graphs = [exported, annotated, fresh, calibrated, convert_pt2e(prepared)]
        labels = ["exported", "annotated", "prepared", "calibrated", "converted"]
        made[name] = list(zip(graphs, labels, strict=True))
        return made[name]

    return stages
