"""Tables as HTML and as text."""

from __future__ import annotations

import pytest
from lxml import html

from common.viz import Table


def cells(table: Table) -> list[list[str]]:
    page = html.fromstring(table.html("t-1"))
    return [[cell.text_content() for cell in row.xpath("th|td")] for row in page.xpath(".//tr")]


def test_html_holds_the_cells_as_text():
    table = Table([[0, "`conv.weight`", None], [1, "a < b & c", "[2, 3]"]], ["#", "target", "`note`"])
    assert cells(table) == [["#", "target", "note"], ["0", "conv.weight", ""], ["1", "a < b & c", "[2, 3]"]]
    page = table.html("t-1")
    assert "<td><code>conv.weight</code></td>" in page
    assert "a &lt; b &amp; c" in page
    assert "</td><td" not in page
    assert "</th><th" not in page


def test_no_cell_can_break_out():
    page = Table([["</td><script>alert(1)</script>", '"quoted"']], ["`<b>`", "x"], title='"><i>').html("t-1")
    assert "<script" not in page
    assert "<i>" not in page
    assert "<code>&lt;b&gt;</code>" in page


def test_the_wrapper_scrolls_and_can_be_reached_by_keyboard():
    for title, label in [("Signature", "Signature"), ("", "Table: node, `kind`".replace("`", ""))]:
        wrapper = html.fromstring(Table([["x", "y"]], ["node", "`kind`"], title).html("t-7"))
        assert wrapper.get("id") == "t-7"
        assert (wrapper.get("tabindex"), wrapper.get("role"), wrapper.get("aria-label")) == ("0", "region", label)
    assert "表格：".rstrip("：") in Table([["x"]], ["種類"]).html("t-1")


def test_numbers_stand_right():
    page = html.fromstring(Table([[1, "−0.5", "1e-05", "2 x"], [10, "3", "40.1 dB", "3"]], list("abcd")).html("t"))
    assert [th.get("class") for th in page.xpath(".//th")] == ["fx-number"] * 3 + [None]


def test_text_is_aligned_where_chinese_takes_two_columns():
    table = Table([["輸入", "`x`"], ["conv2d", "權重"]], ["名稱", "種類"], title="節點")
    assert table.text.splitlines() == [
        "節點",
        "名稱    種類",
        "──────  ────",
        "輸入    x",
        "conv2d  權重",
    ]


def test_a_row_of_another_length_is_named():
    with pytest.raises(ValueError, match=r"row 2 has 1 cells, expected 2, one for each header \(a, b\)"):
        Table([[1, 2], [3]], ["a", "b"])
    with pytest.raises(TypeError, match="row 1 is a str; a row is a list of cells"):
        Table(["ab"], ["a", "b"])


def test_rows_may_be_a_generator_and_may_be_none():
    assert Table(([i, i * i] for i in range(2)), ["i", "square"]).rows == [["0", "0"], ["1", "1"]]
    assert cells(Table([], ["a"])) == [["a"]]
    assert Table([], ["a"]).text == "a\n─"
