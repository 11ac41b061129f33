"""
# M00-1 | The first chapter

Print a number, then make a table.
"""

# %%
# ## A number {#number}
#
# Read on in [M00-2](chapter:m00_2_second#graph), and in [M00-3](chapter:m00_3_planned).

from common.viz import table

value = 6 * 7
print("the answer", value)
table([["`a`", value]], ["name", "value"])
print("after the table")
assert value == 42

# %%
# !!! question "What is six times eight?"
#     Think first.

# %% answer
# Computed:

print(6 * 8)
assert 6 * 8 == 48
