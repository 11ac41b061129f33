"""Checks of the built site, as files. Each page is parsed once; each problem has a file, a line and what to do."""

import json
import re
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, permutations
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from lxml import etree, html

from coursebuild import parallel
from coursebuild.chinese import cjk, forms
from coursebuild.problems import Problem
from coursebuild.project import LANGUAGES, find_root

PAGE_KB = 400  # of HTML, unpacked
SHARES = 6  # of the pages, for the cores to take one after the other
CJK_SHARE = 0.01  # of an English article's characters
TWO_LANGUAGES = ("en/glossary/index.html",)  # English pages whose subject is Chinese words
LANGUAGE = f"(?:{'|'.join(LANGUAGES)})"
CHAPTER = re.compile(rf"{LANGUAGE}/(?P<folder>m\d\d|appendix)/(?P<stem>\w+)/index\.html")
ALLOWED_FILES = re.compile(
    rf"(?:{LANGUAGE}/(?:.+/)?|[\w-]+/)?index\.html|404\.html"
    r"|\.nojekyll|CNAME|robots\.txt|sitemap\.xml"
    rf"|{LANGUAGE}/search/search_index\.json"
    rf"|{LANGUAGE}/(?:.+/)?assets/.+\.(?:css|js|svg|png|ico|woff2)"
    rf"|{LANGUAGE}/assets/(?:javascripts|stylesheets)/.+\.map"  # Material's own
    rf"|{LANGUAGE}/\w+/(?:\w+/)?\w+\.(?:py|ipynb)"  # the downloads of a chapter, and of a lab beside its page
    rf"|{LANGUAGE}/downloads/[\w-]+\.zip"
    r"|wheels/[\w.+-]+\.whl"
)
UNWANTED = re.compile(r"mg_execution_times|__pycache__|\.ipynb_checkpoints")  # also where the ending is allowed
TEXT_FILES = {".html", ".css", ".js", ".json", ".xml", ".txt", ".svg", ".py", ".ipynb"}

RESIDUE = {
    "{#": re.compile(r"\{#"),
    "a translation stamp": re.compile(r"\bzh:[0-9a-f]{8}\b"),
    "a chapter: link": re.compile(r"\bchapter:[a-z]\w*"),
}
PROSE_RESIDUE = RESIDUE | {
    "an admonition's mark": re.compile(r"^\s*(?:!!!|\?\?\?\+?) \w", re.M),
    "a Markdown link": re.compile(r"\]\([^)\s]*\)"),
    "a Markdown heading": re.compile(r"^\s*#{2,6} \w", re.M),
}
DOWNLOAD_RESIDUE = RESIDUE | {"an admonition's mark": re.compile(r"^(?:# )?(?:!!!|\?\?\?\+?) \w", re.M)}
MARKER = re.compile(r"\s*(?:chapters|course-map|home-figure|outputs of line \d+|GENERATED FROM PYTHON SOURCE.*)\s*")

