"""
# M00-2 | The second chapter

Draw a very small graph.
"""

# %%
# ## A graph {#graph}

import torch

from common.viz import draw


class Tiny(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1


gm = torch.fx.symbolic_trace(Tiny())
assert [node.op for node in gm.graph.nodes] == ["placeholder", "call_function", "call_function", "output"]
draw(gm, title="relu, then plus one")
