"""Every check of the built site, on a small good site that is broken in one way at a time."""

import json
import shutil
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from coursebuild import sitecheck
from coursebuild.problems import Problem
from coursebuild.project import LANGUAGES

Fault = Callable[[Path], None]

URL = "https://course.example.org/repo/"
STEM = "m00_1_first"
CHAPTER = f"m00/{STEM}/index.html"
OVERVIEW = "m00/index.html"
TITLES = {"zh-TW": "匯出後的圖", "en": "The graph after export"}
TEXT = {
    "zh-TW": "這一頁說明匯出後的圖，以及 node 的順序。",
    "en": "This page is about the graph after export, and about the order of its nodes. " * 3,
}
PAGE = """<!doctype html>
<html lang="{language}">
<head>
<title>{title}</title>
<meta name="description" content="{title}">
<link rel="canonical" href="{url}{language}/{path}">
<link rel="alternate " hreflang="zh-TW" href="{url}zh-TW/{path}">
<link rel="alternate " hreflang="en" href="{url}en/{path}">
<link rel="alternate " hreflang="x-default" href="{url}">
<link rel="icon" href="{up}assets/icon.svg">
<link rel="stylesheet" href="{up}assets/site.css">
</head>
<body>
<a href="{up}../{other}/{path}" hreflang="{other}" lang="{other}">{other_title}</a>
<nav class="md-nav md-nav--primary"><a class="md-nav__link" href="{up}m00/">M00</a></nav>
<article>
<h1 id="title">{title}</h1>
{bar}
<h2 id="a">A</h2>
<p>{text} <a href="#a">A</a> <a href="https://pytorch.org/">PyTorch</a> <code>x[0](1)</code></p>
<h3 id="a1">A1</h3>
<div tabindex="0"><table><tr><td>conv2d</td></tr></table></div>
<pre>output</pre>
<img src="{up}assets/icon.svg" alt="">
<script>const text = "!!! 中文 {{#x}}";</script>
{foot}
</article>
</body>
</html>
"""
ROOT = """<!doctype html>
<html lang="zh-TW"><head><title>Course</title></head>
<body><h1>Course</h1>{links}</body></html>
"""


