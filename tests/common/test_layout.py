"""Geometry: what persists stands still, no line runs through a node, and equal input gives equal bytes."""

from __future__ import annotations

import copy
import itertools
import os
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from torch.fx import Graph, GraphModule

from common.figures.layout import FRAME, by_place, group_size, is_framed
from common.figures.routes import Box, boxes_of, routes_of, samples
from common.figures.svg import drawing_width
from common.viz import Figure

STANDARD = 420  # px: what a figure of a chapter may be wide
# Wider, because they show more than a chapter would at once. A figure that no longer needs it must leave the list.
WIDER = {"conv_bn_relu with parameters", "residual", "branches"}


def random_graph(size: int, seed: int) -> GraphModule:
    """`size` nodes; most read what is near, some reach far back, some nobody reads."""
    dice, graph = random.Random(seed), Graph()
    made = [graph.placeholder("x")]
    for _ in range(size - 2):
        near = made[-6:] if dice.random() < 0.85 else made
        inputs = [dice.choice(near) for _ in range(dice.choice([1, 1, 2, 3]))]
        made.append(graph.call_function(torch.ops.aten.cat.default, (inputs,)))
    graph.output(made[-1])
    return GraphModule(torch.nn.Module(), graph)


@pytest.fixture(scope="session")
def figures(program, editing, pt2e) -> dict[str, Figure]:
    """Figures of all kinds by name, laid out."""
    export = [(program.graph_module, "ep.graph"), (program.module(), "ep.module()")]
    steps = [(editing[key], key) for key in ("start", "created", "rewired", "function", "constant")]
    made = {
        "export": Figure(export, show_params=True, per_row=1),
        "editing": Figure(steps, highlight=["scale_out"]),
        "wrong": Figure([(editing["wrong"], "")], like=[editing["rewired"]]),
        "conv_bn_relu": Figure(pt2e("conv_bn_relu")),
        "conv_bn_relu with parameters": Figure(pt2e("conv_bn_relu"), show_params=True),
        "residual": Figure(pt2e("residual")),
        "branches": Figure(pt2e("branches")),
        "cnn": Figure([pt2e("cnn")[i] for i in (2, 4)]),
    }
    for figure in made.values():
        figure.html("f")
    return made


def stages(figure: Figure) -> Iterator[tuple[int, list, dict[str, Box]]]:
    assert figure.dot  # lays it out: until then all places are at the origin
    for number, cells in enumerate(figure._stages):
        yield number, cells, boxes_of(cells, figure._places)


def test_a_place_has_one_centre_in_all_stages(figures):
    for name, figure in figures.items():
        centres: dict[int, set[tuple[float, float]]] = {}
        for _, cells, boxes in stages(figure):
            for place, group in by_place(cells).items():
                first, last = boxes[group[0].name], boxes[group[-1].name]
                middle = (first.top + last.bottom) / 2
                centres.setdefault(place, set()).add((round(first.x), round(middle)))
        assert all(len(found) == 1 for found in centres.values()), name


def test_nodes_do_not_overlap_and_lie_inside_the_drawing(figures):
    for name, figure in figures.items():
        for _, cells, _ in stages(figure):
            groups = []
            for place, group in by_place(cells).items():
                w, h = group_size(group)
                at = figure._places[place]
                groups.append(Box(at.x, at.y, w, h).grown(FRAME if is_framed(group) else 0))
            for a, b in itertools.combinations(groups, 2):
                apart = abs(a.x - b.x) >= (a.w + b.w) / 2 or abs(a.y - b.y) >= (a.h + b.h) / 2
                assert apart, name
            layout = figure._layout
            assert all(b.x - b.w / 2 > 0 and b.x + b.w / 2 < layout.width for b in groups), name
            assert all(b.top > 0 and b.bottom < layout.height for b in groups), name


def crossings(figure: Figure) -> list[tuple[str, str, str]]:
    """(source, target, node that the line between them runs through)."""
    found = []
    for number, cells, boxes in stages(figure):
        place = {cell.name: cell.place for cell in cells}
        for route in routes_of(cells, figure._places, figure._layout, number):
            line = samples(route.points, each=40)
            for name, box in boxes.items():
                own = place[name] in (place[route.source], place[route.target])
                if not own and any(abs(x - box.x) < box.w / 2 and abs(y - box.y) < box.h / 2 for x, y in line):
                    found.append((route.source, route.target, name))
    return found


def test_no_line_runs_through_a_node(figures):
    for name, figure in figures.items():
        assert crossings(figure) == [], name


@pytest.mark.parametrize("seed", range(6))
def test_no_line_runs_through_a_node_of_a_large_graph(seed):
    figure = Figure([(random_graph(60, seed), "")])
    assert len(figure._stages[0]) == 60
    assert crossings(figure) == []


def edited(gm: GraphModule, dice: random.Random, name: str) -> GraphModule:
    """A copy in which some operations are bypassed, and some values observed for some of their readers."""
    gm = copy.deepcopy(gm)
    for number, node in enumerate(list(gm.graph.nodes)):
        if node.op == "call_function" and dice.random() < 0.15:
            node.replace_all_uses_with(node.all_input_nodes[0])
            gm.graph.erase_node(node)
        elif node.op != "output" and node.users and dice.random() < 0.3:
            gm.add_submodule(f"{name}_{number}", torch.ao.quantization.MinMaxObserver())
            with gm.graph.inserting_after(node):
                observer = gm.graph.call_module(f"{name}_{number}", (node,))
            kept = {observer, *(user for user in node.users if dice.random() < 0.3)}
            node.replace_all_uses_with(observer, delete_user_cb=lambda user, kept=kept: user not in kept)
    return gm


