"""The rules for one file: each is broken here in each way, and named with its line; what is right passes."""

import re
from pathlib import Path

import pytest

from coursebuild import chinese, lint, pairs
from tests.coursebuild.sample_pair import EN, FIRST, ZH, assert_only, changed, write

ROOT = Path(__file__).parents[2]
PATH = "examples/{}/m00/m00_1_first.py"
LAB = """\
{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "title",
   "metadata": {},
   "source": [
    "# Lab\\n",
    "\\n",
    "TEXT"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""


def check(root: Path, language: str, text: str, name: str = PATH) -> list[lint.Problem]:
    """The problems of one file with this text."""
    return lint.check(write(root, language, text, name))


@pytest.mark.parametrize("language", FIRST)
def test_the_sample_is_right(tmp_path: Path, language: str) -> None:
    assert check(tmp_path, language, FIRST[language]) == []


# (what is replaced in the English sample, what replaces it, line, words of the message and the hint)
WRONG = {
    "syntax": ("value = 6 * 7", "value = 6 *", 24, ["SyntaxError", "correct the Python code"]),
    "title missing": ("# M00-1 | The first chapter\n\n", "", 1, ["doesn't begin with a title", "# M00-1 | title"]),
    "title later": ("# M00-1 | The", "Hello.\n\n# M00-1 | The", 1, ["doesn't begin with a title"]),
    "title of another chapter": ("M00-1 | ", "M00-2 | ", 2, ["`M00-2 | The first chapter`", "# M00-1 | title"]),
    "title without number": ("M00-1 | ", "", 2, ["the title is `The first chapter`"]),
    "title with a colon": ("M00-1 | ", "M00-1: ", 2, ["the title is"]),
    "title empty": ("| The first chapter", "|", 2, ["the title is"]),
    "title with id": ("The first chapter", "The first chapter {#top}", 2, ["the title has an id"]),
    "second title": ("{#a}\n#\n", "{#a}\n#\n# # B\n#\n", 10, ["a second title", "use ## or ###"]),
    "level skipped": ("# ## A. Export", "# ### A. Export", 8, ["an h3 follows an h1", "use ##"]),
    "no id": (" {#a2-half}", "", 31, ["the heading `A2 Off by 50%` has no id", "{#some-id}"]),
    "id with a capital": ("{#a2-half}", "{#A2-half}", 31, ["{#A2-half} is no id"]),
    "id with a digit first": ("{#a2-half}", "{#2-half}", 31, ["{#2-half} is no id"]),
    "id with _": ("{#a2-half}", "{#a2_half}", 31, ["{#a2_half} is no id"]),
    "id without #": ("{#a2-half}", "{a2-half}", 31, ["{a2-half} is no id"]),
    "id with a class": ("{#a2-half}", "{#a2-half .wide}", 31, ["{#a2-half .wide} is no id"]),
    "id twice": ("{#a2-half}", "{#a}", 31, ["{#a} is also the id of line 8"]),
    "underlined heading": ("# - the input", "# Inputs\n# ------\n#\n# - the input", 12, ["`Inputs` has no id"]),
    "unknown tag": ("# %% answer", "# %% hidden", 36, ["`hidden` is no tag", "known: answer"]),
    "title in the header": ("# %%\n# ## A.", "# %% Export\n# ## A.", 7, ["`Export` is no tag", "into the prose"]),
    "header without space": ("# %%\n# ## A.", "#%%\n# ## A.", 7, ["`#%%` begins a cell", "write `# %%`"]),
    "line of hashes": ("value = 6", f"{'#' * 30}\nvalue = 6", 24, ["begins a cell", "take it out"]),
    "header swallowed": ("# Computed:\n", "# Computed:\n# %%\n# more\n", 38, ["part of the prose", "blank line above"]),
    "empty cell": ("# %%\n# ### A2", "# %%\n\n# %%\n# ### A2", 30, ["the cell is empty"]),
    "answer without question": ("!!! question", "!!! note", 36, ["an answer without a question", "!!! question"]),
    "header in a string": (
        'f.write("plain")',
        'f.write("""\n# %%\n""")',
        41,
        ["cuts a statement or a string in two", "begin the cell elsewhere"],
    ),
    "assert in a function": (
        "assert value == 42",
        "def f():\n    assert value == 42\nassert value == 42",
        29,
        ["inside a function", "top level"],
    ),
    "assert in a class": ("assert value == 42", "class A:\n    assert value == 42", 29, ["inside a class"]),
    "assert in a branch": ("assert value == 42", "if value:\n    assert value == 42", 29, ["inside a branch"]),
    "assert in else": (
        "assert value == 42",
        "if value:\n    pass\nelse:\n    assert value == 42",
        31,
        ["inside a branch"],
    ),
    "assert in match": (
        "assert value == 42",
        "match value:\n    case 42:\n        assert value == 42",
        30,
        ["inside a branch"],
    ),
    "assert in a for": ("assert value == 42", "for v in [value]:\n    assert v == 42", 29, ["inside a loop"]),
    "assert in a while": ("assert value == 42", "while value:\n    assert value == 42", 29, ["inside a loop"]),
    "assert in try": ("assert value == 42", "try:\n    assert value == 42\nfinally:\n    pass", 29, ["inside a `try`"]),
    "assert in except": (
        "assert value == 42",
        "try:\n    value()\nexcept TypeError as e:\n    assert str(e) == 'no'",
        31,
        ["inside a `try`"],
    ),
    "assert in with in for": (
        "assert value == 42",
        "for v in [value]:\n    with open('x') as g:\n        assert v == 42",
        30,
        ["inside a loop"],
    ),
    "assert in suppress": (
        "assert value == 42",
        "with contextlib.suppress(ValueError):\n    assert value == 42",
        29,
        ["inside a `with suppress`"],
    ),
    "assert True": ("assert value == 42", "assert True", 28, ["can't fail: it is a constant"]),
    "assert text": ("assert value == 42", "assert 'value == 42'", 28, ["can't fail: it is a constant"]),
    "assert not False": ("assert value == 42", "assert not False", 28, ["can't fail: it is a constant"]),
    "assert tuple": ("assert value == 42", "assert (value == 42, 'no')", 28, ["a tuple"]),
    "assert list": ("assert value == 42", "assert [value == 42]", 28, ["list"]),
    "assert f-string": ("assert value == 42", "assert f'{value}'", 28, ["a string"]),
    "assert generator": ("assert value == 42", "assert (v == 42 for v in [value])", 28, ["generator"]),
    "assert constants": ("assert value == 42", "assert 6 < 42", 28, ["two constants"]),
    "assert same": ("assert value == 42", "assert value == value", 28, ["both sides are the same expression"]),
    "assert same call": ("assert value == 42", "assert f(value) <= f(value)", 28, ["both sides are the same"]),
    "assert is itself": ("assert value == 42", "assert value is value", 28, ["both sides are the same"]),
    "assert equal itself": ("assert value == 42", "assert torch.equal(value, value)", 28, ["both sides are the same"]),
    "assert allclose itself": ("assert value == 42", "assert value.allclose(value)", 28, ["both sides are the same"]),
    "assert abs": ("assert value == 42", "assert abs(value) >= 0", 28, ["never negative"]),
    "assert len": ("assert value == 42", "assert len([value]) > -1", 28, ["never negative"]),
    "assert norm": ("assert value == 42", "assert value.norm().item() >= 0.0", 28, ["never negative"]),
    "assert 0 <= max abs": ("assert value == 42", "assert 0 <= (value - 1).abs().max()", 28, ["never negative"]),
    "assert square": ("assert value == 42", "assert (value - 1) ** 2 >= 0", 28, ["never negative"]),
    "assert or True": ("assert value == 42", "assert value == 42 or True", 28, ["it is a constant"]),
    "assert and same": ("assert value == 42", "assert value == 42 and value == value", 28, ["in part, both sides"]),
    "__file__": ("value = 6 * 7", "value = 6 * 7; __file__", 24, ["__file__ doesn't work", "without a file name"]),
    "input": ("value = 6 * 7", "value = input('n')", 24, ["input doesn't work", "during a build"]),
    "getsource": ("value = 6 * 7", "value = inspect.getsource(f)", 24, ["getsource doesn't work"]),
    "getsource imported": ("value = 6 * 7", "value = getsource(f)", 24, ["getsource doesn't work"]),
    "variable cat": ("value = 6 * 7", "cat = 6 * 7", 24, ["`cat =`", "rename the variable"]),
    "variable ls": ("value = 6 * 7", "ls=6 * 7", 24, ["`ls=`", "rename the variable"]),
    "shell command": ("value = 6 * 7", "echo + 7", 24, ["`echo + 7", "for a shell command"]),
    "comment like a command": (
        "value = 6 * 7",
        "# copy the value\nvalue = 6 * 7",
        24,
        ["`# copy the value`", "another word"],
    ),
    "comment like help": ("value = 6 * 7", "# why?\nvalue = 6 * 7", 24, ["`# why?`"]),
    "raw HTML": ("# - the weight", "# - the <b>weight</b>", 13, ["raw HTML: <b>", "Markdown"]),
    "HTML block": ("# ### A2", "# <div>\n# x\n# </div>\n#\n# ### A2", 31, ["raw HTML: <div>"]),
    "HTML comment": ("# Computed:", "# Computed: <!-- todo -->", 37, ["raw HTML: <!-- todo -->"]),
    "placeholder in brackets": ("# Computed:", "# Computed for <name>:", 37, ["raw HTML: <name>", "into backticks"]),
    "image": ("# Computed:", "# Computed: ![x](x.png)", 37, ["an image: x.png", "common.viz"]),
    "math": ("# Computed:", "# Computed: $s = 2$.", 37, ["math markup"]),
    "list below text": ("#\n# - the input", "# - the input", 11, ["a list right below text", "blank line above"]),
    "table below text": ("#\n# | step", "#\n# text\n# | step", 16, ["a table right below text"]),
    "nested by two": (
        "# - the weight `w`",
        "#     - deep\n#   - deeper `w`\n# - the weight",
        14,
        ["indented by 2", "four spaces"],
    ),
    "code as prose": ("# Computed:", "# value = 3", 37, ["`value = 3` looks like code", "blank line below the header"]),
    "call as prose": ("# Computed:", "# gm.recompile()", 37, ["`gm.recompile()` looks like code"]),
    "import as prose": ("# Computed:", "# import torch", 37, ["`import torch` looks like code"]),
    "block as prose": ("# Computed:", "# for node in nodes(gm):", 37, ["looks like code"]),
    "comment as prose": ("# Computed:\n\n", "# compute it\n", 37, ["`compute it` looks like a comment"]),
    "path of a machine": ("# Computed:", "# Computed in /home/ann/x.", 37, ["a path of one machine: /home/ann/x"]),
    "path in code": ('"x.txt"', '"/tmp/x.txt"', 39, ["a path of one machine: /tmp/x.txt", "tempfile"]),
    "Windows path": ('"x.txt"', 'r"C:\\x.txt"', 39, ["a path of one machine: C:\\x.txt"]),
    "setting": (
        "value = 6 * 7",
        "# mkdocs_gallery_line_numbers = True\nvalue = 6 * 7",
        24,
        ["a setting of mkdocs-gallery"],
    ),
    "setting as prose": ("# Computed:", "# mkdocs_gallery_line_numbers = True\n#\n# Computed:", 37, ["a setting of"]),
    "Chinese in English prose": (
        "# Computed:",
        "# Computed 圖:",
        37,
        ["Chinese in an English file: 圖", "translate it"],
    ),
    "Chinese in English code": ('"the answer is"', '"the answer：42"', 25, ["Chinese in an English file: ："]),
}
ALSO = {"setting as prose": "looks like code"}  # a second rule that the same line breaks


