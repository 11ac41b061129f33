"""Which nodes share a place, what counts as new, gone or changed, and the letters of shared observers."""

from __future__ import annotations

import copy

import torch
from torch.fx import Graph, GraphModule

from common.viz import Figure


def places(figure: Figure) -> list[dict[str, int]]:
    """For each stage: node name → place."""
    return [{cell.name: cell.place for cell in cells} for cells in figure._stages]


def marks(figure: Figure) -> list[dict[str, set[str]]]:
    """For each stage: mark → names."""
    return [
        {mark: {c.name for c in cells if mark in c.change} for mark in ("new", "gone", "changed")}
        for cells in figure._stages
    ]


def test_parameters_keep_their_place_from_placeholder_to_get_attr(program):
    stages = [(program.graph_module, "ep.graph (ExportedProgram)"), (program.module(), "ep.module() (GraphModule)")]
    figure = Figure(stages, show_params=True, per_row=1)
    before, after = places(figure)
    names = {
        "p_conv_weight": "conv_weight",
        "p_bn_weight": "bn_weight",
        "p_bn_bias": "bn_bias",
        "b_bn_running_mean": "bn_running_mean",
        "b_bn_running_var": "bn_running_var",
        "b_bn_num_batches_tracked": "bn_num_batches_tracked",
    }
    kept = ("x", "conv2d", "batch_norm", "relu", "output")
    assert {name: before[name] for name in before} == {p: after[names.get(p, p)] for p in before}
    assert len(set(after.values())) == len(after) == 11
    first, second = marks(figure)
    assert first == {"new": set(), "gone": set(names), "changed": set()}
    assert second == {"new": set(names.values()), "gone": set(), "changed": set()}
    assert [c.role for c in figure._stages[0] if c.name in names] == ["io"] * 6
    assert [c.role for c in figure._stages[1] if c.name in names.values()] == ["param"] * 6
    assert all(not cell.change for cells in figure._stages for cell in cells if cell.name in kept)


def test_observer_and_quantize_dequantize_share_a_place(pt2e):
    figure = Figure(pt2e("conv_bn_relu"))
    _, annotated, prepared, calibrated, converted = places(figure)
    assert (
        annotated["spec of x → conv2d"]
        == prepared["activation_post_process_0"]
        == calibrated["activation_post_process_0"]
        == converted["quantize_per_tensor_default"]
        == converted["dequantize_per_tensor_default"]
    )
    weight = prepared["activation_post_process_1"]
    assert weight == converted["dequantize_per_channel_default"] == annotated["spec of conv_weight → conv2d"]
    assert prepared["conv2d"] == converted["conv2d"] == annotated["conv2d"]


def test_scales_never_take_the_place_of_the_weight(pt2e):
    stages = pt2e("conv_bn_relu")
    converted = copy.deepcopy(stages[-1][0])
    nodes = {node.name: node for node in converted.graph.nodes}
    nodes["_scale_0"].prepend(nodes["quantize_per_channel_default"])  # now the weight is looked at last
    for last in (stages[-1], (converted, "weight first")):
        exported, _, prepared, _, end = places(Figure([*stages[:-1], last], show_params=True))
        assert exported["conv_weight"] == prepared["conv_weight"] == end["quantize_per_channel_default"]
        others = {end["_scale_0"], end["_zero_point_0"]}
        assert len(others) == 2
        assert not others & set(exported.values())


def test_several_dequantize_of_one_quantize_have_places_of_their_own(pt2e):
    *_, calibrated, converted = places(Figure(pt2e("residual")))
    fan = [converted["dequantize_per_tensor_default_4"], converted["dequantize_per_tensor_default_5"]]
    assert converted["quantize_per_tensor_default"] == calibrated["activation_post_process_0"]
    assert len({*fan, converted["quantize_per_tensor_default"]}) == 3


def test_rewiring_counts_as_changed_arguments(editing):
    figure = Figure([(editing[key], key) for key in ("start", "created", "rewired", "function", "constant")])
    start, created, rewired, function, constant = marks(figure)
    assert start == {"new": set(), "gone": set(), "changed": set()}
    assert created == {"new": {"scale_out"}, "gone": set(), "changed": set()}
    assert rewired == {"new": set(), "gone": {"scale_out"}, "changed": {"output"}}
    assert function == {"new": {"mul_tensor"}, "gone": {"mul_tensor"}, "changed": set()}
    assert constant == {"new": {"mul_tensor_1"}, "gone": set(), "changed": set()}
    where = places(figure)
    assert where[1]["scale_out"] == where[2]["scale_out"] == where[3]["mul_tensor"] == where[4]["mul_tensor_1"]


