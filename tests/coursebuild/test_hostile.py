"""Hostile and odd content is shown literally, is never executed, and breaks neither page nor figure."""

import json

import pytest
from lxml import html

from coursebuild.execution.recorder import plain
from tests.minisite import SUMMARY, Minisite

pytestmark = pytest.mark.slow
NASTY = [
    "<script>document.title = 'owned'</script><img src=x onerror=alert(1)>",
    "</pre></details></div><!-- no end",
    "```\nnot a fence\n```\n~~~",
    "# no heading {#no-id}\n\n* no list\n\n| no | table |\n|---|---|",
    "[no link](http://example.com) ![no image](x.png) &lt; &amp; &#35; {{ no.template }} {% no %}",
    "<!-- outputs of line 8 -->\n<!-- GENERATED FROM PYTHON SOURCE LINES 1-9 -->\n<!-- chapters -->",
    "\x1b[31mred\x1b[0m \x00\x07\x02\x03 tab\there \r\nline",
    "中文、全形，標點。🎉 👩‍💻 é ﷽ \u202eright to left\u202c",
    "x" * 5000,
    "chapter:m00_1_first zh:12345678 /etc/passwd $HOME `code` \\ \\n 'single' \"double\"",
]
NAMES = [
    "aten::add",
    "<built-in function getitem>",
    "back\\slash",
    'quo"te',
    "名字",
    "🎉",
    "n" * 200,
    "a->b",
    "{r|e}",
    "&amp;",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    site = Minisite.create(tmp_path_factory.mktemp("hostile"))
    outputs = "\n".join(f"print({text!r})\ntable([[{text!r}, 1]], ['cell', 'n'])" for text in NASTY)
    site.edit_pair("m00_1_first", "value = 6 * 7", outputs + "\nprint('y' * 3_000_000)\nvalue = 6 * 7")
    odd = f"""
gm = torch.fx.symbolic_trace(Tiny())
for node, name in zip(list(gm.graph.nodes)[:3], {NAMES[:3]!r}):
    node.name = name
draw(gm, title='<script>alert(1)</script> "q" & \\\\ 🎉')
for names in ({NAMES[3:6]!r}, {NAMES[6:9]!r}, {NAMES[7:10]!r}):
    gm = torch.fx.symbolic_trace(Tiny())
    for node, name in zip(list(gm.graph.nodes)[:3], names):
        node.name = name
    draw(gm, title="odd names")
gm = torch.fx"""
    site.edit_pair("m00_2_second", "gm = torch.fx", odd)
    result = site.build("--draft")
    assert (result.code, result.last) == (0, SUMMARY.format(4, 4, 0, 0)), result.err
    return site


@pytest.mark.parametrize("language", ["zh-TW", "en"])
def test_printed_text_is_shown_literally(built, language):
    tree = html.document_fromstring(built.page(f"{language}/m00/m00_1_first").encode())
    outputs = [pre.text_content() for pre in tree.xpath("//pre[@class='pt2e-out']")]
    for text in NASTY:
        assert plain(text).strip("\n") in outputs, text
    cells = [td.text_content() for td in tree.xpath("//div[contains(@class, 'fx-table')]//td")]
    for text in NASTY:
        assert any(_same(text, cell) for cell in cells), text


def _same(text, cell):
    """A cell is one line: control characters are spaces in it, and backticks mark code."""
    one_line = "".join(" " if ord(char) < 32 else char for char in text)
    return " ".join(one_line.replace("`", "").split()) == " ".join(cell.replace("`", "").split())


@pytest.mark.parametrize("language", ["zh-TW", "en"])
def test_nothing_of_it_becomes_markup(built, language):
    for stem in ("m00_1_first", "m00_2_second"):
        text = built.page(f"{language}/m00/{stem}")
        tree = html.document_fromstring(text.encode())
        article = tree.xpath("//article")[0]
        scripts = [s for s in article.iter("script") if s.get("type") != "application/json"]
        assert not scripts and not article.xpath(".//img") and not article.xpath(".//*[@onerror]")
        assert not article.xpath(".//*[@id='no-id']") and not article.xpath(".//a[contains(@href, 'example.com')]")
        assert article.xpath(".//p[contains(@class, 'pt2e-ledger')]"), "the page goes on to its end"
        for data in article.xpath(".//script[@type='application/json']"):
            json.loads(data.text)


@pytest.mark.parametrize("language", ["zh-TW", "en"])
def test_a_page_stays_light(built, language):
    assert len(built.page(f"{language}/m00/m00_1_first")) < 400_000
    assert "y" * 25_000 not in built.page(f"{language}/m00/m00_1_first")
    book = (built.root / "site" / language / "m00" / "m00_1_first.ipynb").read_text(encoding="utf-8")
    assert "y" * 3_000_000 in book


def test_ids_in_figures_are_unique(built):
    ids = html.document_fromstring(built.page("en/m00/m00_2_second").encode()).xpath("//@id")
    assert len(ids) == len(set(ids))