@pytest.mark.parametrize("case", WRONG)
def test_wrong(tmp_path: Path, case: str) -> None:
    old, new, line, words = WRONG[case]
    problems = [p for p in check(tmp_path, "en", changed(EN, old, new)) if ALSO.get(case, "\n") not in p.message]
    assert_only(problems, PATH.format("en"), line, *words)


# (what is replaced in the Chinese sample, what replaces it, line, words of the message and the hint)
WRONG_CHINESE = {
    "Simplified prose": ("算給你看：", "算给你看：", 37, ["给 isn't written in Taiwan", "write 給", "ALLOWED"]),
    "Simplified comment": ("# 六乘七", "# 六乘七的结果", 24, ["结 isn't written in Taiwan", "write 結"]),
    "Simplified string": ('"答案是"', '"答案为"', 25, ["为 isn't written in Taiwan", "write 為"]),
    "Simplified in context": ("算給你看：", "之后再算：", 37, ["后 isn't written in Taiwan", "write 後"]),
    "variant": ("算給你看：", "算給你看爲什麼：", 37, ["爲 isn't written in Taiwan", "write 為"]),
    "no space after Latin": ("算給你看：", "算給 node看：", 37, ["no space between Chinese and Latin: node看"]),
    "no space before a digit": ("算給你看：", "算3 次：", 37, ["no space between Chinese and Latin: 算3"]),
    "no space before code": ("算給你看：", "算`value` 看：", 37, ["no space", "算`…`"]),
    "no space around bold": ("算給你看：", "算**node** 看：", 37, ["no space", "算node"]),
    "no space in a link": ("算給你看：", "算[node](#a) 看：", 37, ["no space", "算node"]),
    "no space in a heading": ("A. 匯出 {#a}", "A. 匯出graph {#a}", 8, ["no space", "匯出grap"]),
    "no space in a table": ("| 步驟 |", "| 步驟1 |", 15, ["no space", "步驟1"]),
    "no space in a box's title": ("六乘八是多少？", "6乘八是多少？", 33, ["no space", "6乘"]),
    "no space in a comment": ("# 六乘七", "# 六乘7", 24, ["no space", "乘7"]),
    "no space in a string": ('"答案是"', '"答案是value"', 25, ["no space", "是val"]),
    "half-width comma": ("算給你看：", "算,看：", 37, ["half-width punctuation in Chinese: 算,看", "，。"]),
    "half-width comma and space": ("算給你看：", "算, 看：", 37, ["half-width punctuation", "算,"]),
    "half-width colon": ("算給你看：", "算給你看:", 37, ["half-width punctuation", "看:"]),
    "half-width period": ("算給你看：", "算給你看.", 37, ["half-width punctuation", "看."]),
    "half-width brackets": ("算給你看：", "算 (給你看)。", 37, ["half-width punctuation"]),
    "half-width brackets around Latin": ("算給你看：", "算 (node)。", 37, ["half-width punctuation", "算 ("]),
    "straight quotes": ("算給你看：", '算"給"你看：', 37, ["half-width punctuation"]),
    "half-width in a string": ('"答案是"', '"答案:"', 25, ["half-width punctuation", "案:"]),
    "stamp": ("# %% answer", "# %% answer zh:01234567", 36, ["the stamp zh:01234567 in a Chinese file"]),
}


