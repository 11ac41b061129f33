"""What a figure says of a node: title, further lines, text twin, value, details."""

from __future__ import annotations

import json
import operator

import torch
from torch.fx import Graph, GraphModule

from common.figures.reading import read_graph
from common.figures.shapes import lines_of


def labels(gm: GraphModule, show_params: bool = False) -> dict[str, list[str]]:
    """Node name → the lines of its label."""
    return {cell.name: [cell.title, *lines_of(cell)] for cell in read_graph(gm, show_params)}


def calls(gm: GraphModule) -> dict[str, str]:
    return {cell.name: cell.call for cell in read_graph(gm, False)}


def graph_of(*ops: tuple) -> GraphModule:
    """x, then each (target, further arguments) on the one before, then output."""
    graph = Graph()
    last = graph.placeholder("x")
    for target, *args in ops:
        kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
        last = graph.call_function(target, (last, *args), kwargs)
    graph.output(last)
    return GraphModule(torch.nn.Module(), graph)


def test_parameters_stand_in_their_readers_label_or_are_nodes(program):
    gm = program.module()
    assert labels(gm) == {
        "x": ["x"],
        "conv2d": ["conv2d", "‹conv_weight›"],
        "batch_norm": ["batch_norm", "‹bn_weight›", "‹bn_bias›", "‹bn_running_mean›", "‹bn_running_var›"],
        "relu": ["relu"],
        "output": ["output"],
    }
    nodes = labels(gm, show_params=True)
    assert nodes["batch_norm"] == ["batch_norm"]
    assert [n for n in nodes if n.startswith(("conv_", "bn_"))] == [
        "conv_weight", "bn_weight", "bn_bias", "bn_running_mean", "bn_running_var", "bn_num_batches_tracked",
    ]  # fmt: skip


def test_guards_are_never_drawn(program):
    for show_params in (False, True):
        cells = read_graph(program.module(), show_params)
        assert not any("guards" in cell.name or "guards" in json.dumps(cell.details) for cell in cells)
    assert "_guards_fn" in {node.name for node in program.module().graph.nodes}


def test_constants_that_an_operation_needs(editing):
    assert labels(editing["function"])["mul_tensor"] == ["mul_tensor", "2.0"]
    assert calls(editing["function"])["mul_tensor"] == "mul(relu, 2.0)"
    assert labels(editing["constant"])["mul_tensor_1"] == ["mul_tensor_1", "‹two›"]
    aten = torch.ops.aten
    shown = labels(
        graph_of(
            (aten.mean.dim, [2, 3]),
            (aten.add.Tensor, 1, {"alpha": 2}),
            (aten.to.dtype, torch.float16),
            (operator.getitem, 0),
            (torch.flatten, 1),
        )
    )
    assert shown["mean_dim"] == ["mean_dim", "dim=[2, 3]"]
    assert shown["add_tensor"] == ["add_tensor", "1 · alpha=2"]
    assert shown["to_dtype"] == ["to_dtype", "dtype=float16"]
    assert shown["getitem"] == ["getitem", "[0]"]
    assert shown["flatten"] == ["flatten", "1"]


def test_a_batch_norm_in_training_form_says_so(program):
    from common.models import example_inputs, get_model

    train = torch.export.export(get_model("conv_bn_relu").train(), example_inputs()).module()
    assert labels(train)["batch_norm"][-1] == "training=True"
    assert "training" not in " ".join(labels(program.module())["batch_norm"])


def test_modules_show_their_class_and_renamed_calls_their_target(editing):
    assert labels(editing["rewired"])["scale_out"] == ["scale_out"]  # the class, Scale, is in the name
    gm = graph_of((torch.relu,))
    next(node for node in gm.graph.nodes if node.name == "relu").name = "activation"
    assert labels(gm)["activation"] == ["activation", "relu"]
    gm = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3)))
    assert labels(gm)["_0"] == ["_0", "Conv2d"]


