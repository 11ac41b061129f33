"""What is wrong with a graph that the reader's function edited: row by row, in its state, and in its output."""

from __future__ import annotations

import contextlib
import copy
import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn as nn
from torch.fx import GraphModule

from common.checks.answers import first_line
from common.checks.graphs import BATCHES, inputs
from common.checks.puzzles import Case
from common.checks.rows import Row, lookup, rows_of

Found = tuple[str, dict[str, str]]  # the code of a mistake, and the fields of its text

RAISED = {"Tried to erase Node": "erased_early", "has no attribute `": "no_module"}  # in the text of an exception
# Mistakes that explain why the reader's own function raised; beside the others an exception is news of its own.
EXPLAINS = {"self_loop", "after_output", "too_early", "tensor_in_args", "no_module", "no_tensor", "lost_module"}


@dataclass(frozen=True)
class Problem:
    """What is wrong in one case. ``wanted`` and ``came`` are the rows that differ, as text."""

    code: str
    fields: dict[str, str]
    wanted: list[str]
    came: list[str]


def find_problem(case: Case, fn: Callable[..., Any], gm: GraphModule) -> Problem | None:
    """Let ``fn`` edit ``gm``, a copy of the case's graph; None if it is right afterwards."""
    error, returned = None, None
    args = [copy.deepcopy(arg) if isinstance(arg, nn.Module) else arg for arg in case.args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # FX warns when a target is missing; the checker says it in better words
        try:
            returned = fn(gm, *args)
        except NotImplementedError:
            return Problem("not_written", {}, [], [])
        except Exception as e:  # whatever the reader's code raises is an answer to explain
            error = first_line(e)
    came = rows_of(gm)
    if came == rows_of(case.before):
        other = isinstance(returned, GraphModule) and returned is not gm
        found: Found | None = ("new_graph" if other else "unchanged", {})
    else:
        came = _named_as_wanted(case, came)
        found = next(_wrong_rows(case, came), None) or next(_wrong_state(case, came, gm), None)
    if error and not (found and found[0] in EXPLAINS):
        code = next((code for words, code in RAISED.items() if words in error), "raised")
        found = (code, {"error": error, "missing": error})
    found = found or _wrong_run(case, gm, returned)
    if not found:
        return None
    wanted_lines, came_lines = [str(row) for row in rows_of(case.wanted)], [str(row) for row in came]
    wanted = [line for line in wanted_lines if line not in came_lines]
    return Problem(*found, wanted, [line for line in came_lines if line not in wanted_lines])


def _named_as_wanted(case: Case, came: list[Row]) -> list[Row]:
    """``came`` with our names for the reader's new nodes: same op and target, and of several the one most taken."""
    old = {row.name for row in rows_of(case.before)}
    takes = [name for row in came for name in row.takes]
    free = sorted((row for row in came if row.name not in old), key=lambda row: -takes.count(row.name))
    new = [row for row in rows_of(case.wanted) if row.name not in old]
    names: dict[str, str] = {}
    for exact in (True, False):  # first those that take the same, then what is left
        for row in new:
            match = next((f for f in free if row.name not in names.values() and _alike(f, row, names, exact)), None)
            if match:
                free.remove(match)
                names[match.name] = row.name
    taken = {row.name for row in new}
    names |= {row.name: f"{row.name}_extra" for row in free if row.name in taken}
    return [replace(row.retaking(names), name=names.get(row.name, row.name)) for row in came]


def _alike(came: Row, wanted: Row, names: dict[str, str], exact: bool) -> bool:
    same = (came.op, came.target) == (wanted.op, wanted.target)
    if not (same and exact):
        return same
    if any(isinstance(value, torch.Tensor) for value in came.values):
        return False
    came = came.retaking(names)
    return (came.args, came.kwargs) == (wanted.args, wanted.kwargs)


def _wrong_rows(case: Case, came: list[Row]) -> Iterator[Found]:
    """What is wrong with the nodes, the most telling first."""
    before = {row.name: row for row in rows_of(case.before)}
    wanted = {row.name: row for row in rows_of(case.wanted)}
    rows = {row.name: row for row in came}
    impure = {node.name for node in case.before.graph.nodes if node.is_impure()}

    for row in came:
        if any(isinstance(value, torch.Tensor) for value in row.values):
            yield "tensor_in_args", {"node": row.name}
        if row.name in row.takes:
            yield "self_loop", {"node": row.name}
    if came[-1].op != "output":
        yield "after_output", {"node": came[-1].name}
    for i, row in enumerate(came):
        for name in row.takes:
            if name not in list(rows)[:i]:
                yield "too_early", {"user": row.name, "node": name}

    for name, row in before.items():
        if name in rows and (row.op, row.target) != (rows[name].op, rows[name].target):
            yield "retargeted", {"node": name}
        if name in wanted and name not in rows:
            yield "lost_impure" if name in impure else "lost", {"node": name}
    for name, row in wanted.items():
        if name not in rows:
            yield "missing", {"line": str(row)}

    def times(table: dict[str, Row], user: str) -> int:
        return table[user].takes.count(case.old) if user in table else 0

    stale = [name for name in before if times(rows, name) > times(wanted, name)]
    moved = [name for name in before if times(rows, name) < times(before, name)]
    if stale:
        code = "one_argument" if set(stale) & set(moved) else "some_users" if moved else "not_wired"
        yield code, {"users": ", ".join(stale), "old": case.old, "new": case.new}

    for name, row in rows.items():
        if name not in wanted:
            code = "extra" if name not in before else "left_impure" if name in impure else "left"
            yield code, {"node": name, "line": str(row)}
        elif (row.args, row.kwargs) != (wanted[name].args, wanted[name].kwargs):
            reordered = row.op == "output" and sorted(row.takes) == sorted(wanted[name].takes)
            yield ("wrong_args" if name not in before else "output_order" if reordered else "changed"), {"node": name}


def _wrong_state(case: Case, came: list[Row], gm: GraphModule) -> Iterator[Found]:
    """What is wrong with the modules and tensors that the nodes use."""
    for row in came:
        if row.op in ("call_module", "get_attr") and lookup(gm, row.target) is None:
            was_there = lookup(case.before, row.target) is not None
            code = "no_tensor" if row.op == "get_attr" else "lost_module" if was_there else "no_module"
            yield code, {"target": row.target, "node": row.name, "missing": row.target}
    wanted = dict(case.wanted.named_modules())
    for name, module in gm.named_modules():
        if name not in wanted and type(module) is not nn.Module:  # a plain Module only holds others
            yield "left_module", {"target": name}
    saved, buffers = gm.state_dict(), dict(gm.named_buffers())
    for name, tensor in case.wanted.state_dict().items():
        if name not in case.before.state_dict() and not (name in buffers and name in saved):
            yield "no_buffer", {"target": name}
        if name in saved and not (saved[name].dtype == tensor.dtype and torch.equal(saved[name], tensor)):
            yield "other_values", {"target": name}


def _wrong_run(case: Case, gm: GraphModule, returned: Any) -> Found | None:
    """What is wrong with a graph that looks right: its nodes' graph, the code of forward, the result, the output."""
    outputs = [_outputs(case.wanted, batch) for batch in BATCHES]
    try:
        gm.graph.lint()
        if gm.code != gm.graph.python_code("self").src:
            return "stale", {}
        if case.result is not None and returned != case.result:
            return "returned", {"wanted": repr(case.result), "came": repr(returned)}
        for batch, wanted in zip(BATCHES, outputs, strict=True):
            with contextlib.redirect_stderr(io.StringIO()):  # FX prints the traceback of generated code
                came = _outputs(gm, batch)
            if not all(torch.allclose(a, b) for a, b in zip(came, wanted, strict=True)):
                return "other_output", {"batch": str(batch)}
    except Exception as e:  # lint and forward can raise anything; the reader gets the first line
        return "broken", {"error": first_line(e)}
    return None


def _outputs(gm: GraphModule, batch: int) -> tuple[torch.Tensor, ...]:
    with torch.no_grad():
        out = gm(inputs(batch))
    return out if isinstance(out, tuple) else (out,)