def write(path: Path, text: str) -> None:
    """Write a file and the folders it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def page(language: str, name: str) -> str:
    """A good page."""
    path = name.removesuffix("index.html")
    other = next(one for one in LANGUAGES if one != language)
    colab = f"https://colab.research.google.com/github/o/r/blob/gh-pages/{language}/m00/{STEM}.ipynb"
    bar = f'<a href="../{STEM}.py">py</a> <a href="../{STEM}.ipynb">ipynb</a> <a href="{colab}">Colab</a>'
    foot = '<p class="pt2e-ledger" data-asserts="48">48 assertions hold.</p>' if name == CHAPTER else ""
    return PAGE.format(
        language=language, other=other, path=path, url=URL, up="../" * path.count("/"), title=TITLES[language],
        other_title=TITLES[other], text=TEXT[language], bar=bar if name == CHAPTER else "", foot=foot,
    )  # fmt: skip


def notebook(*cells: dict) -> str:
    """A notebook of a prose cell, a code cell with its output, and `cells`."""
    output = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
    shown = [
        {"cell_type": "markdown", "source": ["# Title\n", "> quotation"]},
        {"cell_type": "code", "source": ["print(1)"], "outputs": [output]},
    ]
    return json.dumps({"cells": [*shown, *cells]})


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site without a fault."""
    root = tmp_path / "built"
    links = '<a href="{0}zh-TW/">中文</a> <a href="{0}en/">English</a>'
    write(root / "index.html", ROOT.format(links=links.format("")))
    write(root / "404.html", ROOT.format(links=links.format("/repo/")))
    write(root / ".nojekyll", "")
    write(root / "robots.txt", "User-agent: *\n")
    locations = []
    for language in LANGUAGES:
        home = root / language
        for name in ("index.html", OVERVIEW, CHAPTER):
            write(home / name, page(language, name))
            locations.append(f"<url><loc>{URL}{language}/{name.removesuffix('index.html')}</loc></url>")
        write(home / "assets/icon.svg", "<svg/>")
        write(
            home / "assets/site.css",
            '@import "more.css";\na { background: url(icon.svg) }\nb { background: url("data:,") }\n',
        )
        write(home / "assets/more.css", "")
        write(home / "assets/javascripts/bundle.js.map", "{}")
        write(home / f"m00/{STEM}.py", "# %%\n# Prose.\nprint(1)  # !!! not markup here\n")
        write(home / f"m00/{STEM}.ipynb", notebook())
        docs = [{"location": f"m00/{STEM}/#a", "title": "A", "text": "匯出\u200b的\u200b圖"}]
        index = {"config": {"separator": r"[\s\u200b]+"}, "docs": docs}
        write(home / "search/search_index.json", json.dumps(index))
        (home / "downloads").mkdir()
        with zipfile.ZipFile(home / "downloads/all.zip", "w") as archive:
            archive.writestr("m00/first.py", "print(1)\n")
    urls = "\n".join(locations)
    write(root / "sitemap.xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}\n</urlset>')
    return root


def found(site: Path, **options: int) -> list[Problem]:
    """The problems of the site."""
    return sitecheck.check(site, URL, **options)


def replace(old: str, new: str, *names: str) -> Fault:
    """A fault: other text in the named files."""

    def apply(site: Path) -> None:
        for name in names:
            path = site / name
            text = path.read_text(encoding="utf-8")
            assert old in text
            path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return apply


def add(name: str, text: str = "") -> Fault:
    """A fault: a file more."""
    return lambda site: write(site / name, text)


def remove(*names: str) -> Fault:
    """A fault: files less."""

    def apply(site: Path) -> None:
        for name in names:
            path = site / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    return apply


def both(*faults: Fault) -> Fault:
    """A fault in several steps."""

    def apply(site: Path) -> None:
        for fault in faults:
            fault(site)

    return apply


def in_zip(text: str) -> Fault:
    """A fault inside a packed file."""

    def apply(site: Path) -> None:
        with zipfile.ZipFile(site / "en/downloads/all.zip", "a") as archive:
            archive.writestr("m00/second.py", text)

    return apply


def only_in_english(site: Path) -> None:
    """A fault: a page without its twin, not even linked to it."""
    text = page("en", "extra/index.html")
    write(site / "en/extra/index.html", text.replace('<a href="../../zh-TW/extra/"', "<a"))
    replace("</urlset>", f"<url><loc>{URL}en/extra/</loc></url></urlset>", "sitemap.xml")(site)


MORE = 24  # the line that `more` adds to the English chapter
EN, ZH, OVERVIEW_EN = f"en/{CHAPTER}", f"zh-TW/{CHAPTER}", f"en/{OVERVIEW}"
PY, NOTEBOOK, MORE_CSS = f"en/m00/{STEM}.py", f"en/m00/{STEM}.ipynb", "en/assets/more.css"
INDEX = "search/search_index.json"
ELSEWHERE = "https://x.example.com/x"


def more(html: str) -> Fault:
    """A fault: more HTML in the English chapter."""
    return replace("<pre>output</pre>", "<pre>output</pre>\n" + html, EN)


# what is added to the English chapter → what the message holds
ADDED: dict[str, tuple[str, str]] = {
    "duplicate id": ('<p id="a">x</p>', "'a' is already used in line 19"),
    "numbered id": ('<p id="_2">x</p>', "'_2' is only a number"),
    "heading without id": ("<h3>new</h3>", "h3 'new' has no id"),
    "heading in one language": (
        '<h3 id="new">new</h3>',
        "no heading of zh-TW/m00/m00_1_first/index.html has the id 'new'",
    ),
    "dead link": ('<a href="../nowhere/">x</a>', "dead link: ../nowhere/"),
    "dead link by address": (f'<a href="{URL}en/nowhere/">x</a>', "dead link"),
    "dead fragment": ('<a href="../#nothing">x</a>', "en/m00/index.html has no id 'nothing'"),
    "dead fragment here": ('<a href="#nothing">x</a>', "has no id 'nothing'"),
    "unknown scheme": ('<a href="htp://x.org/">x</a>', "unknown scheme"),
    "link out of the path": ('<a href="/en/">x</a>', "leaves /repo/"),
    "link too far up": ('<a href="../../../../other/">x</a>', "leaves /repo/"),
    "script from elsewhere": ('<script src="https://cdn.example.com/x.js"></script>', "loads https://cdn"),
    "style from elsewhere": ('<link rel="stylesheet" href="//fonts.example.com/x.css">', "loads //fonts"),
    "preconnect": ('<link rel="preconnect" href="https://fonts.example.com">', "loads https://fonts"),
    "image from elsewhere": ('<img alt="" src="https://x.example.com/x">', "loads https://x.example"),
    "frame from elsewhere": ('<iframe title="x" src="https://x.example.com/"></iframe>', "loads https://x.example"),
    "style attribute from elsewhere": (
        "<p style=\"background: url('https://x.example.com/x')\">x</p>",
        "loads https://x",
    ),
    "Chinese on an English page": ("<p>這一句還沒有翻譯。</p>", "of the English article is Chinese"),
    "an id in the text": ("<p>A {#a3}</p>", "{# is left"),
    "a stamp": ("<p>zh:0123abcd</p>", "translation stamp"),
    "a stamp in code": ("<pre><code># %% zh:0123abcd</code></pre>", "translation stamp"),
    "an unresolved link": ('<a href="chapter:m00_2_x#a">x</a>', "chapter:m00_2_x#a was not resolved"),
    "an unresolved link as text": ("<p>[x] (chapter:m00_2_x)</p>", "a chapter: link"),
    "a marker": ("<!-- chapters -->", "marker <!-- chapters -->"),
    "a marker of outputs": ("<!-- outputs of line 12 -->", "marker <!-- outputs"),
    "a box as text": ('<p>!!! note "x"</p>', "admonition"),
    "a folded box as text": ('<p>x\n??? note "x"</p>', "admonition"),
    "a link as text": ("<p>see [x](../y.md) there</p>", "a Markdown link"),
    "a heading as text": ("<p>### A3 x</p>", "a Markdown heading"),
    "no alternative text": ('<img src="../../assets/icon.svg">', "has no alt"),
    "a table without a wrapper": ("<table><tr><td>x</td></tr></table>", "tabindex=0"),
    "a home folder": ("<pre>File /home/someone/project/x.py</pre>", "build machine: /home/someone/project/x.py"),
    "image set from elsewhere": (
        '<img alt="" src="../../assets/icon.svg" srcset="../../assets/icon.svg 1x, https://x.example.com/x 2x">',
        "loads https://x.example",
    ),
}

# a fault → the file it is found in, its line, what the message holds
FAULTS: dict[str, tuple[Fault, str, int, str]] = {
    "heading level skipped": (replace("h2", "h4", OVERVIEW_EN), OVERVIEW_EN, 19, "h4 'A' follows h1"),
    "two titles": (replace('<h3 id="a1">A1</h3>', '<h1 id="a1">A1</h1>', EN), EN, 16, "2 h1"),
    "no title": (replace("<title>The graph after export</title>", "", EN), EN, 1, "no <title>"),
    "no description": (replace('content="The', 'xcontent="The', EN), EN, 1, "no description"),
    "wrong language": (replace('lang="en"', 'lang="en-US"', EN), EN, 2, '<html lang="en-US">'),
    "root without language": (replace(' lang="zh-TW"', "", "index.html"), "index.html", 2, '<html lang="">'),
    "wrong canonical": (
        replace(f'canonical" href="{URL}en/m00/m00', f'canonical" href="{URL}en/m00/#m00', EN),
        EN,
        6,
        "canonical address is",
    ),
    "no canonical": (replace("canonical", "next", EN), EN, 1, "canonical address is missing"),
    "no x-default": (replace('hreflang="x-default"', 'data-x="x"', EN), EN, 7, "hreflang has zh-TW, en"),
    "other tag for the language": (
        replace('hreflang="zh-TW"', 'hreflang="zh-Hant"', EN),
        EN,
        7,
        "hreflang has zh-Hant, en",
    ),
    "relative x-default": (
        replace(f'x-default" href="{URL}"', 'x-default" href="../../../"', EN),
        EN,
        9,
        "x-default is ../../../",
    ),
    "x-default to no page": (
        replace(f'x-default" href="{URL}"', f'x-default" href="{URL}x/"', EN),
        EN,
        9,
        "x-default is",
    ),
    "relative hreflang": (
        replace(f'"en" href="{URL}en/m00', '"en" href="../../m00', EN),
        EN,
        8,
        "hreflang en is ../../m00",
    ),
    "hreflang to another page": (
        replace(f'"zh-TW" href="{URL}zh-TW/m00/{STEM}', f'"zh-TW" href="{URL}zh-TW/m00', EN),
        EN,
        7,
        "hreflang zh-TW is",
    ),
    "hreflang without the path": (
        replace(f'"zh-TW" href="{URL}', '"zh-TW" href="https://course.example.org/', EN),
        EN,
        7,
        "hreflang zh-TW is",
    ),
    "dead Colab link": (replace("gh-pages/en", "gh-pages/fr", EN), EN, 18, "Colab link opens fr/m00/m00_1_first.ipynb"),
    "relative link on the 404 page": (
        replace("</body>", '\n<a href="en/">x</a></body>', "404.html"),
        "404.html",
        4,
        "shown at every depth",
    ),
    "style element from elsewhere": (
        more("<style>\n@import url(https://x.example.com/x.css);</style>"),
        EN,
        25,
        "loads https://x",
    ),
    "style sheet from elsewhere": (
        add(MORE_CSS, "a {}\nb { src: url(https://x.example.com/f.woff2) }"),
        MORE_CSS,
        2,
        "loads https://x",
    ),
    "style sheet with a dead link": (add(MORE_CSS, "@import 'x.css';"), MORE_CSS, 1, "dead link: x.css"),
    "navigation to a download": (
        replace('__link" href="../../m00/"', f'__link" href="../{STEM}.ipynb"', EN),
        EN,
        15,
        "no page of this language",
    ),
    "navigation to the other language": (
        replace('__link" href="../../m00/"', '__link" href="../../../zh-TW/"', EN),
        EN,
        15,
        "no page of this language",
    ),
    "Simplified characters": (replace("匯出後", "汇出后", ZH), ZH, 4, "后 → 後, 汇 → 匯"),
    "Simplified characters in the text": (replace("順序", "顺序", ZH), ZH, 20, "顺 → 順"),
    "an id in the title": (replace("export</title>", "export {#a}</title>", EN), EN, 4, "{# is left"),
    "a heavy page": (more("<p>" + "word " * 81920 + "</p>"), EN, 1, "KB of HTML, the limit is 400"),
    "no script": (remove(PY), EN, 18, "dead link: ../m00_1_first.py"),
    "download not linked": (replace(f'<a href="../{STEM}.py">py</a>', "", EN), EN, 1, "doesn't link its download"),
    "no ledger": (replace("pt2e-ledger", "pt2e-note", EN), EN, 1, "0 ledger lines"),
    "two ledgers": (more('<p class="pt2e-ledger" data-asserts="1">x</p>'), EN, 1, "2 ledger lines"),
    "a ledger without asserts": (replace('data-asserts="48"', 'data-asserts="0"', EN), EN, 26, "has no assert"),
    "no 404 page": (remove("404.html"), "404.html", 1, "is missing"),
    "no root page": (remove("index.html"), "index.html", 1, "is missing"),
    "no .nojekyll": (remove(".nojekyll"), ".nojekyll", 1, "is missing"),
    "no sitemap": (remove("sitemap.xml"), "sitemap.xml", 1, "is missing"),
    "root page without a language": (
        replace('<a href="en/">', '<a href="zh-TW/">', "index.html"),
        "index.html",
        1,
        "no link to en/",
    ),
    "md5": (add(f"en/m00/{STEM}.py.md5"), f"en/m00/{STEM}.py.md5", 1, "no file for readers"),
    "pickle": (add(f"en/m00/{STEM}_codeobj.pickle"), f"en/m00/{STEM}_codeobj.pickle", 1, "no file for readers"),
    "ledger": (add(f"en/m00/{STEM}.json", "{}"), f"en/m00/{STEM}.json", 1, "no file for readers"),
    "cache": (add("en/m00/__pycache__/x.py"), "en/m00/__pycache__/x.py", 1, "no file for readers"),
    "source map": (add("en/assets/site.css.map"), "en/assets/site.css.map", 1, "no file for readers"),
    "Markdown": (add("en/m00/README.md"), "en/m00/README.md", 1, "no file for readers"),
    "build times": (
        add("mg_execution_times.html", ROOT.format(links="")),
        "mg_execution_times.html",
        1,
        "no file for readers",
    ),
    "this checkout": (add("en/assets/x.js", '\n"/some/where/checkout/x.py"'), "en/assets/x.js", 2, "build machine"),
    "a Windows folder": (add("en/assets/x.js", r'"C:\\Users\\x"'), "en/assets/x.js", 1, "build machine"),
    "installed packages": (
        replace('"1\\n"', '"lib/python3.11/site-packages/torch"', NOTEBOOK),
        NOTEBOOK,
        1,
        "build machine",
    ),
    "a folder in a zip": (
        in_zip("# /Users/someone/x.py\n"),
        "en/downloads/all.zip/m00/second.py",
        1,
        "build machine: /Users/someone/x.py",
    ),
    "page in one language": (only_in_english, "en/extra/index.html", 1, "there is no zh-TW/extra/index.html"),
    "page not in the sitemap": (
        replace(f"<url><loc>{URL}en/m00/</loc></url>", "", "sitemap.xml"),
        "sitemap.xml",
        1,
        f"lacks {URL}en/m00/",
    ),
    "sitemap with a page too many": (
        replace("</urlset>", f"<url><loc>{URL}en/x/</loc></url></urlset>", "sitemap.xml"),
        "sitemap.xml",
        8,
        "no page",
    ),
    "relative sitemap": (
        replace("</urlset>", "<url><loc>/repo/en/</loc></url></urlset>", "sitemap.xml"),
        "sitemap.xml",
        8,
        "no page",
    ),
    "no search index": (remove("en/search"), f"en/{INDEX}", 1, "is missing"),
    "separator without U+200B": (replace(r"\\u200b", "", f"zh-TW/{INDEX}"), f"zh-TW/{INDEX}", 1, "U+200B"),
    "search that leads nowhere": (replace("/#a", "/#b", f"en/{INDEX}"), f"en/{INDEX}", 1, "has no id 'b'"),
    "markup in a script": (replace("# Prose.", "# ## A {#a}", PY), PY, 2, "{# is left"),
    "a box in a script": (replace("# Prose.", '# !!! note "x"', PY), PY, 2, "admonition"),
    "a stamp in a script": (replace("# %%", "# %% zh:0123abcd", PY), PY, 1, "translation stamp"),
    "a link in a notebook": (replace("quotation", "[x](chapter:m00)", NOTEBOOK), NOTEBOOK, 1, "a chapter: link"),
    "a notebook without outputs": (replace('"outputs"', '"inputs"', NOTEBOOK), NOTEBOOK, 1, "has no outputs"),
    "a broken notebook": (add(NOTEBOOK, "<html>"), NOTEBOOK, 1, "is no notebook"),
}


def test_a_good_site_has_no_problem(site: Path):
    assert found(site) == []


def expect(site: Path, path: str, line: int, message: str) -> None:
    """The site has one problem, this one."""
    problems = found(site)
    assert [(p.path, p.line) for p in problems] == [(path, line)], "\n".join(map(str, problems))
    assert message in problems[0].message
    assert problems[0].hint


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found_and_nothing_else(site: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sitecheck, "find_root", lambda: Path("/some/where/checkout"))
    fault, path, line, message = FAULTS[name]
    fault(site)
    expect(site, path, line, message)


@pytest.mark.parametrize("name", ADDED)
def test_each_fault_in_a_page_is_found_and_nothing_else(site: Path, name: str):
    html, message = ADDED[name]
    more(html)(site)
    expect(site, EN, MORE, message)


def test_the_weight_of_a_page_can_be_set(site: Path):
    assert len(found(site, page_kb=1)) == 6


def test_a_page_about_chinese_words_may_hold_them_and_its_exemption_ends_with_them(
    site: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sitecheck, "TWO_LANGUAGES", (EN,))
    expect(site, EN, 1, "needs no exemption any more")
    more("<p>觀察器是 observer，標註是 annotation。</p>")(site)
    assert found(site) == []


def test_words_that_are_right_in_taiwan_are_no_problem(site: Path):
    replace("順序", "里程", ZH)(site)
    assert found(site) == []


def test_a_page_that_only_redirects_needs_a_target_and_no_more(site: Path):
    head = '<!doctype html>\n<html lang="en"><head><title>M00-1</title>\n'
    page = head + '<meta http-equiv="refresh" content="0; url={}"></head></html>'
    write(site / "m00-1/index.html", page.format(f"../en/m00/{STEM}/"))
    assert found(site) == []
    write(site / "m00-1/index.html", page.format("../en/m00/m00_9/"))
    expect(site, "m00-1/index.html", 3, "dead link: ../en/m00/m00_9/")


def test_at_the_root_of_a_host_the_same_site_is_fine(site: Path):
    url = "https://course.example.org/"
    for path in [*site.rglob("*.html"), site / "sitemap.xml"]:
        write(path, path.read_text(encoding="utf-8").replace(URL, url).replace('href="/repo/', 'href="/'))
    assert sitecheck.check(site, url) == []


def test_sixty_pages_take_less_than_five_seconds(site: Path):
    text = "".join(f"<p>A paragraph of ordinary length, number {n}, with <code>code</code>.</p>\n" for n in range(1500))
    for language in LANGUAGES:
        for number in range(30):
            folder = site / language / f"m01/m01_{number}_more"
            html = page(language, f"m01/m01_{number}_more/index.html").replace("<pre>", text + "<pre>")
            write(folder / "index.html", html)
    start = time.process_time()
    sitecheck.check(site, URL)
    assert time.process_time() - start < 5