def test_observers_show_class_number_and_range(pt2e):
    stages = {label: gm for gm, label in pt2e("conv_bn_relu")}
    fresh, seen = labels(stages["prepared"]), labels(stages["calibrated"])
    assert fresh["activation_post_process_0"] == ["Histogram", "#0 · [—, —]"]
    assert fresh["activation_post_process_1"] == ["PerChannelMinMax", "‹conv_weight› · #1", "[—, —]"]
    title, line = seen["activation_post_process_2"]
    assert (title, line.startswith("#2 · [0, ")) == ("Histogram", True)
    assert seen["activation_post_process_1"][-1].endswith("] ×8")


def test_quantize_and_dequantize_show_their_parameters(pt2e):
    converted = pt2e("conv_bn_relu")[-1][0]
    shown = labels(converted)
    quantize = next(node for node in converted.graph.nodes if node.name == "quantize_per_tensor_default")
    scale, zero_point = quantize.args[1:3]
    parameters = f"int8 s {scale:.3g} z {zero_point}".replace("-", "−")
    assert shown["quantize_per_tensor_default"][0] == "quantize"
    assert " ".join(shown["quantize_per_tensor_default"][1:]).replace(" · ", " ") == parameters
    assert shown["dequantize_per_channel_default"] == ["dequantize", "‹_frozen_param0›", "int8 · 8 channels"]
    cell = next(c for c in read_graph(converted, False) if c.name == "dequantize_per_channel_default")
    assert len(cell.details["scale"].split(", ")) == 8


def test_a_get_attr_with_another_name_than_its_target_shows_both(pt2e):
    shown = labels(pt2e("conv_bn_relu")[-1][0], show_params=True)
    assert shown["quantize_per_channel_default"] == ["quantize_per…fault", "‹_frozen_param0›", "int8"]


def test_fake_quant_modules_are_observers():
    from torch.ao.quantization import FusedMovingAvgObsFakeQuantize

    root, graph = torch.nn.Module(), Graph()
    root.add_module("activation_post_process_0", FusedMovingAvgObsFakeQuantize())
    graph.output(graph.call_module("activation_post_process_0", (graph.placeholder("x"),)))
    gm = GraphModule(root, graph)
    fresh, seen = read_graph(gm, False), (gm(torch.tensor([-1.0, 2.0])), read_graph(gm, False))[1]
    assert (fresh[1].role, seen[1].role) == ("observer", "observer")
    assert [fresh[1].title, *lines_of(fresh[1])] == ["FakeQuantize", "FusedMovingAvgObs", "#0 · [—, —]"]
    assert lines_of(seen[1])[-1] == "#0 · [−1, 2]"
    assert seen[1].details["module"] == "FusedMovingAvgObsFakeQuantize (MovingAverageMinMaxObserver)"


def test_lowered_operations_show_their_namespace():
    gm = graph_of((torch.ops.quantized.relu6.default,))
    (cell,) = (c for c in read_graph(gm, False) if c.name.startswith("relu6"))
    assert (cell.role, cell.notes) == ("lowered", ["quantized"])


def test_values_name_dynamic_sizes(editing, program):
    values = {cell.name: cell.value for cell in read_graph(editing["start"], False)}
    assert values["x"] == "float32 [N, 3, 16, 16]"
    assert values["relu"] == "float32 [N, 8, 16, 16]"
    assert {c.name: c.value for c in read_graph(editing["created"], False)}["scale_out"] == ""
    state = {cell.name: cell.value for cell in read_graph(program.module(), True)}
    assert state["bn_num_batches_tracked"] == "int64 []"


def test_details_hold_what_a_panel_shows(program):
    conv = next(cell for cell in read_graph(program.module(), False) if cell.name == "conv2d")
    assert conv.details == {
        "op": "call_function",
        "target": "aten.conv2d.default",
        "args": "x, conv_weight, None, [1, 1], [1, 1]",
        "users": "batch_norm",
        "value": "float32 [2, 8, 16, 16]",
    }


def test_keyword_inputs_are_read_and_named():
    graph = Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w")
    graph.output(graph.call_function(torch.nn.functional.linear, (x,), {"weight": w, "bias": None}))
    cells = {cell.name: cell for cell in read_graph(GraphModule(torch.nn.Module(), graph), False)}
    assert cells["linear"].reads == [("x", 0), ("w", 1)]
    assert cells["linear"].call == "linear(x, weight=w)"
