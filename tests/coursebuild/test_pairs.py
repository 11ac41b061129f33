"""Pairs: every difference that isn't a matter of words is found and named in both places; a free translation passes."""

from pathlib import Path

import pytest

from coursebuild import pairs
from tests.coursebuild.sample_pair import EN, ZH, assert_only, changed, write

ROOT = Path(__file__).parents[2]
PATH = "examples/{}/m00/m00_1_first.py"


def check(root: Path, zh: str, en: str, name: str = PATH) -> list[pairs.Problem]:
    """The differences between two files with these texts."""
    return pairs.check(write(root, "zh-TW", zh, name), write(root, "en", en, name))


def test_the_sample_is_a_pair(tmp_path: Path) -> None:
    assert check(tmp_path, ZH, EN) == []


# (what is replaced in the English sample, what replaces it, line here, line in the Chinese, words)
WRONG = {
    "cell missing": (
        "\n# %% answer\n# Computed:\n\n",
        "\n",
        30,
        30,
        ["holds prose and code, and prose in the Chinese"],
    ),
    "cell too many": ("# %% answer", "# %%\n# More.\n\n# %% answer", 36, 36, ["holds prose, and prose and code"]),
    "prose missing": ("# Computed:\n", "", 36, 36, ["holds code, and prose and code in the Chinese"]),
    "tag missing": ("# %% answer", "# %%", 36, 36, ["tags: none, and answer in the Chinese", "the same tags"]),
    "level": ("# ### A2", "# ## A2", 31, 31, ["headings: ## {#a2-half}, and ### {#a2-half} in the Chinese"]),
    "id": ("{#a2-half}", "{#half}", 31, 31, ["headings: ### {#half}, and ### {#a2-half} in the Chinese"]),
    "heading missing": ("# ### A2 Off by 50% {#a2-half}", "# A2 Off by 50%", 31, 31, ["nothing, and ### {#a2-half}"]),
    "link": (
        "#step-1)",
        "#step-2)",
        10,
        10,
        ["only here: chapter:m00_4_editing_graphs#step-2", "only there: chapter:m00_4"],
    ),
    "link missing": (
        "[M00-4](chapter:m00_4_editing_graphs#step-1)",
        "M00-4",
        8,
        10,
        ["links: only there: chapter:m00_4"],
    ),
    "code span": ("- the weight `w`", "- the weight `v`", 13, 13, ["code: only here: v; only there: w"]),
    "code span missing": ("- the weight `w`", "- the weight", 8, 13, ["code: only there: w"]),
    "code span twice": ("- the weight `w`", "- the weight `w` or `w`", 13, 8, ["code: only here: w"]),
    "box": ("!!! question", "!!! note", 33, 33, ["boxes: !!! note, and !!! question in the Chinese"]),
    "box missing": (
        '!!! question "What is six times eight?"\n#     ',
        "What is six times eight? ",
        31,
        33,
        ["boxes: nothing, and"],
    ),
    "items": (
        "# - the weight `w`\n",
        "# - the weight `w`\n# - more\n",
        12,
        12,
        ["lists: 3 items, bullet, depth 0, and 2 items"],
    ),
    "list kind": (
        "# - the input `x`\n# - the weight",
        "# 1. the input `x`\n# 2. the weight",
        12,
        12,
        ["ordered", "bullet"],
    ),
    "depth": (
        "# - the weight `w`\n",
        "#     - the weight `w`\n",
        13,
        12,
        ["lists: 1 items, bullet, depth 1, and 2 items"],
    ),
    "columns": (
        "# | step | API |\n# |---|---|",
        "# | step | API | x |\n# |---|---|---|",
        15,
        15,
        ["3 columns, 1 rows, and 2"],
    ),
    "rows": (
        "# | 1 | `recompile` |\n",
        "# | 1 | `recompile` |\n# | | |\n",
        15,
        15,
        ["2 columns, 2 rows, and 2 columns, 1 rows"],
    ),
    "fence's language": ("```python", "```text", 19, 19, ["fences: ``` text, and ``` python in the Chinese"]),
    "fence's code": (
        "# gm.recompile()",
        "# gm.lint()",
        20,
        20,
        ["fenced code: `gm.lint()  # generate", "only here: gm.lint()"],
    ),
    "number": ("50%", "40%", 31, 31, ["numbers or names: only here: 40%; only there: 50%", "the same numbers"]),
    "percent sign": ("50%", "50", 31, 31, ["only here: 50; only there: 50%"]),
    "unit": ("0.5 dB", "0.5", 34, 34, ["only here: 0.5; only there: 0.5dB"]),
    "sign": ("0.5 dB", "-0.5 dB", 34, 34, ["only here: -0.5dB; only there: 0.5dB"]),
    "number missing": ("where three nodes", "where the nodes", 2, 4, ["only there: 3"]),
    "name with digits": ("A2 Off", "A3 Off", 31, 31, ["only here: a3; only there: a2"]),
    "expression": ("6 * 7", "6 * 8", 24, 24, ["`8`, and `7` in the Chinese", "make the code the same"]),
    "kind of number": ("6 * 7", "6 * 7.0", 24, 24, ["`7.0`, and `7`"]),
    "operator": ("6 * 7", "6 + 7", 24, 24, ["`6 + 7`, and `6 * 7`"]),
    "name": ("value = 6", "number = 6", 24, 24, ["`number`, and `value`"]),
    "import": ("import table", "import draw", 22, 22, ["`from common.viz import draw`"]),
    "argument": (
        'table([["`a`", value]]',
        'table([["`a`", value, value]]',
        27,
        27,
        ["['`a`', value, value]", "['`a`', value]"],
    ),
    "keyword": ('["name", "value"])', '["name", "value"], title="")', 27, 27, ["title=''"]),
    "statement missing": ('    f.write("plain")\n', "", 39, 39, ["with open"]),
    "last statement missing": (
        "assert value == 42",
        "pass",
        22,
        22,
        ["0 asserts, and 1 in the Chinese", "assert the same"],
    ),
    "statement too many": (
        "assert value == 42",
        "assert value == 42\nprint(1)",
        29,
        22,
        ["`print(1)` isn't in the Chinese"],
    ),
    "statement too few": (
        'table([["`a`", value]], ["name", "value"])\nassert',
        "assert",
        27,
        27,
        ["`assert value == 42`, and `table("],
    ),
    "string without Chinese": ('"plain"', '"plane"', 40, 40, ["the string is 'plane', and 'plain' in the Chinese"]),
    "code in a string": ('"the answer is"', '"the `x` answer is"', 25, 25, ["only here: `x`"]),
    "number in a string": ('"the answer is"', '"the 42 answer is"', 25, 25, ["only here: 42", "keep the numbers"]),
    "placeholder in a string": ('"the answer is"', '"the answer {}"', 25, 25, ["only here: {}"]),
    "f-string to string": ('f"{value!r} of them, off by {value:.2f}"', '"off"', 26, 26, ["`'off'`, and `f'"]),
    "expression in an f-string": ("{value!r} of", "{number!r} of", 26, 26, ["`number`, and `value`"]),
    "format": ("{value:.2f}", "{value:.3f}", 26, 26, ["the string is '.3f', and '.2f' in the Chinese"]),
    "conversion": ("{value!r}", "{value}", 26, 26, ["{value}", "{value!r}"]),
    "f-string's expression missing": ("{value!r} of them, ", "", 26, 26, ["f'off by {value:.2f}'"]),
    "comment missing": ("  # six times seven", "", 22, 24, ["0 comments in the code, and 1 in the Chinese"]),
    "comment too many": ("    f.write", "    # note\n    f.write", 40, 38, ["1 comments in the code, and 0"]),
    "number in a comment": ("# six times seven", "# 7 times 8", 24, 24, ["the comment '# 7 times 8'", "only here: 8"]),
}
TWO = {"cell missing", "cell too many", "last statement missing"}  # whose first problem brings a second one with it


