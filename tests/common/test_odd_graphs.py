"""Graphs and names that no chapter has, but a reader may."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable

import pytest
import torch
from lxml import html
from torch.fx import Graph, GraphModule

from common.viz import Figure, draw

NAMES = [
    "aten::add",
    "<built-in function getitem>",
    "a\\b\\n\\l",
    "q\"uo'te",
    "a&b;</script><script>alert(1)</script>",
    "{rec|ord}",
    "中文節點",
    "🦄👩‍👩‍👧",
    "‹weird›",
    "tab\tnew\nline",
    "x" * 300,
    "p3",
    "p3",
    "",
    "__proto__",
]


def chain(names: list[str]) -> GraphModule:
    graph = Graph()
    last = graph.placeholder("x")
    for name in names:
        last = graph.call_function(torch.relu, (last,))
        last.name = name
    graph.output(last)
    return GraphModule(torch.nn.Module(), graph)


def test_names_are_shown_as_they_are():
    content = Figure([(chain(NAMES), "")], title='<i>"&').html("f")
    page = html.fromstring(content)
    drawn = page.xpath("//svg[@role='img']//g[@data-node]/@data-node")
    assert len(drawn) == len(set(drawn)) == len(NAMES) + 2
    shown = {name.replace("\t", " ").replace("\n", " ") or "?" for name in NAMES}
    assert shown < set(drawn)
    assert "p3 (2)" in drawn
    titles = page.xpath("//svg[@role='img']//g/title/text()")
    assert any(title.startswith("x" * 300 + ": operation") for title in titles)
    labels = page.xpath("//svg[@role='img']//text/text()")
    assert "x" * 16 + "…" + "x" * 7 in labels
    assert page.xpath("//figcaption/text()") == ['<i>"&']
    assert "alert(1)" in content
    assert [script.get("type") for script in page.xpath("//script")] == ["application/json"]
    data = json.loads(page.xpath("//script")[0].text)
    assert set(data["stages"][0]["nodes"]) == set(drawn)


def test_the_union_holds_any_name():
    assert Figure([(chain(NAMES), "")]).dot.count("tooltip=") == len(NAMES) + 2


def test_no_nodes_at_all():
    figure = Figure([(GraphModule(torch.nn.Module(), Graph()), ""), (chain([]), "")], title="empty")
    assert figure.text.splitlines() == [
        "empty",
        "[1]",
        "  No nodes",
        "[2]  +2 new",
        "+  x = placeholder",
        "+  output = output(x)",
    ]
    assert "No nodes" in html.fromstring(figure.html("f")).text_content()
    assert Figure([(GraphModule(torch.nn.Module(), Graph()), "")]).html("f")


def several_outputs(graph: Graph) -> None:
    x = graph.placeholder("x")
    split = graph.call_function(torch.ops.aten.split.Tensor, (x, 2))
    parts = [graph.call_function(operator.getitem, (split, i)) for i in range(3)]
    cat = graph.call_function(torch.ops.aten.cat.default, ([parts[2], parts[0], parts[1], parts[0]], 1))
    graph.call_function(torch.ops.aten.neg.default, (x,))  # nobody reads it
    graph.output((graph.call_function(torch.mul, (cat, cat)), {"first": parts[0]}))


def cycle(graph: Graph) -> None:
    x = graph.placeholder("x")
    a = graph.call_function(torch.relu, (x,))
    b = graph.call_function(torch.neg, (a,))
    a.args = (b,)
    graph.output(b)


def output_of_a_constant(graph: Graph) -> None:
    graph.output((None, 3, graph.get_attr("missing")))


@pytest.mark.parametrize(
    ("build", "edges"),
    [
        (several_outputs, 11),  # mul reads cat twice and cat reads getitem twice: one line each
        (cycle, 3),
        (output_of_a_constant, 0),
    ],
)
def test_odd_wiring(build: Callable[[Graph], None], edges: int):
    graph = Graph()
    build(graph)
    root = torch.nn.Module()
    root.register_buffer("missing", torch.ones(2))
    gm = GraphModule(root, graph)
    for show_params in (False, True):
        figure = Figure([(gm, "")], show_params=show_params)
        drawn = html.fromstring(figure.html("f")).xpath("//g[contains(@class, 'fx-edge') and @data-from]")
        assert len(drawn) == edges + (show_params and build is output_of_a_constant)


def test_a_node_whose_module_is_gone_is_drawn_all_the_same(editing, shown):
    import copy

    gm = copy.deepcopy(editing["rewired"])
    gm.delete_submodule("scale_out")
    draw(gm)
    assert "   scale_out = scale_out(relu)" in shown[0].text.splitlines()


def test_a_node_without_meta_is_drawn(editing):
    gm = editing["created"]
    assert next(node for node in gm.graph.nodes if node.name == "scale_out").meta.get("val") is None
    assert 'data-node="scale_out"' in Figure([(gm, "")]).html("f")


def test_a_weight_that_two_operations_read_through_an_observer_each():
    root, graph = torch.nn.Module(), Graph()
    root.register_buffer("w", torch.ones(2))
    for number in range(2):
        root.add_module(f"activation_post_process_{number}", torch.ao.quantization.MinMaxObserver())
    x, w = graph.placeholder("x"), graph.get_attr("w")
    for number in range(2):
        x = graph.call_function(torch.mul, (x, graph.call_module(f"activation_post_process_{number}", (w,))))
    graph.output(x)
    figure = Figure([(GraphModule(root, graph), "")], show_params=True)
    assert len(html.fromstring(figure.html("f")).xpath("//g[@data-from]")) == 7
    assert figure.dot.count("width=") == 7


def test_a_node_of_another_graph_in_the_arguments():
    graph, other = Graph(), Graph()
    stranger = other.placeholder("stranger")
    graph.output(graph.call_function(torch.relu, (stranger,)))
    gm = GraphModule(torch.nn.Module(), Graph())
    gm.graph = graph
    figure = Figure([(gm, "")])
    assert figure.text.splitlines()[0] == "   relu = relu(stranger)"
    assert figure.html("f").count("data-from") == 1


def test_annotations_of_an_edge_that_is_no_more(pt2e):
    import copy

    gm = copy.deepcopy(pt2e("branches")[1][0])
    relu = next(node for node in gm.graph.nodes if node.name == "relu")
    relu.replace_all_uses_with(relu.args[0])
    assert Figure([(gm, "")]).html("f")
