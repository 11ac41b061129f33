"""A small chapter in both languages that breaks no rule, and helpers that write it with one thing changed."""

from pathlib import Path

from coursebuild.problems import Problem

ZH = '''\
"""
# M00-1 | 第一章

讀完這一頁，你會用 `table`，也知道 3 個 node 從哪裡來。
"""

# %%
# ## A. 匯出 {#a}
#
# `relu.args` 是上游，見 [M00-4](chapter:m00_4_editing_graphs#step-1)：
#
# - 輸入 `x`
# - 權重 `w`
#
# | 步驟 | API |
# |---|---|
# | 1 | `recompile` |
#
# ```python
# gm.recompile()  # 重新產生 forward
# ```
from common.viz import table

value = 6 * 7  # 六乘七
print("答案是", value)
print(f"誤差 {value:.2f}，共 {value!r} 個")
table([["`a`", value]], ["名稱", "值"])
assert value == 42

# %%
# ### A2 相差 50% {#a2-half}
#
# !!! question "六乘八是多少？"
#     先想一想，誤差是 0.5 dB。

# %% answer
# 算給你看：

with open("x.txt", "w") as f:
    f.write("plain")
    assert 6 * 8 == 48
'''

EN = '''\
"""
# M00-1 | The first chapter

After this page you can use `table`, and you know where three nodes come from.
"""

# %%
# ## A. Export {#a}
#
# `relu.args` is what comes before, see [M00-4](chapter:m00_4_editing_graphs#step-1):
#
# - the input `x`
# - the weight `w`
#
# | step | API |
# |---|---|
# | 1 | `recompile` |
#
# ```python
# gm.recompile()  # generate forward again
# ```
from common.viz import table

value = 6 * 7  # six times seven
print("the answer is", value)
print(f"{value!r} of them, off by {value:.2f}")
table([["`a`", value]], ["name", "value"])
assert value == 42

# %%
# ### A2 Off by 50% {#a2-half}
#
# !!! question "What is six times eight?"
#     Think first. The error is 0.5 dB.

# %% answer
# Computed:

with open("x.txt", "w") as f:
    f.write("plain")
    assert 6 * 8 == 48
'''

FIRST = {"zh-TW": ZH, "en": EN}


def write(root: Path, language: str, text: str, name: str = "examples/{}/m00/m00_1_first.py") -> Path:
    """The file of one language, below `root`."""
    path = root / name.format(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def changed(text: str, old: str, new: str) -> str:
    """`text` with the one occurrence of `old` replaced."""
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
    return text.replace(old, new)


def assert_only(problems: list[Problem], path: str, line: int, *words: str) -> None:
    """There is exactly one problem, at this place, and its message or hint holds all of `words`."""
    assert [(p.path, p.line) for p in problems] == [(path, line)], "\n".join(map(str, problems))
    for word in words:
        assert word in str(problems[0]), str(problems[0])
