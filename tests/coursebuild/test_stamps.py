"""Stamps: a changed Chinese text makes its English twin stale; one command stamps it anew and touches nothing else."""

import json
import re
from pathlib import Path

import pytest

from coursebuild import stamps
from coursebuild.cells import read
from coursebuild.problems import BuildError
from tests.coursebuild.sample_pair import EN, ZH, assert_only, changed, write

ROOT = Path(__file__).parents[2]
PATH = "examples/{}/m00/m00_1_first.py"
PAGE = "docs/{}/a.md"
LAB = "docs/{}/labs/lab_m00.ipynb"
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "a", "metadata": {"tags": ["x"]}, "source": ["# 題目\n", "想一想。"]},
        {"cell_type": "code", "id": "b", "metadata": {}, "outputs": [], "source": ["x = 1  # 一"]},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def pair(root: Path, zh: str = ZH, en: str = EN, name: str = PATH) -> tuple[Path, Path]:
    """Both files of a pair."""
    return write(root, "zh-TW", zh, name), write(root, "en", en, name)


def stamped(root: Path, zh: str = ZH, en: str = EN, name: str = PATH) -> tuple[Path, Path]:
    """Both files of a pair, the English one stamped."""
    paths = pair(root, zh, en, name)
    assert stamps.restamp(root) == [paths[1]]
    return paths


def found(paths: tuple[Path, Path]) -> list[str]:
    """The stamps in the English file."""
    return [cell.stamp for cell in read(paths[1]).cells]


def test_restamp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = stamped(tmp_path)
    assert stamps.check(*paths) == []
    assert stamps.fingerprints(read(paths[0])) == found(paths)
    text = paths[1].read_text(encoding="utf-8")
    assert re.sub(r"\bzh:[0-9a-f]{8}\b", "STAMP", text) == "# STAMP\n" + EN.replace("# %%", "# %% STAMP").replace(
        "STAMP answer", "answer STAMP"
    )
    assert stamps.strip(text) == EN
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[0] for line in lines] == [f"{PATH.format('en')}:{n}:" for n in (1, 7, 30, 36)]
    assert lines[0].endswith(f"no stamp → zh:{found(paths)[0]}")


def test_a_second_restamp_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = stamped(tmp_path)
    before = paths[1].stat().st_mtime_ns, capsys.readouterr() and paths[1].read_bytes()
    assert stamps.restamp(tmp_path) == []
    assert (paths[1].stat().st_mtime_ns, paths[1].read_bytes()) == before
    assert capsys.readouterr().out == ""


# (what is replaced in the Chinese sample, what replaces it, the cells that become stale)
STALE = {
    "docstring": ("讀完這一頁", "讀過這一頁", [0]),
    "title": ("第一章", "第 1 章", [0]),
    "prose": ("算給你看：", "算一次：", [3]),
    "heading": ("A. 匯出", "A. 輸出", [1]),
    "table": ("| 步驟 |", "| 階段 |", [1]),
    "fenced comment": ("重新產生", "再產生", [1]),
    "box's title": ("六乘八是多少？", "六乘八等於？", [2]),
    "comment": ("# 六乘七", "# 七乘六", [1]),
    "comment taken out": ("  # 六乘七", "", [1]),
    "string": ('"答案是"', '"答案"', [1]),
    "f-string": ("f\"誤差", "f\"差", [1]),
    "link": ("#step-1", "#step-2", [1]),
    "nothing: a line break": ("讀完這一頁，你會", "讀完這一頁，\n你會", []),
    "nothing: code": ("6 * 7", "6 * 8", []),
    "nothing: a string without Chinese": ('"plain"', '"plane"', []),
    "nothing: a blank line": ("\nvalue = 6", "\n\nvalue = 6", []),
}  # fmt: skip


