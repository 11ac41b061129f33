"""What wrong arguments are told."""

from __future__ import annotations

import pytest
import torch

from common.models import get_model
from common.viz import draw, draw_stages


def test_draw_wants_a_graph_module(program):
    with pytest.raises(TypeError, match=r"draw wants a torch\.fx\.GraphModule, got ExportedProgram: use its \.module"):
        draw(program)
    with pytest.raises(TypeError, match=r"got ExportedProgram.* or its \.graph_module"):
        draw(program)
    with pytest.raises(TypeError, match="got ConvReLU: export it first, for example torch"):
        draw(get_model("conv_relu"))
    with pytest.raises(TypeError, match="got Graph: use the GraphModule that holds it"):
        draw(program.graph)
    with pytest.raises(TypeError, match=r"got str$"):
        draw("conv2d")
    with pytest.raises(TypeError, match=r"like wants a .* got Tensor"):
        draw(program.module(), like=[torch.ones(1)])


def test_draw_stages_wants_pairs(program):
    gm = program.module()
    wanted = r"draw_stages wants a list of \(graph module, label\) pairs"
    with pytest.raises(TypeError, match=wanted + "; stages\\[1\\] is GraphModule"):
        draw_stages([(gm, "a"), gm])
    with pytest.raises(TypeError, match=wanted + "; stages\\[0\\] is 3 items"):
        draw_stages([(gm, "a", "b")])
    with pytest.raises(TypeError, match=wanted + ", got GraphModule; for one graph use draw"):
        draw_stages(gm)
    with pytest.raises(TypeError, match=r"stages\[1\]\[0\] wants a torch.fx.GraphModule, got ExportedProgram"):
        draw_stages([(gm, "a"), (program, "b")])
    with pytest.raises(TypeError, match=r"the label stages\[0\]\[1\] is int, not str"):
        draw_stages([(gm, 1)])
    with pytest.raises(ValueError, match="got an empty one"):
        draw_stages([])


@pytest.mark.parametrize("per_row", [0, -1, 1.5, "2", True])
def test_per_row_is_a_positive_whole_number(program, per_row):
    with pytest.raises(ValueError, match="per_row must be a whole number of at least 1"):
        draw_stages([(program.module(), "a")], per_row=per_row)


def test_an_unknown_language_lists_the_known_ones(program):
    with pytest.raises(ValueError, match="unknown language 'zh'; known languages: 'en', 'zh-TW'"):
        draw(program.module(), lang="zh")


def test_highlight_names_a_drawn_node(program, shown):
    with pytest.raises(ValueError, match="highlight: no node 'scale' is drawn; drawn are x, conv2d, batch_norm"):
        draw(program.module(), highlight=["scale"])
    draw(program.module(), highlight="relu")
    assert shown[0].html("f").count("fx-halo") == 1