@pytest.mark.parametrize("case", WRONG_CHINESE)
def test_wrong_chinese(tmp_path: Path, case: str) -> None:
    old, new, line, words = WRONG_CHINESE[case]
    problems = check(tmp_path, "zh-TW", changed(ZH, old, new))
    assert_only([*dict.fromkeys(problems)][:1], PATH.format("zh-TW"), line, *words)
    assert {(p.line, p.hint) for p in problems} == {(line, problems[0].hint)}


# (what is replaced in the English sample, what replaces it): allowed, though close to what isn't
RIGHT = {
    "no number in an appendix": ("M00-1 | The", "The"),
    "assert in nested withs": (
        "    assert 6",
        "    with open('y') as g, torch.no_grad():\n        assert g\n    assert 6",
    ),
    "assert that can fail": ("assert value == 42", "assert abs(value) > 0 and len('x') >= 1 and value != value + 1"),
    "assert of calls": ("assert value == 42", "assert f(value) == g(value) and torch.equal(value, -value)"),
    "caught error": ("assert value == 42", "try:\n    value()\nexcept TypeError as e:\n    error = e\nassert error"),
    "method input": ("value = 6 * 7", "value = node.input('x')"),
    "import copy": ("value = 6 * 7", "import copy\nvalue = copy.copy(6 * 7)"),
    "name that begins like a command": ("value = 6 * 7", "value = 6 * 7; lsb = 1; category = 2"),
    "comparison of a command's name": ("value = 6 * 7", "value = (\n    ls == 7\n)"),
    "HTML in code": ("# Computed:", "# Computed `<b>`, and 1 < 2 > 0:"),
    "address": ("# Computed:", "# Computed at <https://example.org/home/x>:"),
    "dollars": ("# Computed:", "# Computed for $5 and $6:"),
    "list below a heading": ("#\n# - the input", "#\n# ### X {#x}\n# - the input"),
    "nested by four": ("# - the weight", "#     - deep\n# - the weight"),
    "code in a fence": ("# gm.recompile()", "# import torch\n# value = torch.ones(2)\n# gm.recompile()"),
    "sentence with code": ("# Computed:", "# `value = 6` is Python. Run f(x), then:"),
    "comment below a blank line": ("# Computed:\n\n", "\n# compute it\n"),
    "one-line sentence": ("# Computed:\n\n", "# Compute it.\n"),
    "relative path": ('"x.txt"', '"tmp/home/x.txt"'),
    "address with a path": ("# Computed:", "# See [x](https://example.org/home/ann) and `aten::add/tmp/`:"),
    "Chinese in a code span": ("# Computed:", "# Computed `圖`:"),
    "stamps": ("# %% answer", "# %% answer zh:01234567"),
    "indented header": ("    assert 6", "    # %% not a cell\n    assert 6"),
}
RIGHT_CHINESE = {
    "full-width next to Latin": ("算給你看：", "算 node（`x`，第 3 個）的 scale：「value」……"),
    "Traditional in context": ("算給你看：", "皇后在裡面，里程是 3 公里；干擾與乾淨："),
    "allowed word": ("算給你看：", f"{next(iter(chinese.ALLOWED), '算')}："),
    "punctuation in code": ("算給你看：", "算 `f(圖,表)` 給你看："),
    "time and version": ("算給你看：", "在 12:30 用 torch 2.13 算："),
    "f-string": ("print(f", 'print(f"{value}個", f'),
    "percent": ("算給你看：", "算 50% 給你看："),
}