@pytest.mark.parametrize("case", STALE)
def test_stale(tmp_path: Path, case: str) -> None:
    old, new, cells = STALE[case]
    paths = stamped(tmp_path)
    before, text = found(paths), paths[1].read_text(encoding="utf-8")
    zh = write(tmp_path, "zh-TW", changed(ZH, old, new))
    problems = stamps.check(*paths)
    assert [problem.line for problem in problems] == [read(paths[1]).cells[i].line for i in cells]
    if cells:
        there = f"{PATH.format('zh-TW')}:{read(zh).cells[cells[0]].line}"
        new_stamp = stamps.fingerprints(read(zh))[cells[0]]
        words = ["has changed since", there, f"now zh:{new_stamp}", f"here zh:{before[cells[0]]}", "make restamp"]
        assert_only(problems, PATH.format("en"), problems[0].line, *words)
    assert stamps.restamp(tmp_path) == ([paths[1]] if cells else [])
    assert stamps.check(*paths) == []
    after = paths[1].read_text(encoding="utf-8")
    assert stamps.strip(after) == stamps.strip(text)
    assert [a == b for a, b in zip(found(paths), before, strict=True)] == [i not in cells for i in range(4)]


def test_missing_stamps(tmp_path: Path) -> None:
    problems = stamps.check(*pair(tmp_path))
    assert [(p.path, p.line) for p in problems] == [(PATH.format("en"), line) for line in (1, 7, 30, 36)]
    for problem, line in zip(problems, (1, 7, 30, 36), strict=True):
        assert f"no stamp says which Chinese text this was made from ({PATH.format('zh-TW')}:{line})" in problem.message
        assert "make restamp" in problem.hint


def test_one_missing_stamp(tmp_path: Path) -> None:
    paths = stamped(tmp_path)
    text = paths[1].read_text(encoding="utf-8")
    paths[1].write_text(re.sub(r"answer zh:\w+", "answer", text), encoding="utf-8")
    assert_only(stamps.check(*paths), PATH.format("en"), 37, "no stamp")
    stamps.restamp(tmp_path)
    assert paths[1].read_text(encoding="utf-8") == text


@pytest.mark.parametrize("wrong", ["zh:12", "zh:0123ABCD", "zh:0123456789"])
def test_an_ill_formed_stamp_is_replaced(tmp_path: Path, wrong: str) -> None:
    paths = stamped(tmp_path)
    right = paths[1].read_text(encoding="utf-8")
    for stamp in found(paths):
        paths[1].write_text(right.replace(f"zh:{stamp}", wrong), encoding="utf-8")
        assert len(stamps.check(*paths)) == 1
        stamps.restamp(tmp_path)
        assert paths[1].read_text(encoding="utf-8") == right


def test_line_ends_and_trailing_spaces_stay(tmp_path: Path) -> None:
    en = EN.replace("# %% answer", "# %% answer  ").replace("\n", "\r\n")
    paths = pair(tmp_path)
    paths[1].write_bytes(en.encode())
    stamps.restamp(tmp_path)
    assert stamps.check(*paths) == []
    text = paths[1].read_bytes().decode()
    assert text.count("\r\n") == text.count("\n") == EN.count("\n") + 1
    assert text.startswith(f"# zh:{found(paths)[0]}\r\n")
    assert f"# %% answer  zh:{found(paths)[3]}\r\n" in text


@pytest.mark.parametrize("front", ["", "---\ntitle: 頁面\n---\n"])
@pytest.mark.parametrize("name", [PAGE, "examples/{}/m00/README.md"])
def test_page(tmp_path: Path, front: str, name: str) -> None:
    en = front.replace("頁面", "The page") + "# The page\n\nText.\n"
    paths = pair(tmp_path, f"{front}# 頁面\n\n文字。\n", en, name)
    line = front.count("\n") + 1
    assert_only(stamps.check(*paths), name.format("en"), line, "no stamp", f"{name.format('zh-TW')}:{line}")
    stamps.restamp(tmp_path)
    assert stamps.check(*paths) == []
    text = paths[1].read_text(encoding="utf-8")
    assert text.split("\n")[line - 1] == f"<!-- zh:{found(paths)[0]} -->"
    assert stamps.strip(text) == en
    write(tmp_path, "zh-TW", f"{front}# 頁面\n\n新的文字。\n", name)
    assert_only(stamps.check(*paths), name.format("en"), line, "has changed since")
    stamps.restamp(tmp_path)
    assert stamps.check(*paths) == []
    assert stamps.strip(paths[1].read_text(encoding="utf-8")) == en


