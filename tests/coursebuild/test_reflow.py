"""Chinese lines are joined without a space, and nothing else is touched."""

import pytest

from coursebuild.reflow import join


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("前三頁都\n只讀圖", "前三頁都只讀圖"),
        ("動手：\n`prepare`\n（觀察器）。", "動手：`prepare`（觀察器）。"),
        ("- 一，\n  二\n- 三。\n- 四", "- 一，二\n- 三。\n- 四"),
        ("1. 一。\n2. 二。\n* 三", "1. 一。\n2. 二。\n* 三"),
        ("| 甲。 |\n| 乙 |", "| 甲。 |\n| 乙 |"),
        ("第一段。\n\n第二段。", "第一段。\n\n第二段。"),
        ("一個 node\n的輸入", "一個 node\n的輸入"),
        ("a plain\nline", "a plain\nline"),
        ("看：\n```python\n# 一\n# 二，\nx = 1\n```\n完\n了", "看：\n```python\n# 一\n# 二，\nx = 1\n```\n完了"),
    ],
)
def test_join(source, wanted):
    assert join(source) == wanted