@pytest.mark.parametrize("case", WRONG)
def test_wrong(tmp_path: Path, case: str) -> None:
    old, new, line, there, words = WRONG[case]
    problems = check(tmp_path, ZH, changed(EN, old, new))
    assert_only(
        problems[:1] if case in TWO else problems, PATH.format("en"), line, f"{PATH.format('zh-TW')}:{there})", *words
    )


# (what is replaced in the Chinese sample and by what, what is replaced in the English one and by what)
RIGHT = {
    "other words": ("算給你看：", "答案如下：", "Computed:", "Here it is:"),
    "other line breaks": ("算給你看：", "算給\n# 你看：", "Computed:", "Here\n# it\n# is:"),
    "digit and word": ("算給你看：", "算 2 次：", "Computed:", "Computed twice:"),
    "numeral and digit": ("算給你看：", "算兩次：", "Computed:", "Computed 2 times:"),
    "ordinal": ("算給你看：", "第 21 個：", "Computed:", "The 21st:"),
    "thousands": ("算給你看：", "共 12,345 個：", "Computed:", "12345 of them:"),
    "hyphen": ("算給你看：", "8 位元的 M00-1：", "Computed:", "The 8-bit M00-1:"),
    "Chinese in a code span": ("算給你看：", "看 `權重`：", "Computed:", "See `weight`:"),
    "order of code spans": ("算給你看：", "把 `x` 給 `w`：", "Computed:", "`w` takes `x`:"),
    "language in an address": ("算給你看：", "[x](https://a.org/zh-TW/b)：", "Computed:", "[x](https://a.org/en/b):"),
    "language in a string": ('"plain"', '"docs/zh-TW"', '"plain"', '"docs/en"'),
    "comment on two lines": ("  # 六乘七", "\n# 六乘七", "  # six times seven", "\n# six times seven,\n# a lot"),
    "quotes and layout": (
        'f.write("plain")',
        'f.write("plain")',
        'f.write("plain")',
        "f.write(\n        'plain',\n    )",
    ),
    "strings in an f-string": ("{value!r}", "{'是' if value else '否'}", "{value!r}", "{'yes' if value else 'no'}"),
    "docstring": (
        "value = 6",
        'def f():\n    """加倍。"""\nvalue = 6',
        "value = 6",
        'def f():\n    "Double it."\nvalue = 6',
    ),
}