OTHER_SCHEMES = ("data", "mailto", "tel", "javascript", "about")
COLAB = re.compile(r"https://colab\.research\.google\.com/github/[^/]+/[^/]+/blob/[^/]+/(?P<path>[^?#]+)")
CSS_URL = re.compile(r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"'\s]+))|@import\s+(?:"([^"]*)"|'([^']*)')""")
NOT_FETCHED = {"canonical", "alternate", "prev", "next", "author", "license", "edit", "help", "me", "search"}
FETCHING_TAGS = ("script", "img", "source", "iframe", "video", "audio", "track", "embed", "object", "image", "use")
FETCHED = ("src", "srcset", "poster", "data", "href", "{http://www.w3.org/1999/xlink}href", "xlink:href")


class Piece(NamedTuple):
    """A piece of a page's text: that of an element up to its first child, or after one."""

    text: str
    line: int
    is_code: bool


class Reference(NamedTuple):
    """A link in a page or style sheet; `fetched`: the browser asks for it without a click."""

    value: str
    line: int
    fetched: bool


@dataclass
class Page:
    """One HTML file. `path`: in the site; `url`: where it is published; `language`: "" for pages of no language."""

    path: str
    url: str
    raw: bytes
    language: str
    tree: etree._Element = field(init=False)

    def __post_init__(self) -> None:
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        self.tree = html.document_fromstring(self.raw or b"<html></html>", parser=parser)

    @cached_property
    def elements(self) -> list[etree._Element]:
        """All elements with an id, in order."""
        return self.tree.xpath("//*[@id]")

    @cached_property
    def ids(self) -> set[str]:
        """Everything that a fragment can name."""
        return {e.get("id") for e in self.elements} | set(self.tree.xpath("//a/@name"))

    @cached_property
    def article(self) -> etree._Element:
        """What the page says, without header, navigation and footer."""
        return (self.tree.xpath("//article") or self.tree.xpath("//body") or [self.tree])[0]

    @cached_property
    def headings(self) -> list[etree._Element]:
        """The headings of the article."""
        return self.article.xpath(".//*[self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6]")

    @cached_property
    def is_redirect(self) -> bool:
        """Whether it only leads elsewhere."""
        return bool(self.tree.xpath("//meta[@http-equiv='refresh']"))

    @cached_property
    def base(self) -> str:
        """What relative links start from."""
        return urljoin(self.url, next(iter(self.tree.xpath("//base/@href")), ""))

    def alternates(self) -> list[tuple[str, str, int]]:
        """(language, address, line) of every hreflang in the head."""
        links = self.tree.xpath("//head/link[@hreflang][contains(@rel, 'alternate')]")
        return [(e.get("hreflang"), e.get("href", ""), e.sourceline) for e in links]

    def references(self) -> Iterator[Reference]:
        """Every link of the page and everything it loads, but for its own addresses in the head (`check_head`)."""
        own = "@hreflang or @rel='canonical'"
        for e in self.tree.xpath(f"//a[@href] | //area[@href] | //link[@href][not({own})] | //form[@action]"):
            fetched = e.tag == "link" and not NOT_FETCHED & set(e.get("rel", "").lower().split())
            yield Reference(e.get("href") or e.get("action"), e.sourceline, fetched)
        for e in self.tree.iter(*FETCHING_TAGS):
            for name in filter(e.get, FETCHED):
                values = [part.split()[0] for part in e.get(name).split(",")] if name == "srcset" else [e.get(name)]
                yield from (Reference(value, e.sourceline, True) for value in values)
        for e in self.tree.xpath("//meta[@http-equiv='refresh']"):
            yield Reference(e.get("content", "").partition("url=")[2], e.sourceline, False)
        for e in self.tree.xpath("//style | //*[@style]"):
            for value, line, _ in css_references(e.text or "" if e.tag == "style" else e.get("style")):
                yield Reference(value, e.sourceline + line - 1, True)

    @cached_property
    def pieces(self) -> list[Piece]:
        """The text, in order, without scripts and styles."""
        found: list[Piece] = []
        for root in self.tree.xpath("/*"):  # what follows </html> is parsed into further ones
            _collect(root, False, found)
        return found

    def attributes(self) -> list[Piece]:
        """Each attribute that people read or hear."""
        found = self.tree.xpath("//meta[@name='description']/@content | //@alt | //@title | //@aria-label")
        return [Piece(str(value), value.getparent().sourceline, False) for value in found]

    def problem(self, where: etree._Element | int | None, message: str, hint: str) -> Problem:
        """A problem at an element, or in a line; None is the page as a whole."""
        line = where if isinstance(where, int) else 1 if where is None else where.sourceline
        return Problem(self.path, line, message, hint)


class Site:
    """The built site: its files, its pages, and what an address means in it."""

    def __init__(self, root: Path, site_url: str, page_kb: int):
        self.root, self.site_url, self.page_kb = root, site_url.rstrip("/") + "/", page_kb
        parts = urlsplit(self.site_url)
        self.origin, self.base_path = (parts.scheme, parts.netloc), parts.path
        self.files = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if not p.is_dir())
        self.names = set(self.files)
        self.pages = {name: self._page(name) for name in self.files if name.endswith(".html")}

    def _page(self, name: str) -> Page:
        first = name.split("/")[0]
        url = self.site_url + re.sub(r"(?:^|(?<=/))index\.html$", "", name)
        return Page(name, url, (self.root / name).read_bytes(), first if first in LANGUAGES else "")

    def of(self, language: str) -> dict[str, Page]:
        """The pages of a language by their path below its folder."""
        pages = (page for page in self.pages.values() if page.language == language)
        return {page.path.removeprefix(f"{language}/"): page for page in pages}

    def is_own(self, url: str) -> bool:
        """Whether an absolute address is of this site's host."""
        return urlsplit(url)[:2] == self.origin

    def file(self, url: str) -> str | None:
        """The file that is served at an absolute address of this host; None if there is none."""
        path = urlsplit(url).path
        if not path.startswith(self.base_path):
            return None
        name = unquote(path[len(self.base_path) :])
        candidates = [name, f"{name.rstrip('/')}/index.html".lstrip("/")]
        return next((candidate for candidate in candidates if candidate in self.names), None)

    def page(self, url: str) -> Page | None:
        """The page at an absolute address; None if it is no page of this site."""
        return self.pages.get(self.file(url) or "") if self.is_own(url) else None


