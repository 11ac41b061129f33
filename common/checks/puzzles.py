"""The puzzles: random calls of the reader's function, and what each should make of its graph."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn as nn
from torch.fx import GraphModule, Node

from common.checks.graphs import CHANNELS, export, random_graphs
from common.checks.rows import Ref, Row, built, put_after, rows_of, shown

PER_GRAPH = 3  # cases made from one random graph
aten = torch.ops.aten


class Scale(nn.Module):
    """Multiply by ``k``: something to call from a graph. Any shape in, the same shape out."""

    def __init__(self, k: float) -> None:
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.k

    def __repr__(self) -> str:
        return f"Scale({self.k})"


@dataclass(frozen=True)
class Case:
    """One call of the reader's function."""

    before: GraphModule
    args: tuple[Any, ...]  # what the function gets after gm
    wanted: GraphModule
    old: str  # the node that loses its users
    new: str  # the node that they take in `wanted`
    result: list[str] | None = None  # what the function must return, if that matters

    def call(self, name: str) -> str:
        """The call as one would type it."""
        return f"{name}({', '.join(['gm', *map(shown, self.args)])})"


def insert_module(gm: GraphModule, node: str, rng: random.Random) -> Case:
    """Behind ``node``, a call of a new module."""
    name, module = rng.choice(("probe", "tap", "taps.first")), Scale(rng.choice((2.0, 3.0, 0.5)))
    call = Row(name.replace(".", "_"), "call_module", name, (Ref(node),))
    wanted = _with_module(built(gm, put_after(rows_of(gm), node, call)), name, module)
    return Case(gm, (node, name, module), wanted, node, call.name)


def replace_by_op(gm: GraphModule, node: str, rng: random.Random) -> Case:
    """A module behind ``node`` becomes an operation. Sometimes a second node calls the module, and keeps it."""
    name = rng.choice(("scale", "blocks.scale"))  # a node's name has no dots: the second one differs from the target
    old = Row(name.replace(".", "_"), "call_module", name, (Ref(node),))
    rows = put_after(rows_of(gm), node, old)
    shared = rng.random() < 0.3
    if shared:
        rows = put_after(rows, old.name, Row(f"{old.name}_again", "call_module", name, (Ref(old.name),)))
    before = _with_module(built(gm, rows), name, Scale(2.0))
    op, *extra = rng.choice(
        ((aten.mul.Tensor, 2.0), (aten.add.Tensor, 0.5), (aten.clamp.default, 0.0, 1.5), (aten.neg.default,))
    )
    new = Row(f"new_{op._opname}", "call_function", op, (*old.args, *extra))
    wanted = built(before, [new if row.name == old.name else row.retaking({old.name: new.name}) for row in rows])
    if not shared:
        wanted.delete_submodule(name)
    return Case(before, (old.name, op, *extra), wanted, old.name, new.name)


def multiply_by(gm: GraphModule, node: str, rng: random.Random) -> Case:
    """Behind ``node``, a multiplication by a tensor ``[CHANNELS, 1, 1]`` that is stored as a buffer."""
    name = rng.choice(("gain", "factors"))
    tensor = torch.tensor([rng.choice((0.5, 1.5, 2.0, 3.0)) for _ in range(CHANNELS)]).reshape(CHANNELS, 1, 1)
    product = Row("new_mul", "call_function", aten.mul.Tensor, (Ref(node), Ref(name)))
    wanted = built(gm, put_after(rows_of(gm), node, Row(name, "get_attr", name), product))
    wanted.register_buffer(name, tensor)
    return Case(gm, (node, name, tensor), wanted, node, product.name)


def bypass(gm: GraphModule, node: str, rng: random.Random) -> Case:
    """Without ``node``: its users take its first input, and all that has no use after that goes.

    Often there is a chain of two nodes, besides, that nobody takes: the first is dead only after the second went.
    """
    rows = rows_of(gm)
    if rng.random() < 0.6:
        start = rng.choice(operations(gm)).name
        place = [row.name for row in rows].index(start) + 1
        rows[place:place] = [
            Row("exp", "call_function", aten.exp.default, (Ref(start),)),
            Row("neg", "call_function", aten.neg.default, (Ref("exp"),)),
        ]
    before = built(gm, rows)
    kept = {n.name for n in before.graph.nodes if n.is_impure()} - {node}
    source = next(row for row in rows if row.name == node).args[0]
    alive: list[Row] = []
    for row in reversed([row.retaking({node: source}) for row in rows if row.name != node]):
        if row.name in kept or any(row.name in user.takes for user in alive):
            alive.insert(0, row)
    gone = [row.name for row in rows if row.name not in {row.name for row in alive}]
    return Case(before, (node,), built(before, alive), node, source, gone)


def operations(gm: GraphModule) -> list[Node]:
    """The nodes that compute something."""
    return [node for node in gm.graph.nodes if node.op == "call_function"]


def _with_module(gm: GraphModule, name: str, module: nn.Module) -> GraphModule:
    gm.add_submodule(name, module)
    gm.recompile()
    return gm


def _has_channels(node: Node) -> bool:
    return node.meta["val"].shape[1] == CHANNELS


def _is_like_its_input(node: Node) -> bool:
    first = node.args[0]
    return isinstance(first, Node) and first.meta["val"].shape == node.meta["val"].shape


@dataclass(frozen=True)
class Puzzle:
    """How its cases are made, which nodes they can be about, and what its picture shows."""

    make: Callable[[GraphModule, str, random.Random], Case]
    fits: Callable[[Node], bool]
    pictured: str
    picture_seed: int


PUZZLES = {
    "insert_module": Puzzle(insert_module, lambda node: True, "relu", 2),
    "replace_by_op": Puzzle(replace_by_op, lambda node: True, "relu", 5),
    "multiply_by": Puzzle(multiply_by, _has_channels, "relu", 1),
    "bypass": Puzzle(bypass, _is_like_its_input, "conv2d_1", 1),
}


@functools.lru_cache(maxsize=8)
def cases(name: str, seed: int) -> tuple[Case, ...]:
    """The random cases of a puzzle, smallest graph first. They are shared: copy a graph before editing it."""
    puzzle, rng = PUZZLES[name], random.Random(f"{name} {seed}")
    made = []
    for gm in random_graphs(seed):
        taken = [name for row in rows_of(gm) for name in row.takes]
        nodes = [node.name for node in operations(gm) if puzzle.fits(node)]
        rng.shuffle(nodes)
        nodes.sort(key=taken.count, reverse=True)
        most_taken, others = nodes[:1], nodes[1:]
        chosen = most_taken + rng.sample(others, min(PER_GRAPH - 1, len(others)))
        made += [puzzle.make(gm, node, rng) for node in chosen]
    return tuple(sorted(made, key=lambda case: len(case.before.graph.nodes)))


def picture(name: str) -> Case:
    """The case that the lab draws: conv → relu, and a second conv whose output is added to the relu's."""
    puzzle = PUZZLES[name]
    gm = export([("conv", 0, 0, 0), ("relu", 1, 1, 0), ("conv", 2, 2, 1), ("add", 3, 2, 0)])
    return puzzle.make(gm, puzzle.pictured, random.Random(puzzle.picture_seed))
