"""The checker of the labs: random cases, the reader's function that solves them, and yes or no in words.

- M00, functions that edit a graph. The wanted graph is worked out on plain rows (a node's name, op, target and
  arguments), not with the calls that the reader is to find. It runs, so the reader's graph is compared with it twice:
  row by row, and by its output on random inputs.
- M01, functions that compute. Their results are compared with those of PT2E's observers and ops, bit for bit.
- M02, functions that edit a prepared graph, checked as those of M00 are.
- M03, functions that annotate. The graph is prepared, and what counts is which edges have which observers then.

Importing needs torch alone; the labs from M01 on need torchao when they check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
from torch.fx import GraphModule

from common.checks import annotation_report, number_report
from common.checks.annotations import ANNOTATION_PUZZLES
from common.checks.answers import NotWrittenYet, WrongAnswer, refusal
from common.checks.compare import Problem, find_problem
from common.checks.conversion_words import CONVERSION_MISTAKES
from common.checks.conversions import CONVERSION_PUZZLES, conversion_cases, conversion_picture, refined
from common.checks.graphs import BATCHES
from common.checks.numbers import NUMBER_PUZZLES, example
from common.checks.puzzles import PUZZLES, Case, Scale, cases, picture
from common.checks.rows import copied, rows_of
from common.checks.words import MISTAKES, WORDS, Language

__all__ = ["Checker", "NotWrittenYet", "Scale", "WrongAnswer"]


class Checker:
    """Says whether a reader's function is right, in ``lang`` (``"en"`` or ``"zh-TW"``).

    Each method takes the function, tries it on random graphs (the same ones for the same ``seed``) and prints one line
    when all are right. Otherwise it raises, with the smallest graph that fails.

    ``stages`` then holds that graph before the edit, as the function left it and as it should be, with labels:
    what :func:`common.viz.draw_stages` takes. In the M01 lab, ``args`` holds the arguments instead.

    Raises (each method):
        NotWrittenYet: the function raises NotImplementedError.
        WrongAnswer: with the call, the graph, what was wanted, what came, and a hint.
    """

    def __init__(self, lang: Language = "en", seed: int = 0) -> None:
        if lang not in WORDS:
            raise ValueError(f"Checker: unknown language {lang!r}; known: {', '.join(map(repr, WORDS))}")
        self.lang, self.seed = lang, seed
        self.stages: list[tuple[GraphModule, str]] = []
        self.args: tuple[Any, ...] = ()

    def insert_module(self, fn: Callable[[GraphModule, str, str, nn.Module], Any]) -> None:
        """``fn(gm, node_name, module_name, module)``: call the module on the node; all its other users take that."""
        self._check("insert_module", fn)

    def replace_by_op(self, fn: Callable[..., Any]) -> None:
        """``fn(gm, node_name, op, *extra)``: a call_module node becomes ``op(its input, *extra)``."""
        self._check("replace_by_op", fn)

    def multiply_by(self, fn: Callable[[GraphModule, str, str, torch.Tensor], Any]) -> None:
        """``fn(gm, node_name, buffer_name, tensor)``: the node's users get it times a stored ``[4, 1, 1]`` tensor."""
        self._check("multiply_by", fn)

    def bypass(self, fn: Callable[[GraphModule, str], list[str]]) -> None:
        """``fn(gm, node_name)``: users take the node's first input; returns the names of all nodes that went."""
        self._check("bypass", fn)

    def dequantize(self, fn: Callable[[torch.Tensor, float, int], torch.Tensor]) -> None:
        """``fn(q, scale, zero_point)``: 8-bit integers back to float32."""
        self._check_numbers("dequantize", fn)

    def quantize(self, fn: Callable[[torch.Tensor, float, int, int, int, torch.dtype], torch.Tensor]) -> None:
        """``fn(x, scale, zero_point, qmin, qmax, dtype)``: float32 values to integers."""
        self._check_numbers("quantize", fn)

    def qparams(self, fn: Callable[..., tuple[torch.Tensor, torch.Tensor]]) -> None:
        """``fn(lo, hi, qmin, qmax, symmetric)``: the scale and the zero point for a range, both of the shape of lo."""
        self._check_numbers("qparams", fn)

    def quantize_weight(self, fn: Callable[[torch.Tensor, int, int, int], tuple[torch.Tensor, torch.Tensor]]) -> None:
        """``fn(weight, axis, qmin, qmax)``: symmetric, one scale for each index of dimension ``axis``; (q, scale)."""
        self._check_numbers("quantize_weight", fn)

    def convert_activation(self, fn: Callable[[GraphModule, str], Any]) -> None:
        """``fn(gm, node_name)``: quantize and dequantize, per tensor, in place of the observer that the node calls."""
        self._check("convert_activation", fn)

    def convert_weight(self, fn: Callable[[GraphModule, str], Any]) -> None:
        """``fn(gm, node_name)``: int8 weight, scales and zero points as buffers, and a dequantize, per channel."""
        self._check("convert_weight", fn)

    def convert(self, fn: Callable[[GraphModule], Any]) -> None:
        """``fn(gm)``: both, for all observers of a graph."""
        self._check("convert", fn)

    def annotate_conv(self, fn: Callable[..., Any]) -> None:
        """``fn(gm, act, weight)``: each conv2d gets ``act`` for its input and ``weight`` for its weight."""
        self._check_annotations("annotate_conv", fn)

    def annotate_add_relu(self, fn: Callable[..., Any]) -> None:
        """``fn(gm, act)``: the inputs of each add, and its output behind the relu that is its only user, if any."""
        self._check_annotations("annotate_add_relu", fn)

    def annotate_cat(self, fn: Callable[..., Any]) -> None:
        """``fn(gm, act)``: the inputs and the output of each cat share one observer."""
        self._check_annotations("annotate_cat", fn)

    def example(self, puzzle: str) -> tuple[list[list[str]], list[str]]:
        """Calls of a function that computes, and their results: (rows, headers) for :func:`common.viz.table`.

        Raises:
            ValueError: no such puzzle; the message lists the known ones.
        """
        if puzzle not in NUMBER_PUZZLES:
            raise ValueError(
                f"Checker.example: unknown puzzle {puzzle!r}; known: {', '.join(map(repr, NUMBER_PUZZLES))}"
            )
        return example(puzzle)

    def picture(self, puzzle: str) -> list[tuple[GraphModule, str]]:
        """A graph before the edit and as wanted, with labels, for :func:`common.viz.draw_stages`.

        Raises:
            ValueError: no such puzzle; the message lists the known ones.
        """
        if puzzle in ANNOTATION_PUZZLES:
            return annotation_report.picture(puzzle, self.lang)
        if puzzle not in PUZZLES and puzzle not in CONVERSION_PUZZLES:
            known = ", ".join(map(repr, (*PUZZLES, *CONVERSION_PUZZLES, *ANNOTATION_PUZZLES)))
            raise ValueError(f"Checker.picture: unknown puzzle {puzzle!r}; known: {known}")
        case, words = picture(puzzle) if puzzle in PUZZLES else conversion_picture(puzzle), WORDS[self.lang]
        return [(case.before, words["before"]), (case.wanted, words["target"])]

    def _check_numbers(self, name: str, fn: Callable[..., Any]) -> None:
        found = number_report.check(name, fn, self.lang, self.seed)
        if isinstance(found, str):
            print(found)
        else:
            self.args, no = found
            raise no

    def _check_annotations(self, name: str, fn: Callable[..., Any]) -> None:
        found = annotation_report.check(name, fn, self.lang, self.seed)
        if isinstance(found, str):
            print(found)
        else:
            self.stages, no = found
            raise no

    def _check(self, name: str, fn: Callable[..., Any]) -> None:
        tried = cases(name, self.seed) if name in PUZZLES else conversion_cases(name, self.seed)
        words = WORDS[self.lang]
        for number, case in enumerate(tried, 1):
            gm = copied(case.before)
            problem = find_problem(case, fn, gm)
            if problem:
                problem = refined(name, problem, gm) if name in CONVERSION_PUZZLES else problem
                self.stages = [(case.before, words["before"]), (gm, words["yours"]), (case.wanted, words["target"])]
                raise self._no(name, case, problem, number=number, total=len(tried))
        sizes = [len(case.before.graph.nodes) for case in tried]
        batches = words["and"].join(map(str, BATCHES))
        print(words["yes"].format(name=name, total=len(tried), least=min(sizes), most=max(sizes), batches=batches))

    def _no(self, name: str, case: Case, problem: Problem, **count: int) -> WrongAnswer:
        words = WORDS[self.lang]
        own = CONVERSION_MISTAKES if name in CONVERSION_PUZZLES else {}
        texts = (own.get(problem.code) or MISTAKES[problem.code])[self.lang]
        what, hint = (text.format(name=name, **problem.fields) for text in texts)
        hint = words["hint"].format(hint=hint)
        if problem.code == "not_written":
            return refusal(problem.code, f"✗ {what}\n{hint}")
        graph = [f"    {row}" for row in rows_of(case.before) if row.op != "get_attr" and row.name != "_guards_fn"]
        differ = [words["wanted"] + row for row in problem.wanted] + [words["came"] + row for row in problem.came]
        head, call = [words["no"].format(name=name, **count)], [f"    {case.call(name)}"]
        look = [words["look"]] if problem.code != "broken" else []  # a graph with a stranger's nodes can't be drawn
        blocks = (head, call, graph, differ, [what, hint, *look])
        return refusal(problem.code, "\n\n".join("\n".join(block) for block in blocks if block))