def test_front_matter_counts(tmp_path: Path) -> None:
    paths = stamped(tmp_path, "---\ntitle: 頁面\n---\n# 頁面\n", "---\ntitle: Page\n---\n# Page\n", PAGE)
    write(tmp_path, "zh-TW", "---\ntitle: 新頁\n---\n# 頁面\n", PAGE)
    assert_only(stamps.check(*paths), PAGE.format("en"), 4, "has changed since")


@pytest.mark.parametrize(("indent", "ascii_only", "end"), [(1, False, "\n"), (2, True, ""), (4, False, "\n")])
def test_lab(tmp_path: Path, indent: int, ascii_only: bool, end: str) -> None:
    zh = json.dumps(NOTEBOOK, indent=indent, ensure_ascii=ascii_only) + end
    en = json.dumps(json.loads(zh.replace("題目", "Puzzle é")), indent=indent, ensure_ascii=ascii_only) + end
    paths = pair(tmp_path, zh, en, LAB)
    assert [problem.path for problem in stamps.check(*paths)] == [LAB.format("en")] * 2
    stamps.restamp(tmp_path)
    assert stamps.check(*paths) == []
    text = paths[1].read_text(encoding="utf-8")
    assert [list(cell["metadata"]) for cell in json.loads(text)["cells"]] == [["tags", "zh"], ["zh"]]
    assert stamps.strip(text) == en
    write(tmp_path, "zh-TW", zh.replace("# 題目", "# 新題目"), LAB)
    assert len(stamps.check(*paths)) == (not ascii_only)


def test_a_lab_in_another_layout_is_refused(tmp_path: Path) -> None:
    text = json.dumps(NOTEBOOK, indent=1, ensure_ascii=False)
    paths = pair(tmp_path, text, text.replace(' "nbformat":', ' "nbformat" :'), LAB)
    before = paths[1].read_bytes()
    with pytest.raises(BuildError) as caught:
        stamps.restamp(tmp_path)
    assert_only(caught.value.problems, LAB.format("en"), 1, "isn't laid out as Jupyter saves notebooks")
    assert paths[1].read_bytes() == before


def test_unequal_cells_are_refused(tmp_path: Path) -> None:
    paths = pair(tmp_path, en=EN[: EN.index("\n# %% answer")])
    other = pair(tmp_path, "# 頁面\n", "# Page\n", PAGE)
    assert stamps.check(*paths) == []
    before = paths[1].read_bytes()
    with pytest.raises(BuildError) as caught:
        stamps.restamp(tmp_path)
    words = ["3 cells, and 4 in examples/zh-TW/m00/m00_1_first.py:1", "the same cells first"]
    assert_only(caught.value.problems, PATH.format("en"), 1, *words)
    assert paths[1].read_bytes() == before
    assert stamps.check(*other) == []


def test_only_what_is_named(tmp_path: Path) -> None:
    first, page = pair(tmp_path), pair(tmp_path, "# 頁面\n", "# Page\n", PAGE)
    assert stamps.restamp(tmp_path, [first[0]]) == [first[1]]
    assert stamps.restamp(tmp_path, [first[1]]) == []
    assert stamps.restamp(tmp_path, [tmp_path / "docs" / "en"]) == [page[1]]


def test_an_unknown_path_is_refused(tmp_path: Path) -> None:
    pair(tmp_path)
    with pytest.raises(BuildError, match=r"examples/en/m00/none\.py:1: there is no pair of files here"):
        stamps.restamp(tmp_path, [tmp_path / "examples/en/m00/none.py"])


def test_check_all(tmp_path: Path) -> None:
    pair(tmp_path)
    pair(tmp_path, "# 頁面\n", "# Page\n", PAGE)
    write(tmp_path, "en", "# Alone\n", "docs/{}/alone.md")
    assert {problem.path for problem in stamps.check_all(tmp_path)} == {PATH.format("en"), PAGE.format("en")}
    stamps.restamp(tmp_path)
    assert stamps.check_all(tmp_path) == []


def test_the_project_is_stamped() -> None:
    assert "\n".join(map(str, stamps.check_all(ROOT))) == ""
