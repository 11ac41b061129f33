"""Imported once by the fork server; every chapter then starts in a copy of this warm, idle process.

The modules are those that the chapters and their pages would otherwise import themselves, at two seconds a chapter.
"""

import gc
import logging
import warnings
from importlib import import_module

MODULES = (
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
    "torchao.quantization.pt2e.quantize_pt2e",
    "torchao.quantization.pt2e.quantizer.x86_inductor_quantizer",
    "graphviz",
    "nbformat",
    "mkdocs_gallery.gen_gallery",
    "mkdocs_gallery.gen_single",
)
# What torchao says when it is imported is dropped, as `common.pt2e.quiet` does in a chapter. It isn't called here: each
# chapter imports `common` from its own checkout.
logging.disable(logging.WARNING)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for name in MODULES:
        import_module(name)
logging.disable(logging.NOTSET)
gc.collect()
gc.freeze()  # else each child spends a fifth of a second collecting, and copying, the inherited heap
