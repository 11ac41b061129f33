"""Short links and redirects, followed by a reader's browser."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coursebuild import addresses
from coursebuild.project import LANGUAGES
from coursebuild.server import Server
from tests.site.browsing import Watch, address, path_of, visit
from tests.site.built import BuiltSite

M00_1 = "m00/m00_1_export_and_aten"
PAGE = (
    "<!doctype html><html lang='{language}'><head><title>{name}</title><link rel='icon' href='data:,'></head><body>"
    "<article><h1 id='title'>{name}</h1><p style='height:200vh'>x</p><h2 id='{id}'>H</h2></article></body></html>"
)


@pytest.mark.parametrize(
    ("locale", "language"), [("zh-TW", "zh-TW"), ("zh-HK", "zh-TW"), ("en-GB", "en"), ("de", "en")]
)
def test_a_short_link_leads_to_the_readers_language_and_keeps_the_fragment(
    server: Server, context: Callable, locale: str, language: str
):
    page = context(locale=locale).new_page()
    watch = Watch(page, server)
    visit(page, f"{server.address}m00-1/#a2-guards-fn")
    page.wait_for_url(f"{address(server, language, M00_1)}#a2-guards-fn")
    assert page.locator("#a2-guards-fn").is_visible()
    assert not watch.faults, "\n".join(watch.faults)


def test_every_chapter_has_a_short_link_to_each_language(server: Server, site: BuiltSite, context: Callable):
    page = context(java_script_enabled=False).new_page()
    for stem in sorted((site.root / "en").glob("*/*_*_*/index.html")):
        path = stem.parent.relative_to(site.root / "en").as_posix()
        module, number = path.split("/")[1].split("_")[:2]
        page.goto(f"{server.address}{module}-{number}/")
        links = [link.get_attribute("href") for link in page.locator("a").all()]
        assert links == [f"{server.base_path}{language}/{path}/" for language in LANGUAGES]


@pytest.fixture
def moved(tmp_path: Path) -> Iterator[Server]:
    """A site on which `old/` went to `new/`, one of its ids to the home page, and an id of `new/` has another name."""
    root = tmp_path / "site"
    for language in LANGUAGES:
        for name, own in (("", "a"), ("new/", "b")):
            (root / language / name).mkdir(parents=True, exist_ok=True)
            (root / language / name / "index.html").write_text(PAGE.format(language=language, name=name, id=own))
    (tmp_path / "docs").mkdir()
    redirects = "old/: new/\nold/#a: ./#a\nnew/#was: new/#b\nnew/#gone: ./#title\n"
    (tmp_path / addresses.REDIRECTS).write_text(redirects)
    addresses.write_redirects(tmp_path, root, "/base/")
    assert addresses.check(tmp_path, root) == []
    with Server(root, port=0, base_path="/base/") as running:
        yield running


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("old/", "new/"),
        ("old/#b", "new/#b"),
        ("old/#a", "#a"),
        ("new/#gone", "#title"),
        ("new/#b", "new/#b"),
    ],
)
def test_an_old_address_leads_on_with_its_fragment(moved: Server, context: Callable, language: str, old: str, new: str):
    page = context().new_page()
    visit(page, f"{moved.address}{language}/{old}")
    page.wait_for_url(f"{moved.address}{language}/{new}")


def test_a_renamed_id_is_still_scrolled_to(moved: Server, context: Callable, language: str):
    page = context(java_script_enabled=False).new_page()
    page.goto(f"{moved.address}{language}/new/#was")
    top = page.locator("h2").bounding_box()["y"]
    assert 0 <= top < page.viewport_size["height"]


def test_an_old_page_leads_on_without_javascript(moved: Server, context: Callable, language: str):
    page = context(java_script_enabled=False).new_page()
    page.goto(f"{moved.address}{language}/old/")
    page.wait_for_url(lambda url: path_of(url, moved) == f"{language}/new/")
