"""
# M00-2 | 第二章

畫一張很小的圖。
"""

# %%
# ## 圖 {#graph}

import torch

from common.viz import draw


class Tiny(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1


gm = torch.fx.symbolic_trace(Tiny())
assert [node.op for node in gm.graph.nodes] == ["placeholder", "call_function", "call_function", "output"]
draw(gm, title="relu 之後加一")
