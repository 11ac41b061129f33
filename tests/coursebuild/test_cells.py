"""Cells: split where mkdocs-gallery splits, with exact lines, in scripts, pages and labs."""

import contextlib
import json
import random
from pathlib import Path

import pytest
from mkdocs_gallery.py_source_parser import split_code_and_text_blocks

from coursebuild.cells import Source, Text, parse_code, read
from coursebuild.problems import BuildError
from tests.coursebuild.sample_pair import EN, ZH, changed, write

ROOT = Path(__file__).parents[2]
ODD = {
    "header in a string": '"""\n# T\n"""\ntext = """\n# %%\n# not prose\n"""\n',
    "header swallowed": '"""\n# T\n"""\n# %%\n# prose\n# %%\n# more prose\nx = 1\n',
    "hashes": f'"""\n# T\n"""\nx = 1\n{"#" * 20} title\n# prose\n\ny = 2\n',
    "no space": '"""\n# T\n"""\n#%%\n# prose\nx = 1\n',
    "blank lines": '"""\n\n# T\n\n\nmore\n\n"""\n\n\n\n# %%\n\n\n# a comment\n\nx = 1\n\n\n',
    "empty cells": '"""\n# T\n"""\n# %%\n# %%\n\n# %%\n#\n#\n\n# %%\nx = 1\n',
    "indented prose": '"""\n# T\n"""\n# %%\n#\n#     code\n#\n#   text\n#\n# %%\n\n    # %%\nx = 1\n',
    "comments above": '# zh:01234567\n# -*- coding: utf-8 -*-\n"""\n# T\n"""\nx = 1\n',
    "docstring in one line": '"""# T"""\nx = 1\n# %%\n# prose',
    "windows": '"""\r\n# T\r\n"""\r\n\r\n# %%\r\n# prose\r\nx = 1\r\n',
    "tags": '"""\n# T\n"""\n# %% answer zh:01234567   \n# prose\n\nx = 1\n',
    "raw docstring": 'r"""\n# T \\d\n"""\n# %%\nx = 1\n',
}


def blocks(source: Source) -> list[tuple[str, str, int]]:
    """The cells as mkdocs-gallery has them: (kind, content, line); it counts from the line below a header."""
    found = []
    for cell in source.cells:
        line = cell.line + 1 if cell.header else 1
        found += [("text", cell.prose.text, line)] if cell.prose else []
        found += [("code", cell.code.text, cell.code.line)] if cell.code else []
    return found


def agrees(path: Path) -> None:
    """Both split the file alike. mkdocs-gallery keeps the blank line that a docstring begins with."""
    expected = [
        (kind, text if line > 1 else text.lstrip("\n"), line)
        for kind, text, line in split_code_and_text_blocks(path)[1]
    ]
    assert blocks(read(path)) == expected


@pytest.mark.parametrize("text", [ZH, EN, *ODD.values()], ids=["zh", "en", *ODD])
def test_splits_like_mkdocs_gallery(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, "en", "")
    path.write_bytes(text.encode())
    agrees(path)


def test_splits_every_chapter_like_mkdocs_gallery() -> None:
    chapters = sorted(ROOT.glob("examples/*/*/*.py"))
    assert chapters
    for path in chapters:
        agrees(path)


def test_splits_random_files_like_mkdocs_gallery(tmp_path: Path) -> None:
    lines = [
        "# %%",
        "# %% answer",
        "#%%",
        "# prose",
        "#",
        "",
        "",
        "x = 1",
        "#  indented",
        "#" * 20,
        "    ",
        "y = '# %%'",
        "#no space",
    ]
    choice = random.Random(0).choices
    compared = 0
    for _ in range(300):
        path = write(tmp_path, "en", "\n".join(['"""', "# T", '"""', *choice(lines, k=12), ""]))
        with contextlib.suppress(BuildError):  # the indented lines may be no Python
            agrees(path)
            compared += 1
    assert compared > 200


def test_every_line_is_where_it_says(tmp_path: Path) -> None:
    path = write(tmp_path, "zh-TW", ZH)
    lines = ZH.split("\n")
    for cell in read(path).cells:
        for number, text in cell.prose.lines():
            assert lines[number - 1].removeprefix("#").strip() == text.strip() or lines[number - 1] == text
        for number, text in cell.code.lines() if cell.code else ():
            assert lines[number - 1] == text


@pytest.mark.parametrize(
    ("docstring", "line"),
    [
        ('"""\n# T\n"""', 2),
        ('"""# T\n"""', 1),
        ('"""\n\n\n# T\n"""', 4),
        ('"""\\\n# T\n"""', 2),
        ('# zh:01234567\n"""\n# T\n"""', 3),
    ],
)
def test_line_of_the_title(tmp_path: Path, docstring: str, line: int) -> None:
    cell = read(write(tmp_path, "en", f"{docstring}\nx = 1\n")).cells[0]
    assert (cell.prose.line, cell.prose.text) == (line, "# T")


