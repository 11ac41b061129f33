"""The checker: right answers pass, each wrong one gets its own message, in both languages."""

from __future__ import annotations

import string
import subprocess
import sys

import alternatives_m00
import mistakes_m01
import mistakes_m03
import pytest
import solutions_m00
import solutions_m01
import torch
from known import LABS, LANGUAGES
from mistakes_m00 import MISTAKES as WRONG

from common.checks import Checker, NotWrittenYet, Scale, WrongAnswer
from common.checks.annotations import ADD, CAT, RELUS, annotation_cases, is_fused
from common.checks.compare import find_problem
from common.checks.conversions import conversion_cases, is_per_channel, observers
from common.checks.graphs import inputs
from common.checks.numbers import NUMBER_PUZZLES, number_cases
from common.checks.puzzles import PUZZLES, cases, picture
from common.checks.rows import copied, rows_of
from common.checks.words import MISTAKES
from common.pt2e import quiet
from common.viz import draw_stages, show_with
from coursebuild import chinese

quiet()
EVERY = [(lab, *mistake) for lab in LABS for mistake in lab.mistakes]
each_lab = pytest.mark.parametrize("lab", LABS, ids=[lab.stem for lab in LABS])


def answer(puzzle: str, fn, lang: str = "en", seed: int = 0) -> WrongAnswer:
    """The checker's no to a wrong function."""
    with pytest.raises(WrongAnswer) as caught:
        getattr(Checker(lang, seed), puzzle)(fn)
    return caught.value


@pytest.mark.parametrize(
    ("lab", "puzzle"), [pytest.param(lab, puzzle, id=puzzle) for lab in LABS for puzzle in lab.puzzles]
)
@pytest.mark.parametrize("seed", range(3))
def test_the_solutions_are_right(lab, puzzle, seed, capsys):
    getattr(Checker("en", seed), puzzle)(getattr(lab.solutions, puzzle))
    assert capsys.readouterr().out.startswith(f"✓ {puzzle}: right in all ")


@pytest.mark.parametrize(("puzzle", "fn"), alternatives_m00.RIGHT, ids=lambda value: getattr(value, "__name__", value))
def test_other_right_answers_are_right(puzzle, fn):
    getattr(Checker(), puzzle)(fn)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(
    ("lab", "puzzle", "code", "fn"), EVERY, ids=[f"{lab.stem}-{code}-{fn.__name__}" for lab, _, code, fn in EVERY]
)
def test_a_mistake_gets_its_message(lab, puzzle, code, fn, lang):
    no = answer(puzzle, fn, lang)
    assert no.code == code, str(no)
    what, hint = lab.messages.get(code, MISTAKES.get(code))[lang]
    for words in (what, hint):
        literal = max((part for part, *_ in string.Formatter().parse(words)), key=len)
        assert literal in str(no)
    assert isinstance(no, NotWrittenYet) == (code == "not_written")


@each_lab
def test_each_message_has_a_mistake_that_gets_it(lab):
    more = MISTAKES if lab.stem == "lab_m02" else {}
    assert set(lab.messages) <= {code for _, code, _ in lab.mistakes} <= {*lab.messages, *more}


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


@each_lab
def test_both_languages_have_every_word(lab):
    for code, words in lab.messages.items():
        assert set(words) == set(LANGUAGES)
        assert _fields(*words["en"]) == _fields(*words["zh-TW"]), code
    en, zh = ({key: _fields(text) for key, text in lab.words[lang].items()} for lang in ("en", "zh-TW"))
    assert en == zh


def _fields(*texts: str) -> set[str]:
    return {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}


@each_lab
def test_english_is_english_and_chinese_is_as_in_taiwan(lab):
    english = [*lab.words["en"].values(), *(text for words in lab.messages.values() for text in words["en"])]
    assert not [text for text in english if chinese.cjk(text)]
    for text in (text for words in lab.messages.values() for text in words["zh-TW"]):
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


# --- the M01 lab


def test_a_whole_message_about_numbers():
    subtracts = next(fn for _, _, fn in mistakes_m01.MISTAKES if fn.__name__ == "subtracts_in_8_bits")
    check = Checker()
    with pytest.raises(WrongAnswer) as caught:
        check.dequantize(subtracts)
    text = str(caught.value)
    q, scale, zero_point = check.args
    dtype = str(q.dtype).removeprefix("torch.")
    assert text.startswith("✗ dequantize: not yet. Case ")
    assert f"    dequantize(q, {scale:.6g}, {zero_point})\n    q = tensor([{q.item()}], {dtype})" in text
    wanted, came = solutions_m01.dequantize(*check.args).item(), subtracts(*check.args).item()
    assert f"q[0] = {q.item()}:  wanted {wanted:.9g}, came {came:.9g}" in text
    assert text.endswith("To try it by hand: dequantize(*check.args)")