@pytest.mark.parametrize("show_params", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_random_edits_leave_places_and_lines_in_order(seed, show_params):
    dice, graph, root = random.Random(seed), Graph(), torch.nn.Module()
    made = [graph.placeholder("x")]
    weights = []
    for number in range(dice.randint(1, 5)):
        root.register_buffer(f"w{number}", torch.ones(1))
        weights.append(graph.get_attr(f"w{number}"))
    for _ in range(12):
        inputs = [dice.choice(made[-4:]), dice.choice(made), dice.choice(weights)][: dice.randint(1, 3)]
        made.append(graph.call_function(torch.ops.aten.cat.default, (inputs,)))
    graph.output(made[-1])
    graphs = [GraphModule(root, graph)]
    graphs += [edited(graphs[0], dice, "a"), edited(graphs[0], dice, "b")]
    graphs.append(edited(graphs[-1], dice, "c"))
    figure = Figure([(gm, str(number)) for number, gm in enumerate(graphs)], show_params=show_params)
    figure.html("f")
    assert crossings(figure) == []
    for cells in figure._stages:
        assert len({cell.place for cell in cells}) == len(cells), "without q and dq no two nodes share a place"


def test_every_edge_of_a_stage_is_drawn_once(figures):
    for name, figure in figures.items():
        for number, cells, boxes in stages(figure):
            edges = {(source, cell.name) for cell in cells for source, _ in cell.reads}
            routes = routes_of(cells, figure._places, figure._layout, number)
            assert sorted((r.source, r.target) for r in routes) == sorted(edges), name
            for route in routes:  # it starts and ends at its nodes
                for point, end in ((route.points[0], route.source), (route.points[-1], route.target)):
                    box = boxes[end].grown(FRAME + 0.2)
                    assert abs(point[0] - box.x) <= box.w / 2, name
                    assert abs(point[1] - box.y) <= box.h / 2, name


def test_lines_run_straight_where_an_observer_will_come(figures):
    figure = figures["conv_bn_relu"]
    for number, cells, _ in stages(figure):
        for route in routes_of(cells, figure._places, figure._layout, number):
            if (route.source, route.target) in {("x", "conv2d"), ("relu", "output")}:
                assert len({x for x, _ in route.points}) == 1


def test_weights_enter_from_the_side(figures):
    for name, end in (("conv_bn_relu", 4), ("residual", 4), ("conv_bn_relu with parameters", 0)):
        figure = figures[name]
        cells = figure._stages[end]
        boxes = boxes_of(cells, figure._places)
        weights = [c.name for c in cells if c.name.startswith(("dequantize_per_channel", "conv_weight"))]
        assert weights
        for route in routes_of(cells, figure._places, figure._layout, end):
            if route.source in weights:
                target = boxes[route.target]
                assert route.points[-1][0] == pytest.approx(target.x - target.w / 2, abs=FRAME + 0.2)


def test_a_self_loop_lies_inside_the_drawing(figures):
    figure = figures["wrong"]
    (loop,) = [r for r in routes_of(figure._stages[0], figure._places, figure._layout, 0) if r.source == r.target]
    assert loop.source == "scale_out"
    assert max(x for x, _ in samples(loop.points)) < figure.width
    assert figure.width == round(drawing_width(figure._stages, figure._places, figure._layout))


def test_standard_figures_are_narrow(figures):
    assert {name for name, figure in figures.items() if figure.width > STANDARD} == WIDER


def test_the_union_is_in_the_dot_source(figures):
    dot = figures["editing"].dot
    assert dot.startswith("digraph {")
    assert dot.count("tooltip=") == 5  # x, conv2d, relu, scale_out and its successors, output
    assert 'tooltip="scale_out, mul_tensor, mul_tensor_1"' in dot


def test_both_languages_have_one_layout(pt2e):
    english, chinese = (Figure(pt2e("conv_bn_relu"), lang=lang) for lang in ("en", "zh-TW"))
    assert english.dot == chinese.dot
    assert english.text != chinese.text


def test_equal_graphs_give_equal_bytes(pt2e):
    first, second = (Figure(pt2e("branches"), title="t") for _ in range(2))
    assert first.html("f") == second.html("f")
    assert first._repr_html_() == second._repr_html_()
    assert (first.dot, first.text) == (second.dot, second.text)


def test_the_hash_seed_changes_nothing():
    script = """
from torch.fx import symbolic_trace
from common.models import get_model
from common.viz import Figure
stages = [(symbolic_trace(get_model(name)), name) for name in ("residual", "cnn")]
figure = Figure(stages, show_params=True)
result = "".join([figure.html("f"), figure.dot, figure.text, figure._repr_html_()])
"""
    here: dict[str, str] = {}
    exec(script, here)
    other = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    env = {**os.environ, "PYTHONHASHSEED": other, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", f"{script}print(result, end='')"]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env, check=True)
    assert "<figure" in run.stdout
    assert run.stdout == here["result"]
