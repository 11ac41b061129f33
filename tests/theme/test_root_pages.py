"""The root page and the 404 page, rendered as the build does."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from jinja2 import Environment, FileSystemLoader, StrictUndefined

ROOT = Path(__file__).parents[2] / "docs/theme/root"
SITE, BASE = "https://example.org/sub/", "/sub/"


def page(name: str) -> BeautifulSoup:
    templates = Environment(loader=FileSystemLoader(ROOT), undefined=StrictUndefined, autoescape=True)
    return BeautifulSoup(templates.get_template(name).render(site_url=SITE, base_path=BASE), "html.parser")


def test_only_pages_are_html_files():
    assert sorted(path.name for path in ROOT.glob("*.html")) == ["404.html", "index.html"]


@pytest.mark.parametrize("name", ["index.html", "404.html"])
def test_every_address_is_absolute(name: str):
    addresses = [e.get("href") or e.get("action") for e in page(name).select("[href], [action]")]
    assert addresses
    assert all(a.startswith((BASE, SITE)) for a in addresses)


@pytest.mark.parametrize("name", ["index.html", "404.html"])
def test_both_languages_are_there_and_marked(name: str):
    soup = page(name)
    assert soup.html["lang"] == "zh-TW"
    homes = {a["href"] for a in soup.select("main a")}
    assert {f"{BASE}zh-TW/", f"{BASE}en/"} <= homes
    assert soup.select_one(f"[lang=en] a[href='{BASE}en/']")
    assert soup.select_one("h1 [lang=en]")


def test_the_root_page_names_its_alternates():
    links = {e["hreflang"]: e["href"] for e in page("index.html").select("link[hreflang]")}
    assert links == {"zh-TW": f"{SITE}zh-TW/", "en": f"{SITE}en/", "x-default": SITE}


def test_the_404_page_is_not_indexed_and_searches_in_both_languages():
    soup = page("404.html")
    assert soup.select_one("meta[name=robots]")["content"] == "noindex"
    forms = soup.select("form[role=search]")
    assert [form["action"] for form in forms] == [f"{BASE}zh-TW/", f"{BASE}en/"]
    assert all(form["aria-label"] and form.select_one("input[name=q]")["aria-label"] for form in forms)
