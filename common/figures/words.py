"""The few words that a figure says itself, in both languages. Names in a graph are never translated."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    new: str
    gone: str
    changed: str
    io: str
    param: str
    op: str
    observer: str
    quantize: str
    lowered: str
    annotation: str
    shared: str
    no_data: str
    integer: str
    twin: str
    figure: str
    stage: str
    scroll: str
    nodes: str
    empty: str
    table: str
    no_dot: str


WORDS = {
    "en": Words(
        new="new",
        gone="gone in the next stage",
        changed="changed",
        io="placeholder / output",
        param="get_attr (parameter, constant)",
        op="operation",
        observer="observer / fake-quant",
        quantize="quantize / dequantize",
        lowered="lowered operation",
        annotation="annotation (spec)",
        shared="same letter: one shared observer",
        no_data="[—, —]: has seen no data yet",
        integer="8-bit values",
        twin="Text version",
        figure="Figure",
        stage="Stage",
        scroll="scroll sideways",
        nodes="Nodes",
        empty="No nodes",
        table="Table",
        no_dot="Graphviz's `dot` is needed to draw this figure and was not found: "
        "apt install graphviz, brew install graphviz, or https://graphviz.org/download/",
    ),
    "zh-TW": Words(
        new="新增",
        gone="下一階段消失",
        changed="有變動",
        io="placeholder／output",
        param="get_attr（參數、常數）",
        op="運算",
        observer="observer／fake-quant",
        quantize="quantize／dequantize",
        lowered="lower 後的運算",
        annotation="標註（spec）",
        shared="字母相同：共用一個 observer",
        no_data="[—, —]：尚未看過資料",
        integer="8 位元的值",
        twin="文字版",
        figure="圖",
        stage="階段",
        scroll="可左右捲動",
        nodes="Node",
        empty="沒有 node",
        table="表格",
        no_dot="畫這張圖需要 Graphviz 的 `dot`，但找不到它："
        "apt install graphviz、brew install graphviz，或 https://graphviz.org/download/",
    ),
}


def language_of(*texts: str) -> str:
    """``"zh-TW"`` if any of `texts` holds a Chinese character, else ``"en"``."""
    return "zh-TW" if any(re.search(r"[\u3400-\u9fff\uf900-\ufaff]", text) for text in texts) else "en"
