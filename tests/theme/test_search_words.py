"""How search cuts text into words: jieba with the course's own words, and the separator of the index."""

import logging
import re
from pathlib import Path

import jieba
import pytest
import yaml

ROOT = Path(__file__).parents[2]


class _Config(yaml.SafeLoader):
    """mkdocs.yml, as far as it is plain YAML."""


_Config.add_constructor("!ENV", lambda loader, node: loader.construct_sequence(node)[-1])
SEARCH = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Config)["plugins"]["search"]


@pytest.fixture(scope="module", autouse=True)
def words():
    jieba.setLogLevel(logging.ERROR)
    jieba.load_userdict(str(ROOT / SEARCH["jieba_dict_user"]))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("torch.export 出來的圖長什麼樣，以及 ATen 是什麼", ["出來", "什麼", "以及"]),
        ("改圖：後面會用到的 torch.fx 圖操作", ["改圖", "後面", "用到", "操作"]),
        ("匯出後的圖與輸入輸出", ["匯出", "輸入", "輸出"]),
        ("錯誤訊息與不報錯的錯誤", ["錯誤", "訊息"]),
        ("量化感知訓練與訓練後量化", ["量化", "感知", "訓練"]),
        ("參數從佔位節點變成屬性", ["參數", "佔位", "節點", "屬性"]),
        ("死碼消除之後重新產生程式碼", ["死碼", "消除", "重新", "產生", "程式碼"]),
        ("逐通道量化的離群值", ["通道", "量化", "離群值"]),
        ("混合精度：哪些層留在浮點", ["混合", "精度", "浮點"]),
        ("觀察器與校準、標註與量化器", ["觀察器", "校準", "標註", "量化器"]),
    ],
)
def test_words_of_the_course_stay_whole(text: str, wanted: list[str]):
    assert set(wanted) <= set(jieba.cut(text))


def test_each_word_is_there_once():
    lines = (ROOT / SEARCH["jieba_dict_user"]).read_text(encoding="utf-8").splitlines()
    words = [line.split()[0] for line in lines]
    assert sorted(words) == sorted(set(words))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\u200b匯出\u200b後\u200b的\u200b圖\u200b", ["匯出", "後", "的", "圖"]),
        ("torch.ops.aten.conv2d.default", ["torch", "ops", "aten", "conv2d", "default"]),
        (
            "aten::conv2d(Tensor input, Tensor? bias=None)",
            ["aten", "conv2d", "Tensor", "input", "Tensor", "bias", "None"],
        ),
        ("prepare_pt2e", ["prepare_pt2e"]),
        ("torch 2.13.0，torchao", ["torch", "2.13.0", "torchao"]),
        ("conv → bn → relu", ["conv", "bn", "relu"]),
    ],
)
def test_the_separator_ends_words(text: str, words: list[str]):
    assert [word for word in re.split(SEARCH["separator"], text) if word] == words


def test_nothing_is_stemmed():
    assert SEARCH["pipeline"] == []