@pytest.mark.parametrize("case", RIGHT)
def test_right(tmp_path: Path, case: str) -> None:
    zh_old, zh_new, en_old, en_new = RIGHT[case]
    assert check(tmp_path, changed(ZH, zh_old, zh_new), changed(EN, en_old, en_new)) == []


def test_all_differences_are_reported(tmp_path: Path) -> None:
    en = changed(changed(changed(EN, "{#a2-half}", "{#half}"), "6 * 7", "6 * 8"), '"plain"', '"plane"')
    assert [problem.line for problem in check(tmp_path, ZH, en)] == [24, 31, 40]


def test_a_missing_cell_is_reported_once(tmp_path: Path) -> None:
    problems = check(tmp_path, ZH, EN[: EN.index("\n# %% answer")])
    assert_only(problems, PATH.format("en"), 30, "3 cells, and 4 in the Chinese", f"{PATH.format('zh-TW')}:36)")


def test_what_cannot_be_read_is_no_silent_pass(tmp_path: Path) -> None:
    assert_only(check(tmp_path, ZH, "x = ("), PATH.format("en"), 1, "SyntaxError")
    cut = changed(ZH, 'f.write("plain")', 'f.write("""\n# %%\n""")')
    problems = check(tmp_path, cut, cut)
    assert problems[0].line == 38
    assert "can't be compared" in problems[0].message


