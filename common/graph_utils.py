"""Read a torch.fx graph as plain rows of text."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule


def short(target: Any) -> str:
    """The short name of what a node calls.

    ``aten.conv2d.default`` → ``conv2d``, ``aten.mean.dim`` → ``mean``: namespace and overload are left out. Python
    functions give their ``__name__``; anything else (the target of a placeholder, a module path) its ``str``.
    """
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.name.partition("::")[2]
    return getattr(target, "__name__", None) or str(target)


def node_rows(gm: GraphModule, show_args: bool = True) -> list[list[Any]]:
    """One row a node, in graph order: ``[#, op, name, target]`` and, with ``show_args``, ``args`` as a fifth column.

    ``#`` is an int counted from 0, every other cell a string. ``target`` is short for operations (``conv2d``) and
    written out for the rest (``conv.weight``).
    """
    rows: list[list[Any]] = []
    for index, node in enumerate(gm.graph.nodes):
        target = short(node.target) if node.op == "call_function" else str(node.target)
        row = [index, node.op, node.name, target]
        rows.append([*row, str(node.args)] if show_args else row)
    return rows