def test_other_target_or_constant_or_class_counts_as_changed():
    def graph(target: object, constant: float, module: torch.nn.Module) -> GraphModule:
        root = torch.nn.Module()
        root.add_module("inner", module)
        made = Graph()
        op = made.call_function(target, (made.placeholder("x"), constant))
        op.name = "op"
        made.output(made.call_module("inner", (op,)))
        return GraphModule(root, made)

    relu, elu = torch.nn.ReLU(), torch.nn.ELU()
    base = graph(torch.add, 1, relu)
    for other, changed in [
        (graph(torch.add, 1, relu), set()),
        (graph(torch.add, 2, relu), {"op"}),
        (graph(torch.sub, 1, relu), {"op"}),
        (graph(torch.add, 1, elu), {"inner"}),
    ]:
        assert marks(Figure([(base, "a"), (other, "b")]))[1]["changed"] == changed


def test_calibration_changes_observers_and_nothing_else(pt2e):
    prepared, calibrated, converted = marks(Figure(pt2e("conv_bn_relu")[2:]))
    observers = {f"activation_post_process_{i}" for i in range(3)}
    assert calibrated["changed"] == calibrated["gone"] == observers
    assert prepared["gone"] == set()
    assert (converted["changed"], len(converted["new"])) == (set(), 5)


def test_folding_batch_norm_changes_its_neighbours(pt2e):
    stages = pt2e("conv_bn_relu")
    exported, prepared = marks(Figure([stages[0], stages[2]]))
    assert exported["gone"] == {"batch_norm"}
    assert prepared["changed"] == {"conv2d", "relu", "output"}


def test_letters_say_which_observers_are_one(pt2e):
    figure = Figure(pt2e("branches"))
    lettered = [{cell.place for cell in cells if cell.letter} for cells in figure._stages]
    exported, annotated, prepared, calibrated, converted = lettered
    assert exported == converted == set()
    assert annotated == prepared == calibrated
    assert len(annotated) == 4  # both branches, after cat, after the pool
    assert {cell.letter for cells in figure._stages for cell in cells} == {"", "A"}
    assert "same letter: one shared observer" in figure.html("f")


def test_a_group_of_one_has_no_letter(pt2e):
    figure = Figure(pt2e("residual"))
    assert not any(cell.letter for cells in figure._stages for cell in cells)


def test_annotations_survive_a_copy_of_the_graph(pt2e):
    gm = pt2e("branches")[1][0]
    assert Figure([(copy.deepcopy(gm), "copy")]).text.splitlines()[1:] == Figure([(gm, "a")]).text.splitlines()[1:]


def test_annotations_predict_where_prepare_puts_observers(pt2e):
    for name in ("residual", "branches"):
        figure = Figure(pt2e(name))
        chips = {cell.place for cell in figure._stages[1] if cell.role == "annotation"}
        observers = {cell.place for cell in figure._stages[2] if cell.role == "observer"}
        assert chips == observers
        assert all(not cell.change for cell in figure._stages[1] if cell.role == "annotation")


def test_annotations_need_no_torchao():
    """Anything with the attributes of an annotation is drawn."""

    class Spec:
        dtype = torch.int8
        qscheme = torch.per_tensor_affine

    class Annotation:
        def __init__(self, inputs: dict) -> None:
            self.input_qspec_map, self.output_qspec = inputs, None

    graph = Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(torch.relu, (x,))
    graph.output(relu)
    relu.meta["quantization_annotation"] = Annotation({x: Spec()})
    figure = Figure([(GraphModule(torch.nn.Module(), graph), "")])
    assert "   spec of x → relu = spec(x) int8 per tensor, affine" in figure.text.splitlines()


def test_like_places_a_graph_as_in_another_figure(editing):
    alone = Figure([(editing["wrong"], "")])
    aligned = Figure([(editing["wrong"], "")], like=[editing["rewired"]])
    right = Figure([(editing["rewired"], "")], like=[editing["wrong"]])
    assert set(places(aligned)[0]) == set(places(alone)[0])

    def centres(figure: Figure) -> dict[str, tuple[float, float]]:
        figure.html("f")
        return {c.name: (figure._places[c.place].x, figure._places[c.place].y) for c in figure._stages[0]}

    wanted = centres(right)
    assert all(abs(y - wanted[name][1]) < 1 for name, (_, y) in centres(aligned).items())
    assert centres(aligned)["scale_out"][1] > centres(aligned)["relu"][1]
