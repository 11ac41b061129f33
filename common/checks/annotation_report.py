"""Yes or no about a function that annotates, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.fx import GraphModule

from common.checks.annotation_mistakes import AnnotationProblem, find_annotation_problem
from common.checks.annotation_words import ANNOTATION_MISTAKES, ANNOTATION_WORDS
from common.checks.annotations import ANNOTATION_PUZZLES, AnnotationCase, annotation_cases, annotation_picture
from common.checks.answers import WrongAnswer, refusal
from common.checks.rows import copied, rows_of
from common.checks.words import WORDS, Language

Stages = list[tuple[GraphModule, str]]


def check(name: str, fn: Callable[..., Any], lang: Language, seed: int) -> str | tuple[Stages, WrongAnswer]:
    """The line that says yes, or the stages of the smallest graph that fails, and the exception that says no."""
    cases, words = annotation_cases(name, seed), ANNOTATION_WORDS[lang]
    for number, case in enumerate(cases, 1):
        problem = find_annotation_problem(name, case, fn, copied(case.before))
        if problem:
            stages = [(case.before, WORDS[lang]["before"]), (case.wanted, words["prepared"])]
            if problem.prepared:
                stages.insert(1, (problem.prepared, words["yours"]))
            return stages, refusal(problem.code, _text(name, case, problem, lang, number, len(cases)))
    sizes = [len(case.before.graph.nodes) for case in cases]
    return words["yes"].format(name=name, total=len(cases), least=min(sizes), most=max(sizes))


def picture(name: str, lang: Language) -> Stages:
    """A graph before the annotation and as wanted, prepared, with labels."""
    case = annotation_picture(name)
    return [(case.before, WORDS[lang]["before"]), (case.wanted, ANNOTATION_WORDS[lang]["prepared"])]


def _text(name: str, case: AnnotationCase, problem: AnnotationProblem, lang: Language, number: int, total: int) -> str:
    words = ANNOTATION_WORDS[lang]
    what, hint = (text.format(name=name, **problem.fields) for text in ANNOTATION_MISTAKES[problem.code][lang])
    hint = WORDS[lang]["hint"].format(hint=hint)
    if problem.code == "not_written":
        return f"✗ {what}\n{hint}"
    graph = [f"    {row}" for row in rows_of(case.before) if row.op != "get_attr" and row.name != "_guards_fn"]
    none = words["none"]
    differ = [
        words["line"].format(edge=" → ".join(edge), wanted=wanted or none, came=problem.came[edge] or none)
        for edge, wanted in problem.wanted.items()
    ]
    call = f"    {name}({', '.join(('gm', *ANNOTATION_PUZZLES[name].specs))})"
    blocks = ([words["no"].format(name=name, number=number, total=total)], [call], graph, differ)
    return "\n\n".join("\n".join(block) for block in (*blocks, [what, hint, WORDS[lang]["look"]]) if block)