PAGE_ZH = "---\ntitle: 頁面\nhide: [toc]\n---\n# 頁面\n\n## 甲 {#a}\n\n用 `x` 和 `y`，再用 `x`。\n"
PAGE_EN = "---\ntitle: The page\nhide: [toc]\n---\n# The page\n\n## A {#a}\n\nUse `y`, then `x`.\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("title: ", "name: ", 2, "front matter: `name: The page`"),
        ("[toc]", "[nav]", 3, "front matter: `hide: [nav]`"),
        ("{#a}", "{#b}", 7, "headings: ## {#b}, and ## {#a}"),
        ("Use `y`, then `x`", "Use `x`", 5, "code: only there: y"),
    ],
)
def test_wrong_page(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    name = "docs/{}/a.md"
    assert check(tmp_path, PAGE_ZH, PAGE_EN, name) == []
    problems = check(tmp_path, PAGE_ZH, changed(PAGE_EN, old, new), name)
    assert_only(problems, "docs/en/a.md", line, words, "docs/zh-TW/a.md:")


LAB_ZH = """\
{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "puzzle-1",
   "metadata": {},
   "source": [
    "## 插入 `x`\\n",
    "見 [M00-4](chapter:m00_4)"
   ]
  },
  {
   "cell_type": "code",
   "id": "code",
   "metadata": {},
   "outputs": [],
   "source": [
    "%pip install x\\n",
    "check('zh-TW')  # 檢查"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""
LAB_EN = LAB_ZH.replace("插入", "Insert").replace("見", "see").replace("檢查", "check").replace("zh-TW", "en")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("puzzle-1", "puzzle-2", 8, "the cell's id: puzzle-2, and puzzle-1 in the Chinese"),
        ("check('en')", "check('de')", 19, "the string is 'de', and 'zh-TW'"),
        ("%pip install x", "%pip install y", 18, "'%pip install y', and '%pip install x'"),
        ("chapter:m00_4", "chapter:m00_3", 9, "links: only here: chapter:m00_3"),
        ('"markdown"', '"code"', 8, "the cell holds code, and prose in the Chinese"),
        ("check('en')", "check('en'", 18, "can't be compared"),
    ],
)
def test_wrong_lab(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    name = "docs/{}/labs/lab_m00.ipynb"
    assert check(tmp_path, LAB_ZH, LAB_EN, name) == []
    problems = check(tmp_path, LAB_ZH, changed(LAB_EN, old, new), name)
    assert_only(problems, name.format("en"), line, words, f"{name.format('zh-TW')}:")


def test_missing_twins(tmp_path: Path) -> None:
    for name in (PATH, "examples/{}/m00/README.md", "docs/{}/a.md"):
        write(tmp_path, "zh-TW", ZH, name)
    for name in ("examples/{}/appendix/fx_basics.py", "docs/{}/labs/lab_m00.ipynb", "docs/{}/m00/index.md"):
        write(tmp_path, "en", EN, name)
    assert [(p.path, p.line, p.message) for p in pairs.find(tmp_path / "examples")] == [
        ("examples/zh-TW/m00/README.md", 1, "there is no examples/en/m00/README.md"),
        ("examples/zh-TW/m00/m00_1_first.py", 1, "there is no examples/en/m00/m00_1_first.py"),
        ("examples/en/appendix/fx_basics.py", 1, "there is no examples/zh-TW/appendix/fx_basics.py"),
    ]
    assert [(p.path, p.line, p.message) for p in pairs.check_all(tmp_path)] == [
        ("docs/zh-TW/a.md", 1, "there is no docs/en/a.md"),
        ("docs/en/labs/lab_m00.ipynb", 1, "there is no docs/zh-TW/labs/lab_m00.ipynb"),
    ]


def test_the_project_has_its_pairs() -> None:
    assert "\n".join(map(str, pairs.find(ROOT / "examples") + pairs.check_all(ROOT))) == ""


WHERE = "examples/zh-TW/m00/x.py", "examples/en/m00/x.py"
DOT_ZH = 'digraph {\n  conv2d [label="conv2d" class="op"]\n  x [label="輸入 x（2, 3）" width=1.93 height="0.4"]\n}'
DOT_EN = 'digraph {\n  conv2d [label="conv2d" class="op"]\n  x [label="input x (2, 3)" width=2.5 height="0.4"]\n}'
OUTPUTS_ZH = [
    {"kind": "text", "text": "誤差 0.50，relu.args\n[2, 3]\n三個", "line": 3},
    {
        "kind": "table",
        "title": "圖 1",
        "headers": ["名稱", "shape"],
        "rows": [["輸入 x_1", "[2, 3]"], ["w", "[8]"]],
        "line": 5,
    },
    {"kind": "figure", "title": "開始", "dot": DOT_ZH, "text": "名稱    op\n------  --\n輸入 x  conv2d\n", "line": 7},
]
OUTPUTS_EN = [
    {"kind": "text", "text": "relu.args is off by 0.50\n[2, 3]\nthree", "line": 4},
    {
        "kind": "table",
        "title": "Figure 1",
        "headers": ["name", "shape"],
        "rows": [["the x_1", "[2, 3]"], ["w", "[8]"]],
        "line": 6,
    },
    {
        "kind": "figure",
        "title": "Start",
        "dot": DOT_EN,
        "text": "name     op\n-------  --\ninput x  conv2d\n",
        "line": 8,
    },
]


def outputs(number: int, **changes: object) -> list[dict]:
    """The English outputs with one of them changed."""
    return [item | changes if i == number else item for i, item in enumerate(OUTPUTS_EN)]


@pytest.mark.parametrize(
    ("en", "zh_line", "line", "words"),
    [
        (
            outputs(0, text="relu.args is off by 0.51\n[2, 3]\nthree"),
            3,
            4,
            ["output 1: text, line 1", "only here: 0.51"],
        ),
        (outputs(0, text="relu.args is off by -0.50\n[2, 3]\nthree"), 3, 4, ["only here: -0.50"]),
        (outputs(0, text="relu.users is off by 0.50\n[2, 3]\nthree"), 3, 4, ["only there: relu.args"]),
        (outputs(0, text="relu.args is off by 0.50\n[2, 4]\nthree"), 3, 4, ["text, line 2: `[2, 4]`, and `[2, 3]`"]),
        (outputs(0, text="relu.args is off by 0.50\n[2, 3]\n3"), 3, 4, ["text, line 3", "only here: 3"]),
        (outputs(0, text="relu.args is off by 0.50\n[2, 3]"), 3, 4, ["2 lines, and 3 in the Chinese"]),
        (outputs(0, kind="table", headers=[], rows=[]), 3, 4, ["output 1: a table, and a text in the Chinese"]),
        (outputs(1, headers=["name", "shapes"]), 5, 6, ["output 2: headers: `shapes`, and `shape`"]),
        (outputs(1, rows=[["the x_2", "[2, 3]"], ["w", "[8]"]]), 5, 6, ["row 1", "only here: x_2"]),
        (outputs(1, rows=[["the x_1", "[2, 3]"], ["w", "[9]"]]), 5, 6, ["row 2: `[9]`, and `[8]`"]),
        (outputs(1, rows=[["the x_1", "[2, 3]"]]), 5, 6, ["a table of 1 rows by 2, and 2 by 2"]),
        (outputs(1, title="Figure 2"), 5, 6, ["title, line 1", "only here: 2"]),
        (outputs(2, dot=DOT_EN.replace('"op"', '"gone"')), 7, 8, ["the graph, line 2 of the DOT", '"gone"']),
        (outputs(2, dot=DOT_EN.replace("x [", "y [")), 7, 8, ["the graph, line 3 of the DOT"]),
        (outputs(2, dot=DOT_EN.replace("(2, 3)", "(2, 4)")), 7, 8, ["line 3 of the DOT", "only here: 4"]),
        (outputs(2, dot=DOT_EN + "\nx -> y"), 7, 8, ["line 5 of the DOT: `x -> y`"]),
        (outputs(2, text="name     op\n-------  --\ninput x  conv1d\n"), 7, 8, ["text, line 3"]),
        (OUTPUTS_EN[:2], 7, 1, ["output 3: nothing, and a figure"]),
    ],
)
def test_wrong_outputs(en: list[dict], zh_line: int, line: int, words: list[str]) -> None:
    assert_only(pairs.check_outputs(OUTPUTS_ZH, en, WHERE), WHERE[1], line, f"({WHERE[0]}:{zh_line})", *words)


def test_right_outputs() -> None:
    assert pairs.check_outputs(OUTPUTS_ZH, OUTPUTS_EN, WHERE) == []
    assert pairs.check_outputs([], [], WHERE) == []


def test_sizes_count_where_the_label_is_not_translated() -> None:
    item = {"kind": "figure", "dot": 'x [label="x" width=1]', "text": "", "line": 1}
    problems = pairs.check_outputs([item], [item | {"dot": 'x [label="x" width=2]'}], WHERE)
    assert_only(problems, WHERE[1], 1, "width=2")