def test_headers_tags_and_stamps(tmp_path: Path) -> None:
    text = '# zh:00000000\n"""\n# T\n"""\n\n# %% answer zh:11111111\n# prose\n\n# %%\nx = 1\n\n# %% zh:2222\n# prose\n'
    first, answer, plain, last = read(write(tmp_path, "en", text)).cells
    assert (first.stamp, first.stamp_line, first.line, first.header) == ("00000000", 1, 2, "")
    assert (answer.tags, answer.stamp, answer.line, answer.kind) == (("answer",), "11111111", 6, "prose")
    assert (plain.tags, plain.stamp, plain.line, plain.kind) == ((), "", 9, "code")
    assert (last.tags, last.stamp) == ((), "2222")


def test_code_keeps_its_lines(tmp_path: Path) -> None:
    cell = read(write(tmp_path, "zh-TW", ZH)).cells[1]
    tree = parse_code(cell.code)
    assert [ZH.split("\n")[node.lineno - 1] for node in tree.body][-1] == "assert value == 42"


def test_magics_are_strings() -> None:
    first, second = parse_code(Text(7, "%pip install x\nx = 1")).body
    assert (first.value.value, first.lineno, second.lineno) == ("%pip install x", 7, 8)


def test_page(tmp_path: Path) -> None:
    source = read(write(tmp_path, "en", "---\ntitle: x\n---\n<!-- zh:01234567 -->\n# T\n\ntext\n", "docs/{}/a.md"))
    (cell,) = source.cells
    assert (source.front.text, cell.stamp, cell.stamp_line) == ("---\ntitle: x\n---\n", "01234567", 4)
    assert (cell.prose.line, cell.prose.text) == (5, "# T\n\ntext\n")


def test_page_without_front_matter_and_stamp(tmp_path: Path) -> None:
    (cell,) = read(write(tmp_path, "en", "# T\n", "docs/{}/a.md")).cells
    assert (cell.stamp, cell.stamp_line, cell.prose) == ("", 1, Text(1, "# T\n"))


def notebook(*cells: dict) -> str:
    """A notebook as Jupyter saves it."""
    outputs = {"source": ["decoy"]}
    full = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [outputs], "source": []} | c
        for i, c in enumerate(cells)
    ]
    return json.dumps({"cells": full, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def test_lab(tmp_path: Path) -> None:
    text = notebook(
        {"cell_type": "markdown", "metadata": {"tags": ["t"], "zh": "01234567"}, "source": ["# T\n", "\n", "text"]},
        {"source": ["%pip install x\n", "x = 1"]},
        {"cell_type": "raw", "source": ["raw"]},
    )
    prose, code, raw = read(write(tmp_path, "en", text, "docs/{}/labs/a.ipynb")).cells
    lines = text.split("\n")
    assert (prose.id, prose.tags, prose.stamp, prose.kind, raw.kind) == ("c0", ("t",), "01234567", "prose", "nothing")
    assert '"# T' in lines[prose.prose.line - 1] and '"x = 1"' in lines[code.code.line]


@pytest.mark.parametrize(
    ("name", "content", "line", "words"),
    [
        ("examples/{}/m00/a.py", b'"""\n# T\n"""\nx = (\n', 4, "SyntaxError: '(' was never closed"),
        ("examples/{}/m00/a.py", b"x = 1\n", 1, "has no docstring"),
        ("examples/{}/m00/a.py", b'"""\n# T\n"""\nx = "\xff"\n', 4, "is not UTF-8"),
        ("examples/{}/m00/a.py", b'"""\n# T\n"""\nx = "\0"\n', None, "null bytes"),
        ("docs/{}/labs/a.ipynb", b"{\n}", 1, "can't be read as a notebook"),
        ("docs/{}/labs/a.ipynb", b'{\n "cells": [,]}', 2, "can't be read as a notebook"),
        (
            "docs/{}/labs/a.ipynb",
            b'{"cells": [{"cell_type": "code", "source": [], "metadata": {}}]}',
            1,
            "lines of their own",
        ),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, content: bytes, line: int | None, words: str) -> None:
    path = write(tmp_path, "en", "", name)
    path.write_bytes(content)
    with pytest.raises(BuildError) as caught:
        read(path)
    (problem,) = caught.value.problems
    assert (problem.path, words in problem.message) == (name.format("en"), True), str(problem)
    assert line in (None, problem.line)
    assert str(problem).startswith(f"{name.format('en')}:{problem.line}: ") and "\n    " in str(problem)


def test_changed_insists_on_one_occurrence() -> None:
    with pytest.raises(AssertionError, match="occurs 0 times"):
        changed("a", "b", "c")
