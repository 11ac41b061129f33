"""The checker: right answers pass, each wrong one gets its own message, in both languages."""

from __future__ import annotations

import string
import subprocess
import sys

import alternatives_m00
import pytest
import solutions_m00
import torch
from mistakes_m00 import MISTAKES as WRONG

from common.checks import Checker, NotWrittenYet, Scale, WrongAnswer
from common.checks.compare import find_problem
from common.checks.puzzles import PUZZLES, cases, picture
from common.checks.rows import copied, rows_of
from common.checks.words import MISTAKES, WORDS
from common.viz import draw_stages, show_with
from coursebuild import chinese

LANGUAGES = ("en", "zh-TW")


def answer(puzzle: str, fn, lang: str = "en", seed: int = 0) -> WrongAnswer:
    """The checker's no to a wrong function."""
    with pytest.raises(WrongAnswer) as caught:
        getattr(Checker(lang, seed), puzzle)(fn)
    return caught.value


@pytest.mark.parametrize("puzzle", PUZZLES)
@pytest.mark.parametrize("seed", range(3))
def test_the_solutions_are_right(puzzle, seed, capsys):
    getattr(Checker("en", seed), puzzle)(getattr(solutions_m00, puzzle))
    assert capsys.readouterr().out.startswith(f"✓ {puzzle}: right in all ")


@pytest.mark.parametrize(("puzzle", "fn"), alternatives_m00.RIGHT, ids=lambda value: getattr(value, "__name__", value))
def test_other_right_answers_are_right(puzzle, fn):
    getattr(Checker(), puzzle)(fn)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(("puzzle", "code", "fn"), WRONG, ids=[f"{code}-{fn.__name__}" for _, code, fn in WRONG])
def test_a_mistake_gets_its_message(puzzle, code, fn, lang):
    no = answer(puzzle, fn, lang)
    assert no.code == code, str(no)
    what, hint = MISTAKES[code][lang]
    for words in (what, hint):
        literal = max((part for part, *_ in string.Formatter().parse(words)), key=len)
        assert literal in str(no)
    assert isinstance(no, NotWrittenYet) == (code == "not_written")


def test_each_message_has_a_mistake_that_gets_it():
    assert {code for _, code, _ in WRONG} == set(MISTAKES)


def test_a_whole_message():
    moves_all = next(fn for _, _, fn in WRONG if fn.__name__ == "moves_all_users")
    assert str(answer("insert_module", moves_all)) == (
        "✗ insert_module: not yet. Case 1 of 34 fails; no smaller graph does:\n"
        "\n"
        '    insert_module(gm, "tanh", "probe", Scale(0.5))\n'
        "\n"
        "    x = input\n"
        "    tanh = aten.tanh.default(x)\n"
        "    return tanh\n"
        "\n"
        "wanted:  probe = self.probe(tanh)\n"
        "came:    probe = self.probe(probe)\n"
        "\n"
        "probe takes itself.\n"
        "Hint: All users were rewired to probe, and it was one of them. Which user has to stay as it is?\n"
        "To see it: draw_stages(check.stages)"
    )


@pytest.mark.parametrize("code", ["one_argument", "output_order", "lost_module", "left_impure", "other_values"])
def test_the_graph_shown_is_the_smallest_that_fails(code):
    puzzle, _, fn = next(wrong for wrong in WRONG if wrong[1] == code)
    check = Checker()
    with pytest.raises(WrongAnswer):
        getattr(check, puzzle)(fn)
    sizes = [len(c.before.graph.nodes) for c in cases(puzzle, 0) if find_problem(c, fn, copied(c.before))]
    assert len(check.stages[0][0].graph.nodes) == min(sizes)
    assert [label for _, label in check.stages] == ["before", "yours", "wanted"]


@pytest.mark.parametrize(("puzzle", "code", "fn"), WRONG, ids=[f"{code}-{fn.__name__}" for _, code, fn in WRONG])
def test_what_it_offers_to_draw_can_be_drawn(puzzle, code, fn):
    check, drawn = Checker(), []
    with pytest.raises(WrongAnswer) as caught:
        getattr(check, puzzle)(fn)
    offered = "draw_stages(check.stages)" in str(caught.value)
    assert offered == (code not in ("broken", "not_written"))
    if offered:
        show_with(drawn.append)
        try:
            draw_stages(check.stages)
        finally:
            show_with(None)
        assert "yours" in drawn[0].text


def test_ipython_shows_the_explanation_and_no_stack():
    no = answer("bypass", lambda gm, node_name: None)
    assert no._render_traceback_() == str(no).splitlines()