@pytest.mark.parametrize("puzzle", NUMBER_PUZZLES)
@pytest.mark.parametrize("seed", range(3))
def test_mistakes_with_numbers_are_told_apart_whatever_the_seed(puzzle, seed):
    for name, code, fn in mistakes_m01.MISTAKES:
        if name == puzzle:
            assert answer(puzzle, fn, seed=seed).code == code, fn.__name__


def test_a_function_that_changes_its_arguments_does_not_change_the_cases():
    before = [tuple(map(str, case.args)) for case in number_cases("quantize", 0)]
    answer("quantize", next(fn for _, _, fn in mistakes_m01.MISTAKES if fn.__name__ == "works_in_place"))
    assert [tuple(map(str, case.args)) for case in number_cases("quantize", 0)] == before


def test_the_tables_show_calls_and_their_results():
    rows, headers = Checker().example("quantize")
    assert headers == ["`x`", "`q`"]
    assert ["0.5", "10"] in rows and ["1.5", "12"] in rows and ["70", "40"] in rows
    rows, headers = Checker().example("qparams")
    assert headers[-2:] == ["`scale`", "`zero_point`"]
    assert [row[-2:] for row in rows[:2]] == [["0.25", "4"], ["0.2", "0"]]
    with pytest.raises(ValueError, match="unknown puzzle 'insert_module'; known: 'dequantize', 'quantize'"):
        Checker().example("insert_module")


# --- the M02 lab


def test_a_converted_graph_computes_what_convert_pt2e_gives():
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e

    for case in conversion_cases("convert", 0):
        with torch.no_grad():
            ours, theirs = case.wanted(inputs(5)), convert_pt2e(copied(case.before))(inputs(5))
        pairs = zip(*(out if isinstance(out, tuple) else (out,) for out in (ours, theirs)), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)
        assert not observers(case.wanted)


def test_the_cases_hold_the_traps_of_converting():
    for case in conversion_cases("convert", 0):
        assert {is_per_channel(case.before, node) for node in observers(case.before)} == {True, False}
    weights = [_find(case.before, *case.args) for case in conversion_cases("convert_weight", 0)]
    assert any(len(node.users) > 1 for node in weights), "a weight that two convs use"
    activations = [_find(case.before, *case.args) for case in conversion_cases("convert_activation", 0)]
    assert any(len(node.users) > 1 for node in activations), "several users"
    assert any(isinstance(user.args[0], list) for node in activations for user in node.users), (
        "a user that takes a list"
    )


def _find(gm, name):
    return next(node for node in gm.graph.nodes if node.name == name)


# --- the M03 lab


def test_a_whole_message_about_annotations():
    between = next(fn for _, _, fn in mistakes_m03.MISTAKES if fn.__name__ == "asks_for_every_output")
    text = str(answer("annotate_add_relu", between))
    assert text.startswith("✗ annotate_add_relu: not yet. Graph ")
    assert "    annotate_add_relu(gm, act)\n\n    x = input\n" in text
    assert "add → relu:  wanted nothing, came act\n" in text
    assert "There is an observer on add → relu, inside the pattern.\nHint: A backend computes the two together" in text
    assert text.endswith("To see it: draw_stages(check.stages)")


@pytest.mark.parametrize("seed", range(3))
def test_wrong_annotations_are_told_apart_whatever_the_seed(seed):
    for puzzle, code, fn in mistakes_m03.MISTAKES:
        assert answer(puzzle, fn, seed=seed).code == code, fn.__name__


@pytest.mark.parametrize("fn", ["asks_for_every_output", "shares_the_first_with_itself", "gives_everyone_a_spec"])
def test_what_it_offers_to_draw_of_annotations_can_be_drawn(fn):
    puzzle, _, wrong = next(mistake for mistake in mistakes_m03.MISTAKES if mistake[2].__name__ == fn)
    check, drawn = Checker(), []
    with pytest.raises(WrongAnswer):
        getattr(check, puzzle)(wrong)
    show_with(drawn.append)
    try:
        draw_stages(check.stages)
    finally:
        show_with(None)
    assert ("yours, prepared" in drawn[0].text) == (fn != "shares_the_first_with_itself")
    assert "wanted, prepared" in drawn[0].text


@pytest.mark.parametrize("seed", range(2))
def test_the_cases_hold_what_annotations_trip_over(seed):
    adds = [n for c in annotation_cases("annotate_add_relu", seed) for n in c.before.graph.nodes if n.target is ADD]
    assert {user.target for add in adds if is_fused(add) for user in add.users} == set(RELUS)
    assert any(len(add.users) > 1 and {user.target for user in add.users} & set(RELUS) for add in adds)
    assert any(not isinstance(add.args[1], torch.fx.Node) for add in adds), "a number"
    assert any(add.args[0] is add.args[1] for add in adds), "one value twice"
    cats = [n for c in annotation_cases("annotate_cat", seed) for n in c.before.graph.nodes if n.target is CAT]
    assert any(len(cat.args[0]) > len(set(cat.args[0])) > 1 for cat in cats), "an input that stands there twice"
    assert any(len(set(cat.args[0])) == 1 for cat in cats), "nothing but one input"
