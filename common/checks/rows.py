"""A graph as plain rows, which can be compared, changed as data, and made into a graph again."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.nn as nn
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_aggregate, map_arg


class Ref(str):
    """The name of a node, where it stands in another one's arguments."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Row:
    """One node as data; arguments hold a :class:`Ref` where the graph has a node."""

    name: str
    op: str
    target: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> list[Any]:
        """All that stands in the arguments, out of its lists and tuples."""
        found: list[Any] = []
        map_aggregate((self.args, self.kwargs), found.append)
        return found

    @property
    def takes(self) -> list[str]:
        """The names of the nodes it takes, in order; one that is taken twice stands here twice."""
        return [value for value in self.values if isinstance(value, Ref)]

    def retaking(self, names: dict[str, str]) -> Row:
        """The same row, taking other nodes: ``names`` is old name → new name."""

        def name(value: Any) -> Any:
            return Ref(names.get(value, value)) if isinstance(value, Ref) else value

        args, kwargs = map_aggregate((self.args, self.kwargs), name)
        return replace(self, args=args, kwargs=kwargs)

    def __str__(self) -> str:
        inputs = ", ".join([*map(shown, self.args), *(f"{key}={shown(value)}" for key, value in self.kwargs.items())])
        match self.op:
            case "output":
                return f"return {inputs.strip('(),')}"
            case "placeholder":
                return f"{self.name} = input"
            case "get_attr":
                return f"{self.name} = self.{self.target}"
            case "call_module":
                return f"{self.name} = self.{self.target}({inputs})"
        return f"{self.name} = {self.target}({inputs})"


def shown(value: Any) -> str:
    """An argument as the messages write it."""
    if isinstance(value, torch.Tensor):
        return f"tensor{list(value.shape)}"
    if isinstance(value, nn.Module | torch._ops.OpOverload):
        return str(value)
    return repr(value) if isinstance(value, Ref) or not isinstance(value, str) else f'"{value}"'


def rows_of(gm: GraphModule) -> list[Row]:
    """The graph of ``gm`` as rows, in order."""
    return [Row(n.name, n.op, n.target, *map_arg((n.args, n.kwargs), lambda a: Ref(a.name))) for n in gm.graph.nodes]


def copied(gm: GraphModule) -> GraphModule:
    """A deep copy, without the warnings of torch's own pytree code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return copy.deepcopy(gm)


def built(gm: GraphModule, rows: Iterable[Row]) -> GraphModule:
    """A copy of ``gm`` with the graph that ``rows`` describe. What they call or read may still be missing in it."""
    new, graph = copied(gm), Graph()
    meta = {node.name: node.meta for node in gm.graph.nodes}
    nodes: dict[str, Node] = {}
    for row in rows:
        args, kwargs = map_aggregate((row.args, row.kwargs), lambda a: nodes[a] if isinstance(a, Ref) else a)
        node = graph.create_node(row.op, row.target, args, kwargs, name=row.name)
        node.meta = dict(meta.get(row.name, {}))
        nodes[row.name] = node
    graph.set_codegen(new.graph._codegen)  # how forward packs inputs and outputs; it can be set, but not got, in public
    new.graph = graph
    return new


def put_after(rows: list[Row], name: str, *new: Row) -> list[Row]:
    """``new`` behind the row ``name``; whoever else took that row takes the last one of ``new``."""
    moved = [row.retaking({name: new[-1].name}) for row in rows]
    place = [row.name for row in rows].index(name) + 1
    return [*moved[:place], *new, *moved[place:]]


def lookup(module: nn.Module, target: str) -> Any:
    """The attribute under a dotted name, or None."""
    found: Any = module
    for name in target.split("."):
        found = getattr(found, name, None)
    return found