@pytest.mark.parametrize("case", RIGHT)
def test_right(tmp_path: Path, case: str) -> None:
    name = PATH.replace("m00_1_first", "fx_basics") if "appendix" in case else PATH
    assert check(tmp_path, "en", changed(EN, *RIGHT[case]), name) == []


@pytest.mark.parametrize("case", RIGHT_CHINESE)
def test_right_chinese(tmp_path: Path, case: str) -> None:
    assert check(tmp_path, "zh-TW", changed(ZH, *RIGHT_CHINESE[case])) == []


def test_no_assert(tmp_path: Path) -> None:
    text = re.sub(r".*assert .*\n", "", EN)
    assert_only(check(tmp_path, "en", text), PATH.format("en"), 1, "there is no assert", "isn't published")


def test_no_docstring(tmp_path: Path) -> None:
    assert_only(check(tmp_path, "en", "assert f(1)\n"), PATH.format("en"), 1, "has no docstring", "# M0x-y | title")


def test_second_answer_needs_its_own_question(tmp_path: Path) -> None:
    text = EN + "\n# %% answer\n# And more.\n"
    assert_only(check(tmp_path, "en", text), PATH.format("en"), 43, "an answer without a question")


def test_problems_come_in_order_of_lines(tmp_path: Path) -> None:
    text = changed(changed(EN, "{#a2-half}", "{#A}"), "The first chapter", "The first chapter {#top}")
    assert [problem.line for problem in check(tmp_path, "en", text)] == [2, 31]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("# T\n\n## A\n", 3, "has no id"),
        ("# T\n\ntext\n- a\n", 4, "a list right below text"),
        ("---\ntitle: x\n---\n# T\n\nin /home/ann/x\n", 6, "a path of one machine"),
        ("# T\n\n圖\n", 3, "Chinese in an English file"),
        ("---\ntitle: 圖\n---\n# T\n", 2, "Chinese in an English file"),
        ('# T\n\n<span lang="zh-TW">圖</span> is a graph, 圖 too\n', 3, "Chinese in an English file: 圖"),
    ],
)
def test_wrong_page(tmp_path: Path, text: str, line: int, words: str) -> None:
    problems = check(tmp_path, "en", text, "docs/{}/a.md")
    assert (problems[0].path, problems[0].line) == ("docs/en/a.md", line)
    assert words in problems[0].message


