"""
# M00-1 | 第一章

印出一個數，再列一張表。
"""

# %%
# ## 數字 {#number}
#
# 往下看 [M00-2](chapter:m00_2_second#graph)，還有 [M00-3](chapter:m00_3_planned)。

from common.viz import table

value = 6 * 7
print("答案", value)
table([["`a`", value]], ["名稱", "值"])
print("表格之後")
assert value == 42

# %%
# !!! question "六乘八是多少？"
#     先想一想。

# %% answer
# 算給你看：

print(6 * 8)
assert 6 * 8 == 48