def _collect(element: etree._Element, is_code: bool, found: list[Piece]) -> None:
    """Append the pieces of an element's text to `found`."""
    tag = element.tag
    if tag in ("script", "style") or not isinstance(tag, str):  # a comment's tag is a function
        return
    is_code = is_code or tag in ("pre", "code")
    if text := element.text:
        found.append(Piece(text, element.sourceline, is_code))
    for child in element:
        _collect(child, is_code, found)
        if tail := child.tail:
            found.append(Piece(tail, child.sourceline, is_code))


def css_references(text: str) -> Iterator[Reference]:
    """What a style sheet loads."""
    for match in CSS_URL.finditer(text):
        yield Reference(next(filter(None, match.groups()), ""), text.count("\n", 0, match.start()) + 1, True)


# ---------------------------------------------------------------------------------------------------- one page


def check_ids(site: Site, page: Page) -> Iterator[Problem]:
    """An id is used once, and none is made from a position."""
    seen: dict[str, int] = {}
    for element in page.elements:
        name = element.get("id")
        if name in seen:
            message = f"the id {name!r} is already used in line {seen[name]}"
            yield page.problem(element, message, "links lead to the first one: give one of the two another id")
        elif re.fullmatch(r"_\d+", name):
            message = f"the id {name!r} is only a number, which changes with the page"
            yield page.problem(element, message, "give the heading an English id: {#like-this}")
        seen.setdefault(name, element.sourceline)


def check_headings(site: Site, page: Page) -> Iterator[Problem]:
    """No level is skipped; in a language's pages there is one h1, and an id on each heading."""
    level = 0
    for heading in page.headings:
        now, text = int(heading.tag[1]), " ".join(heading.text_content().split())
        if now > level + 1:
            message = f"h{now} {text!r} follows h{level}" if level else f"the first heading is h{now} {text!r}"
            yield page.problem(heading, message, f"make it h{level + 1}: screen readers list headings by level")
        if page.language and not heading.get("id"):
            yield page.problem(heading, f"h{now} {text!r} has no id", "give it an English id: {#like-this}")
        level = now
    titles = [heading for heading in page.headings if heading.tag == "h1"]
    if page.language and len(titles) != 1:
        yield page.problem(page.article, f"the article has {len(titles)} h1", "a page has exactly one title")


def check_head(site: Site, page: Page) -> Iterator[Problem]:
    """Language, title, description, canonical address and alternates."""
    language = page.tree.get("lang", "")
    if not language or page.language not in ("", language):
        message = f'<html lang="{language}">, expected {page.language or "a language"!r}'
        yield page.problem(page.tree, message, "set theme.language to the name of the folder")
    if not "".join(page.tree.xpath("//head/title//text()")).strip():
        yield page.problem(None, "the page has no <title>", "give it an h1 or a title in its front matter")
    if page.is_redirect or not page.language:
        return
    if not "".join(page.tree.xpath("//meta[@name='description']/@content")).strip():
        yield page.problem(None, "the page has no description", "add `description:` to its front matter")
    canonical = page.tree.xpath("//head/link[@rel='canonical']")
    if [e.get("href") for e in canonical] != [page.url]:
        message = f"the canonical address is {', '.join(e.get('href', '') for e in canonical) or 'missing'}"
        yield page.problem(canonical[0] if canonical else None, message, f"it must be {page.url}")
    yield from _check_alternates(site, page)


