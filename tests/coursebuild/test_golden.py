"""Golden files: a change of what a chapter shows is named with its place."""

import json

from coursebuild import golden
from coursebuild.project import Chapter

CHAPTER = Chapter("en", "m00", "m00_1_x")
OUTPUTS = [
    {"kind": "text", "id": "a-output-1", "line": 3, "text": "one\ntwo"},
    {"kind": "table", "id": "a-table-1", "line": 3, "title": "T", "headers": ["h", "i"], "rows": [["1", "2"]]},
    {"kind": "figure", "id": "a-figure-1", "line": 9, "title": "F", "text": "x = y", "dot": "digraph {}"},
]


def result(tmp_path, outputs):
    (tmp_path / "outputs.json").write_text(json.dumps(outputs))
    return {CHAPTER: tmp_path}


def test_text():
    assert golden.text_of(OUTPUTS) == (
        "== text #a-output-1\none\ntwo\n\n== table #a-table-1: T\nh | i\n1 | 2\n\n"
        "== figure #a-figure-1: F\nx = y\n-- DOT\ndigraph {}\n"
    )


def test_compare_and_record(tmp_path):
    root = tmp_path / "root"
    wanted = golden.texts(result(tmp_path, OUTPUTS))
    assert [p.message for p in golden.compare(root, wanted)] == ["the chapter has no golden file yet"]
    assert golden.record(root, wanted) == [golden.path_of(CHAPTER)]
    assert golden.compare(root, wanted) == [] == golden.record(root, wanted)
    changed = golden.texts(result(tmp_path, [OUTPUTS[0] | {"text": "one\n2"}, *OUTPUTS[1:]]))
    (problem,) = golden.compare(root, changed)
    assert (problem.path, problem.line) == ("tests/golden/en/m00/m00_1_x.txt", 3)
    assert "-two\n+2" in problem.hint


def test_a_chapter_that_is_gone(tmp_path):
    root = tmp_path / "root"
    golden.record(root, golden.texts(result(tmp_path, OUTPUTS)))
    assert [p.message for p in golden.compare(root, {})] == ["there is no such chapter any more"]
    assert golden.record(root, {}) == [golden.path_of(CHAPTER)]
    assert golden.compare(root, {}) == []
