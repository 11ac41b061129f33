"""The hand-written pages exist in both languages, with the same sections, and the glossary with the same terms."""

import re
from pathlib import Path

import pytest
import yaml

from coursebuild.project import LANGUAGES

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("index.md", "about.md", "benchmark.md", "glossary.md")
HEADING = re.compile(r"^##+ .*?(?:\{#(?P<id>[\w-]+)\})?$", re.M)
ROW = re.compile(r"^\| (?P<en>[^|]+) \| (?P<zh>[^|]+) \| (?P<meaning>[^|]+) \|$", re.M)


def text(language: str, page: str) -> str:
    return (DOCS / language / page).read_text(encoding="utf-8")


def terms(language: str) -> list[tuple[str, str]]:
    rows = [(m["en"], re.sub(r"</?span[^>]*>", "", m["zh"])) for m in ROW.finditer(text(language, "glossary.md"))]
    return rows[1:]  # without the header


@pytest.mark.parametrize("page", PAGES)
def test_both_languages_have_the_same_sections(page: str):
    ids = {language: [m["id"] for m in HEADING.finditer(text(language, page))] for language in LANGUAGES}
    assert ids["zh-TW"] == ids["en"]
    assert None not in ids["en"], "each heading has an explicit id"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_front_matter_is_read_and_has_a_description(language: str, page: str):
    _, front, body = text(language, page).split("---\n", 2)
    assert yaml.safe_load(front)["description"]
    assert len(re.findall(r"^# ", body, re.M)) == 1


def test_both_glossaries_have_the_same_terms_in_order():
    assert terms("zh-TW") == terms("en")
    assert len(terms("en")) >= 60
    names = [name.lower() for name, _ in terms("en")]
    assert names == sorted(set(names))


def test_chinese_in_the_english_glossary_is_marked_as_such():
    for match in ROW.finditer(text("en", "glossary.md")):
        outside = match["en"] + re.sub(r'<span lang="zh-TW">.*?</span>', "", match["zh"]) + match["meaning"]
        assert not re.search(r"[\u3000-\u9fff\uff00-\uffef]", outside), match[0]