def _check_alternates(site: Site, page: Page) -> Iterator[Problem]:
    """Siblings have equal addresses below their languages' folders, so that what each must say is known, and mutual."""
    alternates = page.alternates()
    if sorted(language for language, _, _ in alternates) != sorted([*LANGUAGES, "x-default"]):
        message = f"hreflang has {', '.join(language for language, _, _ in alternates) or 'nothing'}"
        hint = f"it must have {', '.join(LANGUAGES)} and x-default, once each"
        yield page.problem(alternates[0][2] if alternates else None, message, hint)
        return
    rest = page.url.removeprefix(f"{site.site_url}{page.language}/")
    for language, address, line in alternates:
        if language != "x-default" and address != f"{site.site_url}{language}/{rest}":
            message = f"the hreflang {language} is {address}"
            yield page.problem(line, message, f"it must be {site.site_url}{language}/{rest}")
        if language == "x-default" and address != site.site_url and not (address and site.page(address)):
            yield page.problem(line, f"the hreflang x-default is {address}", "it must be a page's absolute address")


def check_links(site: Site, page: Page) -> Iterator[Problem]:
    """Every link leads somewhere, stays below the site's path, and nothing is loaded from elsewhere."""
    for reference in dict.fromkeys(page.references()):
        value = reference.value.strip()
        relative = not urlsplit(value).scheme and not value.startswith(("/", "#"))
        if page.path == "404.html" and relative and page.base == page.url:
            message = f"{value} is relative, but this page is shown at every depth"
            yield page.problem(reference.line, message, f"begin it with {site.base_path}")
        else:
            yield from _check_reference(site, page.path, page.base, reference._replace(value=value))


def check_styles(site: Site) -> Iterator[Problem]:
    """The same for what style sheets load."""
    for name in site.files:
        if name.endswith(".css"):
            for reference in dict.fromkeys(css_references((site.root / name).read_text(encoding="utf-8"))):
                yield from _check_reference(site, name, site.site_url + name, reference)


def _check_reference(site: Site, where: str, base: str, reference: Reference) -> Iterator[Problem]:
    """One link in the file `where`, whose relative links start from `base`."""
    value, line, fetched = reference
    url = urljoin(base, value)
    parts = urlsplit(url)
    fragment = unquote(parts.fragment).split(":~:")[0]
    message = hint = ""
    if parts.scheme in OTHER_SCHEMES or value.startswith("chapter:"):  # the latter is reported as residue
        pass
    elif not site.is_own(url):
        colab = COLAB.match(url)
        if fetched:
            message = f"loads {value} from another host"
            hint = "serve it from the site: whom readers visit is nobody's business"
        elif parts.scheme not in ("http", "https"):
            message, hint = f"the link {value} has an unknown scheme", "correct it"
        elif colab and unquote(colab["path"]) not in site.names:
            message = f"the Colab link opens {unquote(colab['path'])}, which the site doesn't have"
            hint = "see coursebuild/info.py"
    elif not parts.path.startswith(site.base_path):
        message = f"the link {value} leaves {site.base_path}, below which the site is published"
        hint = "make it relative"
    elif (name := site.file(url)) is None:
        if url != site.site_url:  # a missing root page is reported once, not by every page that links it
            message, hint = f"dead link: {value}", "correct it, or make the page"
    elif fragment not in ("", "top") and name in site.pages and fragment not in site.pages[name].ids:
        message, hint = f"dead link: {value}: {name} has no id {fragment!r}", "correct the fragment"
    if message:
        yield Problem(where, line, message, hint)


def check_navigation(site: Site, page: Page) -> Iterator[Problem]:
    """Entries of the navigation are pages of the same language."""
    entries = "//nav[contains(@class, 'md-nav--primary')]//a[contains(@class, 'md-nav__link')][@href]"
    for link in page.tree.xpath(entries):
        url = urljoin(page.base, link.get("href"))
        name = site.file(url) if site.is_own(url) else None
        if name and (name not in site.pages or site.pages[name].language != page.language):
            message = f"the navigation leads to {name}, which is no page of this language"
            yield page.problem(link, message, "correct nav, and which files are rendered as pages")


