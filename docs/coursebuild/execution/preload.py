"""Imported once by the fork server; every chapter then starts in a copy of this warm, idle process.

The modules are those that the first export or the first page would import lazily, at more than a second a chapter.
"""

import gc
from importlib import import_module

for name in (
    "numpy",
    "torch",
    "torch.export",
    "torch._export.non_strict_utils",
    "torch._inductor.decomposition",
    "torch._dynamo.convert_frame",
    "torch._decomp.decompositions",
    "torch.fx.experimental.symbolic_shapes",
    "torch.export._trace",
    "torch.fx.passes.runtime_assert",
    "graphviz",
    "nbformat",
    "mkdocs_gallery.gen_gallery",
    "mkdocs_gallery.gen_single",
):
    import_module(name)
gc.collect()
gc.freeze()  # else each child spends a fifth of a second collecting, and copying, the inherited heap
