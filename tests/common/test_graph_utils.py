"""Graphs as rows of text."""

from __future__ import annotations

import operator

import torch

from common.graph_utils import node_rows, short


def test_short_leaves_out_namespace_and_overload():
    aten = torch.ops.aten
    assert [short(t) for t in (aten.conv2d.default, aten.mean.dim, aten.add_.Tensor)] == ["conv2d", "mean", "add_"]
    assert [short(operator.getitem), short("conv.weight"), short(torch.relu)] == ["getitem", "conv.weight", "relu"]


def test_node_rows_are_those_of_the_chapter_on_export(program):
    rows = node_rows(program.module(), show_args=False)
    assert rows == [
        [0, "get_attr", "conv_weight", "conv.weight"],
        [1, "get_attr", "bn_weight", "bn.weight"],
        [2, "get_attr", "bn_bias", "bn.bias"],
        [3, "get_attr", "bn_running_mean", "bn.running_mean"],
        [4, "get_attr", "bn_running_var", "bn.running_var"],
        [5, "get_attr", "bn_num_batches_tracked", "bn.num_batches_tracked"],
        [6, "placeholder", "x", "x"],
        [7, "call_module", "_guards_fn", "_guards_fn"],
        [8, "call_function", "conv2d", "conv2d"],
        [9, "call_function", "batch_norm", "batch_norm"],
        [10, "call_function", "relu", "relu"],
        [11, "output", "output", "output"],
    ]


def test_node_rows_with_arguments(program):
    rows = {row[2]: row[4] for row in node_rows(program.module())}
    assert rows["x"] == "()"
    assert rows["conv2d"] == "(x, conv_weight, None, [1, 1], [1, 1])"
    assert rows["output"] == "((relu,),)"
