"""The built site in a real Chromium, below a sub-path: what readers meet, in both languages, light and dark."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, TimeoutError

from coursebuild.project import LANGUAGES, find_root
from coursebuild.server import Server
from tests.site.browsing import PHONE, SCHEMES, Watch, address, path_of, report, unfold, visit
from tests.site.built import BuiltSite

M00_1, M00_4 = "m00/m00_1_export_and_aten", "m00/m00_4_editing_graphs"
CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
AXE = find_root() / "tests/node_modules/axe-core/axe.min.js"


# ------------------------------------------------------------------------------------------- every page


def test_every_page_loads_without_a_fault(server: Server, site: BuiltSite, page: Page, language: str):
    watch = Watch(page, server)
    for path in site.paths():
        visit(page, address(server, language, path))
    assert not watch.faults, "\n".join(watch.faults)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_page_is_wider_than_a_phone(server: Server, site: BuiltSite, context: Callable, language: str, scheme: str):
    page = context(viewport=PHONE, color_scheme=scheme).new_page()
    wide = {}
    for where in [*(address(server, language, path) for path in site.paths()), f"{server.address}404.html"]:
        visit(page, where)
        unfold(page)
        width = page.evaluate("document.scrollingElement.scrollWidth")
        if width > page.evaluate("innerWidth"):
            wide[path_of(where, server)] = width
    assert wide == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_stands_out_from_what_is_behind_it(
    server: Server, site: BuiltSite, context: Callable, language: str, scheme: str
):
    page = context(color_scheme=scheme).new_page()
    seen, faint = set(), {}
    for path in ["", "m00", *site.chapters(), *site.labs()]:
        visit(page, address(server, language, path))
        assert page.evaluate("document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
        found = page.evaluate(CONTRAST)
        seen |= {one["kind"] for one in found}
        if below := [one for one in found if one["ratio"] < 4.5]:
            faint[path] = below
    assert not faint, report(faint)
    assert seen == {"code", "output", "table", "figure", "prose", "label"}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious(server: Server, site: BuiltSite, context: Callable, language: str, scheme: str):
    assert AXE.is_file(), "axe-core is missing: run `make test`, which installs it, or `npm ci --prefix tests`"
    page = context(color_scheme=scheme).new_page()
    found = {}
    pages = [address(server, language, path) for path in ["", "m00", *site.chapters(), *site.labs()]]
    for where in [*pages, f"{server.address}{language}/nothing/"]:  # the last is the 404 page
        visit(page, where)
        page.add_script_tag(path=AXE)
        result = page.evaluate("axe.run({resultTypes: ['violations']})")
        assert result["testEngine"]["name"] == "axe-core"
        bad = [v for v in result["violations"] if v["impact"] in ("serious", "critical")]
        if bad:
            found[where] = [f"{v['id']}: {v['help']}: {[n['html'][:120] for n in v['nodes'][:3]]}" for v in bad]
    assert not found, report(found)


def test_no_id_is_used_twice_once_scripts_have_run(server: Server, site: BuiltSite, page: Page, language: str):
    for path in site.chapters():
        visit(page, address(server, language, path))
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
        assert sorted(ids) == sorted(set(ids)), path


# ------------------------------------------------------------------------------------------- languages


def test_the_language_switch_keeps_page_and_fragment(server: Server, site: BuiltSite, page: Page, language: str):
    other = next(one for one in LANGUAGES if one != language)
    for path in site.paths():
        visit(page, address(server, language, path))
        headings = page.locator("article :is(h2, h3)[id]").evaluate_all("(all) => all.map((e) => e.id)")
        fragment = headings[len(headings) // 2] if headings else ""
        if fragment:
            page.goto(f"{address(server, language, path)}#{fragment}")
            page.wait_for_timeout(500)  # until the address follows the section that is read
            fragment = urlsplit(page.url).fragment
        page.locator("[data-language-switch]").click()
        page.wait_for_url(address(server, other, path) + "*")
        assert path_of(page.url, server) == path_of(address(server, other, path), server)
        assert urlsplit(page.url).fragment == fragment
        assert page.locator("html").get_attribute("lang") == other
        if fragment:
            assert page.locator(f"[id='{fragment}']").count() == 1


def test_three_clicks_then_the_switch(server: Server, page: Page, language: str):
    other = next(one for one in LANGUAGES if one != language)
    visit(page, address(server, language, ""))
    for path in (M00_1, "m00", M00_4):
        target = address(server, language, path)
        links = page.locator("a:visible")
        index = links.evaluate_all("(links, target) => links.findIndex((link) => link.href === target)", target)
        links.nth(index).click()
        page.wait_for_url(target + "*")
    page.goto(page.url.partition("#")[0] + "#step-2")
    page.wait_for_timeout(300)
    fragment = urlsplit(page.url).fragment
    page.locator("[data-language-switch]").click()
    page.wait_for_url(f"{address(server, other, M00_4)}#{fragment}")
    assert fragment == "step-2"


@pytest.mark.parametrize(
    ("locale", "language"), [("zh-TW", "zh-TW"), ("zh-HK", "zh-TW"), ("en-US", "en"), ("en-GB", "en"), ("de-DE", "en")]
)
def test_the_root_page_sends_readers_to_their_language(server: Server, context: Callable, locale: str, language: str):
    page = context(locale=locale).new_page()
    watch = Watch(page, server)
    visit(page, f"{server.address}#map")
    page.wait_for_url(f"{address(server, language, '')}#map")
    assert page.locator("html").get_attribute("lang") == language
    assert not watch.faults, "\n".join(watch.faults)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_root_page_works_without_javascript(server: Server, context: Callable, language: str):
    page = context(java_script_enabled=False, viewport=PHONE).new_page()
    page.goto(server.address)
    assert page.url == server.address
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    page.locator(f"a[hreflang='{language}']").click()
    assert page.url == address(server, language, "")
    assert page.locator("h1").is_visible()


@pytest.mark.parametrize(
    "deep", ["nothing", "en/nothing/", "zh-TW/m00/no/such/page/", "en/m00/m00_1_export_and_aten/x"]
)
def test_the_404_page_is_right_at_every_depth(server: Server, page: Page, deep: str):
    watch = Watch(page, server, missing=server.address + deep)
    answer = visit(page, server.address + deep)
    assert answer.status == 404
    assert not watch.faults, "\n".join(watch.faults)
    for language in LANGUAGES:
        assert page.locator(f"a[href='{server.base_path}{language}/']").is_visible()
    first = page.locator("main section").first.get_attribute("lang")
    assert first == ("en" if deep.startswith("en/") else "zh-TW")
    page.locator(f"a[href='{server.base_path}en/']").click()
    assert page.url == address(server, "en", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_404_page_searches(server: Server, page: Page, language: str):
    visit(page, f"{server.address}nothing/at/all")
    field = page.locator(f"section[lang='{language}'] input[type=search]")
    field.fill("conv2d")
    field.press("Enter")
    page.wait_for_url(lambda url: path_of(url, server) == f"{language}/")
    page.locator(".md-search-result__item").first.wait_for()


# ------------------------------------------------------------------------------------------- keyboard


def test_the_first_tab_stop_skips_to_the_content(server: Server, page: Page, language: str):
    visit(page, address(server, language, M00_1))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('md-skip')")
    page.keyboard.press("Enter")
    target = urlsplit(page.url).fragment
    assert page.evaluate("(id) => Boolean(document.getElementById(id)?.closest('article'))", target)


def test_what_scrolls_sideways_is_reached_and_scrolled_by_keyboard(
    server: Server, site: BuiltSite, context: Callable, language: str
):
    page = context(viewport=PHONE).new_page()
    scrolled = 0
    for path in ["m00", *site.chapters(), *site.labs()]:
        visit(page, address(server, language, path))
        unfold(page)
        page.wait_for_timeout(100)
        boxes = page.evaluate_handle(
            """() => [...document.querySelectorAll("article *")].filter((e) => e.scrollWidth > e.clientWidth + 1 &&
              e.clientWidth > 0 && /auto|scroll/.test(getComputedStyle(e).overflowX))"""
        )
        stuck = boxes.evaluate("(all) => all.filter((e) => e.tabIndex < 0).map((e) => e.outerHTML.slice(0, 200))")
        assert not stuck, f"no tab stop in {path}: {stuck}"
        # pressing keys takes a while, so that is done to the first box of each kind
        kinds = boxes.evaluate_handle("(all) => Object.values(Object.fromEntries(all.map((e) => [e.className, e])))")
        for box in kinds.get_properties().values():
            element = box.as_element()
            where = f"{path}: {element.evaluate('(e) => e.outerHTML.slice(0, 200)')}"
            element.focus()
            page.keyboard.press("ArrowRight")
            try:
                page.wait_for_function("(e) => e.scrollLeft > 0", arg=element, timeout=3000)
            except TimeoutError:
                pytest.fail(f"the arrow keys don't scroll it: {where}")
            scrolled += 1
    assert scrolled > 0
