"""Yes or no about a function that computes, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from common.checks.answers import WrongAnswer, refusal
from common.checks.number_mistakes import NumberProblem, find_number_problem
from common.checks.number_words import NUMBER_MISTAKES, NUMBER_WORDS
from common.checks.numbers import NUMBER_PUZZLES, NumberCase, listed, number_cases
from common.checks.words import WORDS, Language

SHORT = 6  # values of a tensor that a message writes out


def check(name: str, fn: Callable[..., Any], lang: Language, seed: int) -> str | tuple[tuple[Any, ...], WrongAnswer]:
    """The line that says yes, or the arguments of the smallest case that fails, and the exception that says no."""
    cases, words = number_cases(name, seed), NUMBER_WORDS[lang]
    found = find_number_problem(name, cases, fn)
    if found is None:
        sizes = [case.size for case in cases]
        return words["yes"].format(name=name, total=len(cases), least=min(sizes), most=max(sizes))
    index, problem = found
    args = tuple(arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in cases[index].args)
    return args, refusal(problem.code, _text(name, cases[index], problem, lang, index + 1, len(cases)))


def _text(name: str, case: NumberCase, problem: NumberProblem, lang: Language, number: int, total: int) -> str:
    words = NUMBER_WORDS[lang]
    what, hint = (text.format(name=name, **problem.fields) for text in NUMBER_MISTAKES[problem.code][lang])
    hint = WORDS[lang]["hint"].format(hint=hint)
    if problem.code == "not_written":
        return f"✗ {what}\n{hint}"
    parameters = NUMBER_PUZZLES[name].parameters
    tensors = {p: arg for p, arg in zip(parameters, case.args, strict=True) if isinstance(arg, torch.Tensor)}
    call = ", ".join(p if p in tensors else _shown(arg) for p, arg in zip(parameters, case.args, strict=True))
    lines = [f"{name}({call})", *(f"{parameter} = {_shown(tensor)}" for parameter, tensor in tensors.items())]
    blocks = [
        [words["no"].format(name=name, number=number, total=total)],
        [f"    {line}" for line in lines],
        [words["line"].format(place=p, wanted=wanted, came=came) for p, wanted, came in problem.differ],
        [what, hint, words["try"].format(name=name)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _shown(value: Any) -> str:
    """An argument as the messages write it: small tensors value by value, others by dtype and shape."""
    if not isinstance(value, torch.Tensor):
        return listed(value)
    dtype = str(value.dtype).removeprefix("torch.")
    return f"{dtype}{list(value.shape)}" if value.numel() > SHORT else f"tensor({listed(value)}, {dtype})"