def test_a_correct_function_does_not_pass_when_it_returns_early():
    """Right on most graphs is not right: a function that skips the last case must fail."""
    last = cases("insert_module", 0)[-1]

    def skips_the_largest(gm, *args):
        if len(gm.graph.nodes) < len(last.before.graph.nodes):
            solutions_m00.insert_module(gm, *args)

    assert answer("insert_module", skips_the_largest).code == "unchanged"


@pytest.mark.parametrize("puzzle", PUZZLES)
@pytest.mark.parametrize("seed", range(2))
def test_the_cases_hold_what_mistakes_trip_over(puzzle, seed):
    tried = cases(puzzle, seed)
    olds = [(case, next(n for n in case.before.graph.nodes if n.name == case.old)) for case in tried]
    takes = [[row for row in rows_of(case.before) if case.old in row.takes] for case, _ in olds]
    assert len(tried) >= 30
    assert max(len(c.before.graph.nodes) for c in tried) >= 3 * min(len(c.before.graph.nodes) for c in tried)
    assert any(len(users) > 1 for users in takes), "several users"
    assert any(row.takes.count(case.old) > 1 for (case, _), rows in zip(olds, takes, strict=True) for row in rows)
    assert any(isinstance(row.args[0], list) for rows in takes for row in rows), "a user that takes a list (cat)"
    assert any(row.op == "output" for rows in takes for row in rows), "output is a user"
    assert any(len(rows_of(case.before)[-1].takes) > 1 for case in tried), "several outputs"
    for case in tried:
        (x,) = [n for n in case.before.graph.nodes if n.op == "placeholder"]
        assert isinstance(x.meta["val"].shape[0], torch.SymInt), "the batch is dynamic"


def test_the_cases_hold_the_traps_of_their_puzzle():
    replaced = cases("replace_by_op", 0)
    calls = [[n.target for n in case.before.graph.nodes if n.op == "call_module"] for case in replaced]
    assert any(len(targets) > len(set(targets)) for targets in calls), "a module that two nodes call"
    assert any(case.old not in targets for case, targets in zip(replaced, calls, strict=True)), "name unlike target"
    bypassed = cases("bypass", 0)
    in_place = [case for case in bypassed if case.old.startswith("relu_")]
    assert in_place, "an op that works in place is taken out"
    assert any("exp" in case.result for case in bypassed), "a chain that nobody takes"
    assert any(name.endswith("_weight") for case in bypassed for name in case.result), "parameters go with their conv"
    kept = [case for case in bypassed if case.old.startswith("conv2d") and case.old in case.result]
    assert any(not any("weight" in name for name in case.result) for case in kept), "another conv needs the parameters"


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_the_wanted_graph_of_each_case_runs_and_differs(puzzle):
    for case in (*cases(puzzle, 0), picture(puzzle)):
        case.wanted.graph.lint()
        assert rows_of(case.wanted) != rows_of(case.before)


def test_both_languages_have_every_word():
    fields = {code: {lang: _fields(*texts) for lang, texts in words.items()} for code, words in MISTAKES.items()}
    for code, texts in fields.items():
        assert tuple(texts) == LANGUAGES
        assert texts["en"] == texts["zh-TW"], code
    assert {key: _fields(text) for key, text in WORDS["en"].items()} == {
        key: _fields(text) for key, text in WORDS["zh-TW"].items()
    }


def _fields(*texts: str) -> set[str]:
    return {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}


def test_english_is_english_and_chinese_is_as_in_taiwan():
    english = [*WORDS["en"].values(), *(text for words in MISTAKES.values() for text in words["en"])]
    assert not [text for text in english if chinese.cjk(text)]
    for text in (text for words in MISTAKES.values() for text in words["zh-TW"]):
        assert chinese.has_han(text)
        plain = text.replace("{", " ").replace("}", " ")
        assert not [*chinese.tight(text), *chinese.half_width(plain), *chinese.forms(text)], text


def test_what_does_not_exist_is_said_with_what_does():
    with pytest.raises(ValueError, match="unknown language 'fr'; known: 'en', 'zh-TW'"):
        Checker("fr")
    with pytest.raises(ValueError, match="unknown puzzle 'insert'; known: 'insert_module', 'replace_by_op'"):
        Checker().picture("insert")


def test_the_picture_can_be_edited_without_harm():
    check = Checker()
    before = check.picture("insert_module")[0][0]
    solutions_m00.insert_module(before, "relu", "probe", Scale(2.0))
    again = check.picture("insert_module")
    assert [label for _, label in again] == ["before", "wanted"]
    assert not [n for n in again[0][0].graph.nodes if n.name == "probe"]
    assert rows_of(before) == rows_of(again[1][0])


def test_it_needs_torch_alone():
    code = "import sys, common.checks; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"torch", "common"} <= set(loaded)
    assert not {"torchao", "graphviz", "IPython", "coursebuild"} & set(loaded)