def check_language(site: Site, page: Page) -> Iterator[Problem]:
    """English is English, and Chinese is Traditional."""
    if page.language == "en":
        pieces: list[Piece] = []
        _collect(page.article, False, pieces)
        text = "\n".join(piece.text for piece in pieces)
        found, whole = "".join(cjk(text)), len("".join(text.split()))
        is_chinese = len(found) >= CJK_SHARE * whole > 0
        if page.path in TWO_LANGUAGES and not is_chinese:
            hint = "take it out of TWO_LANGUAGES in coursebuild/sitecheck.py"
            yield page.problem(None, "this page needs no exemption any more: it has hardly any Chinese", hint)
        if page.path not in TWO_LANGUAGES and is_chinese:
            line = next(piece.line for piece in pieces if cjk(piece.text))
            message = f"{len(found) / whole:.1%} of the English article is Chinese: {found[:20]}"
            yield page.problem(line, message, f"translate it: under {CJK_SHARE:.0%} is allowed")
    if page.language == "zh-TW":
        pieces = [*page.pieces, *page.attributes()]
        if any(forms("\n".join(piece.text for piece in pieces))):  # one conversion for most pages
            for text, line, _ in pieces:
                if wrong := sorted({f"{old} → {new}" for old, new, allowed in forms(text) if not allowed}):
                    message = f"not as written in Taiwan: {', '.join(wrong)}"
                    yield page.problem(line, message, "see coursebuild/chinese.py for the words that are allowed")


def check_residue(site: Site, page: Page) -> Iterator[Problem]:
    """Nothing of the source's own markup is left."""
    for comment in page.tree.iter(etree.Comment):
        if MARKER.fullmatch(comment.text or ""):
            message = f"the marker <!--{comment.text}--> was not replaced"
            yield page.problem(comment, message, "see coursebuild/chrome.py and coursebuild/execution/page.py")
    for link in page.tree.xpath("//@href[starts-with(., 'chapter:')]"):
        yield page.problem(link.getparent(), f"the link {link} was not resolved", "see coursebuild/links.py")
    pieces = [*page.pieces, *page.attributes()]
    for is_code, patterns in ((False, PROSE_RESIDUE), (True, RESIDUE)):
        ours = [piece for piece in pieces if piece.is_code is is_code]
        if not _residue("\n".join(piece.text for piece in ours), patterns):  # one search for nearly all pages
            continue
        for text, line, _ in ours:
            if found := _residue(text, patterns):
                yield page.problem(line, found, "correct the source, or the step that should have replaced it")


def _residue(text: str, patterns: dict[str, re.Pattern[str]]) -> str:
    """What is left of the source's markup, or ""."""
    for what, pattern in patterns.items():
        if match := pattern.search(text):
            return f"{what} is left in the text: {text[match.start() :].strip()[:60]}"
    return ""


def check_reading(site: Site, page: Page) -> Iterator[Problem]:
    """Images have an alternative text, wide tables can be scrolled with the keyboard, and pages are light."""
    for image in page.tree.xpath("//img[not(@alt)]"):
        message = f"the image {image.get('src')} has no alt"
        yield page.problem(image, message, 'say what it shows; alt="" if it is decoration')
    bare = "[not(ancestor-or-self::*[contains(@class, 'highlight')])][not(ancestor::*[@tabindex='0'])]"
    for table in page.article.xpath(f".//table{bare}"):
        hint = "where it is wider than the screen, the keyboard can't scroll it: wrap it"
        yield page.problem(table, "this table stands in no element with tabindex=0", hint)
    if len(page.raw) > site.page_kb * 1024:
        message = f"{len(page.raw) / 1024:.0f} KB of HTML, the limit is {site.page_kb}"
        yield page.problem(None, message, "split the page, or find what is written into it twice")


def check_downloads(site: Site, page: Page) -> Iterator[Problem]:
    """A chapter links its script and its notebook; that they are there is checked with the links."""
    if chapter := CHAPTER.fullmatch(page.path):
        linked = [urljoin(page.base, href) for href in page.article.xpath(".//a/@href")]
        for ending in ("py", "ipynb"):
            name = f"{page.language}/{chapter['folder']}/{chapter['stem']}.{ending}"
            if site.site_url + name not in linked:
                yield page.problem(None, f"the page doesn't link its download {name}", "see the bar below its title")


