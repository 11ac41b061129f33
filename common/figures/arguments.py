"""What the drawing functions accept, and what they say about anything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule

from common.figures.cells import Cell
from common.figures.words import WORDS


def check_graph(gm: Any, where: str) -> GraphModule:
    """`gm`, if it is a GraphModule. `where` says in the message which argument it was.

    Raises:
        TypeError: it is something else; says what it is and what to do.
    """
    if isinstance(gm, GraphModule):
        return gm
    advice = ""
    if isinstance(gm, ExportedProgram):
        advice = ": use its .module() (parameters are get_attr) or its .graph_module (parameters are placeholders)"
    elif isinstance(gm, Graph):
        advice = ": use the GraphModule that holds it"
    elif isinstance(gm, torch.nn.Module):
        advice = ": export it first, for example torch.export.export(model.eval(), inputs).module()"
    raise TypeError(f"{where} wants a torch.fx.GraphModule, got {type(gm).__name__}{advice}")


def check_stages(stages: Any) -> list[tuple[GraphModule, str]]:
    """`stages` as a list of (graph module, label).

    Raises:
        TypeError: it is no list of such pairs; names the index of the first that is wrong.
        ValueError: it is empty.
    """
    wanted = "draw_stages wants a list of (graph module, label) pairs"
    if isinstance(stages, (GraphModule, str)) or not isinstance(stages, Iterable):
        advice = "; for one graph use draw" if isinstance(stages, GraphModule) else ""
        raise TypeError(f"{wanted}, got {type(stages).__name__}{advice}")
    pairs = list(stages)
    if not pairs:
        raise ValueError(f"{wanted}, got an empty one")
    for index, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            got = f"{len(pair)} items" if isinstance(pair, (tuple, list)) else type(pair).__name__
            raise TypeError(f"{wanted}; stages[{index}] is {got}")
        check_graph(pair[0], f"stages[{index}][0]")
        if not isinstance(pair[1], str):
            raise TypeError(f"{wanted}; the label stages[{index}][1] is {type(pair[1]).__name__}, not str")
    return [(gm, label) for gm, label in pairs]


def check_per_row(per_row: Any) -> int | None:
    """`per_row`, if it is None or at least 1. Raises ValueError."""
    if per_row is not None and (isinstance(per_row, bool) or not isinstance(per_row, int) or per_row < 1):
        raise ValueError(f"per_row must be a whole number of at least 1, or None for as many as fit; got {per_row!r}")
    return per_row


def check_language(lang: Any) -> str | None:
    """`lang`, if it is None or known. Raises ValueError."""
    if lang is not None and lang not in WORDS:
        raise ValueError(f"unknown language {lang!r}; known languages: {', '.join(map(repr, WORDS))}")
    return lang


def check_highlight(highlight: Any, stages: list[list[Cell]]) -> list[str]:
    """Names to highlight, in the order given. Raises ValueError for a name that no stage draws."""
    names = [highlight] if isinstance(highlight, str) else [str(name) for name in highlight]
    drawn = dict.fromkeys(cell.name for cells in stages for cell in cells)
    for name in names:
        if name not in drawn:
            raise ValueError(f"highlight: no node {name!r} is drawn; drawn are {', '.join(drawn)}")
    return list(dict.fromkeys(names))
