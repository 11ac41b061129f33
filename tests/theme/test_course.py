"""docs/course.yml is complete, in both languages."""

from pathlib import Path

import pytest
import yaml

from coursebuild.project import LANGUAGES

ROOT = Path(__file__).parents[2]
COURSE = yaml.safe_load((ROOT / "docs/course.yml").read_text(encoding="utf-8"))
CHAPTERS = {module["id"]: [chapter["stem"] for chapter in module["chapters"]] for module in COURSE["modules"]}
ENTRIES = [
    *COURSE["modules"],
    *(chapter for module in COURSE["modules"] for chapter in module["chapters"]),
    *(module["lab"] for module in COURSE["modules"]),
    *COURSE["appendix"],
]


def test_the_modules_have_the_chapters_that_links_rely_on():
    assert {module: len(stems) for module, stems in CHAPTERS.items()} == {
        "m00": 4, "m01": 3, "m02": 3, "m03": 4, "m04": 4, "m05": 3, "m06": 4, "m07": 2,
    }
    for number, (module, stems) in enumerate(CHAPTERS.items()):
        assert module == f"m{number:02}"
        assert [stem[:6] for stem in stems] == [f"{module}_{k}_" for k in range(1, len(stems) + 1)]


def test_a_label_is_that_of_its_stem():
    for module in COURSE["modules"]:
        assert module["lab"]["stem"] == f"lab_{module['id']}"
        for chapter in module["chapters"]:
            assert chapter["label"] == f"{module['id'].upper()}-{chapter['stem'][4]}"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.get("stem") or entry["id"])
def test_titles_and_goals_are_in_both_languages(entry: dict):
    texts = [entry["title"], *([entry["goal"]] if "goal" in entry else [])]
    assert "goal" in entry or entry["stem"].startswith("lab_")
    for text in texts:
        assert sorted(text) == sorted(LANGUAGES)
        assert not any("\u4e00" <= char <= "\u9fff" for char in text["en"])
        assert all(value == value.strip() and value for value in text.values())


def test_stems_are_unique():
    stems = [entry["stem"] for entry in ENTRIES if "stem" in entry]
    assert len(stems) == len(set(stems))


def test_the_titles_that_people_link_to_stay():
    m00 = {chapter["stem"]: chapter["title"] for chapter in COURSE["modules"][0]["chapters"]}
    assert m00["m00_1_export_and_aten"] == {
        "zh-TW": "torch.export 出來的圖長什麼樣，以及 ATen 是什麼",
        "en": "What a torch.export graph looks like, and what ATen is",
    }
    assert m00["m00_4_editing_graphs"] == {
        "zh-TW": "改圖：後面會用到的 torch.fx 圖操作",
        "en": "Editing a graph: the torch.fx operations used later",
    }