def check_ledger(site: Site, page: Page) -> Iterator[Problem]:
    """A chapter says at its foot that it was executed, and how many asserts ran."""
    if CHAPTER.fullmatch(page.path):
        lines = page.article.xpath(".//p[contains(concat(' ', @class, ' '), ' pt2e-ledger ')]")
        if len(lines) != 1:
            message = f"the page has {len(lines)} ledger lines"
            yield page.problem(None, message, "a page that was made by no run of its script isn't published")
        elif not int(lines[0].get("data-asserts", 0)):
            yield page.problem(lines[0], "its ledger has no assert", "a page that asserts nothing isn't published")


# ---------------------------------------------------------------------------------------------------- the whole site


def check_files(site: Site) -> Iterator[Problem]:
    """What has to be there is there, and nothing else is."""
    for name in ("index.html", "404.html", ".nojekyll", "sitemap.xml"):
        if name not in site.names:
            yield Problem(name, 1, "is missing", "the build writes it at the site's root: see coursebuild/render.py")
    for name in {"index.html", "404.html"} & site.names:
        page = site.pages[name]
        targets = {site.file(urljoin(page.base, reference.value)) for reference in page.references()}
        for language in LANGUAGES:
            if f"{language}/index.html" not in targets:
                yield Problem(name, 1, f"has no link to {language}/", "readers without JavaScript go on from here")
    for name in site.files:
        if not ALLOWED_FILES.fullmatch(name) or UNWANTED.search(name):
            hint = "keep it out of the site, or allow it in coursebuild/sitecheck.py"
            yield Problem(name, 1, "is no file for readers", hint)


def check_machine(site: Site) -> Iterator[Problem]:
    """No file, packed ones included, names a folder of the machine that built it."""
    pattern = _machine()
    telling = [b"/home/", b"/Users/", b"Users\\", b"-packages/", *(str(path).encode() for path in _own_folders())]
    for name, data in _texts(site):
        # every match holds one of these words, and looking for a word is much faster
        if any(word in data for word in telling) and (match := pattern.search(data)):
            path = re.compile(rb"[^\s\"'<>\\,;)]*").match(data, match.start())[0][:80].decode("utf-8", "replace")
            message = f"names a folder of the build machine: {path}"
            hint = "find what prints it: warnings, tracebacks and a node's stack_trace do"
            yield Problem(name, data.count(b"\n", 0, match.start()) + 1, message, hint)