def test_right_page(tmp_path: Path) -> None:
    text = (
        '---\ntitle: x\n---\n# T\n\n<div markdown>\n\n## A {#a}\n\n</div>\n\n<span lang="zh-TW">圖</span> is a graph.\n'
    )
    assert check(tmp_path, "en", text, "docs/{}/a.md") == []


def test_lab(tmp_path: Path) -> None:
    name = "docs/{}/labs/lab_m00.ipynb"
    assert check(tmp_path, "en", LAB.replace("TEXT", "## No id needed"), name) == []
    assert_only(check(tmp_path, "zh-TW", LAB.replace("TEXT", "圖node"), name), name.format("zh-TW"), 10, "no space")


def test_check_all_sees_every_kind_of_file(tmp_path: Path) -> None:
    for name in (
        PATH,
        "examples/{}/m00/README.md",
        "examples/{}/appendix/fx_basics.py",
        "docs/{}/a.md",
        "docs/{}/b/c.md",
    ):
        write(tmp_path, "en", "x: 圖 = 1\n", name)
    write(tmp_path, "en", LAB.replace("TEXT", "圖"), "docs/{}/labs/lab_m00.ipynb")
    for name in (
        "docs/{}/m00/index.md",
        "docs/{}/appendix/x.md",
        "docs/{}/downloads/x.md",
        "examples/{}/m00/_draft.py",
    ):
        write(tmp_path, "en", "圖", name)
    assert [problem.path for problem in lint.check_all(tmp_path)] == [
        "docs/en/a.md",
        "docs/en/b/c.md",
        "docs/en/labs/lab_m00.ipynb",
        "examples/en/appendix/fx_basics.py",
        "examples/en/m00/README.md",
        "examples/en/m00/m00_1_first.py",
    ]


def test_the_project_breaks_no_rule() -> None:
    assert "\n".join(map(str, lint.check_all(ROOT))) == ""


def test_every_allowed_word_is_needed() -> None:
    needed = set()
    for path in pairs.files(ROOT, "zh-TW").values():
        needed |= {word for line in path.read_text(encoding="utf-8").split("\n") for *_, word in chinese.forms(line)}
    assert set(chinese.ALLOWED) - needed == set(), "take these words out of ALLOWED in docs/coursebuild/chinese.py"