def _own_folders() -> list[Path]:
    own = {find_root(), Path.home(), Path(tempfile.gettempdir())}
    own |= {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")}
    own -= {path for path in own if len(path.parts) < 3 and path.name not in ("root", "tmp")}  # "/repo": a site's path
    return sorted(own)


def _machine() -> re.Pattern[bytes]:
    """Folders of this machine, and what home folders and installed packages look like on any."""
    ours = "|".join(re.escape(str(path)) for path in _own_folders())
    text = rf"(?<![\w.:/-])(?:(?:{ours})(?=/)|/(?:home|Users)/[\w.-]+/|[A-Z]:\\\\?Users\\)|(?:site|dist)-packages/"
    return re.compile(text.encode())


def _texts(site: Site) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every text file, those in zip files and wheels included."""
    for name in site.files:
        path = site.root / name
        if name in site.pages:
            yield name, site.pages[name].raw
        elif path.suffix in TEXT_FILES:
            yield name, path.read_bytes()
        elif path.suffix in (".zip", ".whl"):
            with zipfile.ZipFile(path) as archive:
                yield from ((f"{name}/{member}", archive.read(member)) for member in archive.namelist())


def check_twins(site: Site) -> Iterator[Problem]:
    """All languages have the same pages, and each page the same headings."""
    for here, there in permutations(LANGUAGES, 2):
        ours, theirs = site.of(here), site.of(there)
        for name, page in ours.items():
            if name not in theirs:
                yield page.problem(None, f"there is no {there}/{name}", "write it: the language switch leads there")
                continue
            ids = {heading.get("id") for heading in theirs[name].headings}
            for heading in page.headings:
                if heading.get("id") and heading.get("id") not in ids:
                    message = f"no heading of {there}/{name} has the id {heading.get('id')!r}"
                    yield page.problem(heading, message, "equal sections have equal ids in all languages")


def check_sitemap(site: Site) -> Iterator[Problem]:
    """sitemap.xml has every page of every language, by its absolute address, and nothing else but the root page."""
    if "sitemap.xml" not in site.names:
        return
    tree = etree.parse(site.root / "sitemap.xml").getroot()
    pages = {page.url for page in site.pages.values() if page.language and not page.is_redirect}
    listed = {e.text.strip(): e.sourceline for e in tree.iter("{*}loc")}
    for url in sorted(pages - listed.keys()):
        yield Problem("sitemap.xml", 1, f"lacks {url}", "see coursebuild/render.py")
    listed |= {e.get("href"): e.sourceline for e in tree.iter("{http://www.w3.org/1999/xhtml}link")}
    for url in sorted(listed.keys() - pages - {site.site_url}):
        hint = f"addresses are absolute, and begin with {site.site_url}"
        yield Problem("sitemap.xml", listed[url], f"lists {url}, which is no page", hint)


def check_search(site: Site) -> Iterator[Problem]:
    """The search index leads to pages, and splits its text where jieba put U+200B."""
    for language in LANGUAGES:
        name = f"{language}/search/search_index.json"
        if name not in site.names:
            yield Problem(name, 1, "is missing", "the search box needs it: see plugins in the MkDocs configuration")
            continue
        index = json.loads((site.root / name).read_text(encoding="utf-8"))
        splits = re.search(r"\u200b|\\u200b", index["config"]["separator"], re.I)
        if not splits and any("\u200b" in entry["title"] + entry["text"] for entry in index["docs"]):
            message = "its text holds U+200B and its separator doesn't, so Chinese words are not found"
            yield Problem(name, 1, message, "add \\u200b to the search plugin's separator")
        for entry in index["docs"]:
            reference = Reference(entry["location"], 1, False)
            yield from _check_reference(site, name, f"{site.site_url}{language}/", reference)


def check_download_text(site: Site) -> Iterator[Problem]:
    """Scripts and notebooks are free of the site's own markup, and chapters' notebooks show their outputs."""
    for name in site.files:
        path = site.root / name
        lines: list[tuple[str, int]] = []
        if path.suffix == ".py":
            lines = [(line, n) for n, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)]
        elif path.suffix == ".ipynb":
            try:
                cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            except (ValueError, KeyError, TypeError):
                yield Problem(name, 1, "is no notebook", "see coursebuild/execution/notebook.py")
                continue
            lines = [(line, 1) for cell in cells for line in "".join(cell["source"]).split("\n")]
            if "/labs/" not in name and not any(cell.get("outputs") for cell in cells):
                yield Problem(name, 1, "the notebook has no outputs", "see coursebuild/execution/notebook.py")
        suspect = _residue("\n".join(line for line, _ in lines), DOWNLOAD_RESIDUE)
        for line, number in lines if suspect else ():
            if found := _residue(line, DOWNLOAD_RESIDUE):
                yield Problem(name, number, found, "see coursebuild/downloads.py")


PAGE_CHECKS: list[Callable[[Site, Page], Iterator[Problem]]] = [
    check_ids,
    check_headings,
    check_head,
    check_links,
    check_navigation,
    check_language,
    check_residue,
    check_reading,
    check_downloads,
    check_ledger,
]
SITE_CHECKS: list[Callable[[Site], Iterator[Problem]]] = [
    check_files,
    check_machine,
    check_twins,
    check_sitemap,
    check_search,
    check_styles,
    check_download_text,
]


def check(site: Path, site_url: str, *, page_kb: int = PAGE_KB) -> list[Problem]:
    """Everything that is wrong with the built site in the folder `site`, which is to be published at `site_url`.

    The problems' paths are those of the files below `site`. `page_kb`: how much HTML a page may hold, unpacked.
    """
    built = Site(site, site_url, page_kb)
    pages = list(built.pages.values())
    tasks = [partial(_whole, built), *(partial(_pages, built, pages[start::SHARES]) for start in range(SHARES))]
    return sorted(chain.from_iterable(parallel.each(tasks)), key=lambda problem: (problem.path, problem.line))


def _whole(site: Site) -> list[Problem]:
    return [problem for one in SITE_CHECKS for problem in one(site)]


def _pages(site: Site, pages: list[Page]) -> list[Problem]:
    return [problem for page in pages for one in PAGE_CHECKS for problem in one(site, page)]
