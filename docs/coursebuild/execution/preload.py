"""Imported once by the fork server; every chapter then starts in a copy of this warm, idle process.

The modules are those that the chapters and their pages would otherwise import themselves, at two seconds a chapter.
"""

import gc
import logging
import warnings
from importlib import import_module

from coursebuild.lifetime import end_with_parent

# a chapter keeps the fork server alive, and the fork server the chapter, also when their build was killed
end_with_parent()
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
    "torch.fx.experimental.validator",
    "torch._inductor.compiler_bisector",
    "torch._subclasses.schema_check_mode",
    "torch._export.passes.replace_with_hop_pass_util",
    "torch._export.passes.replace_autocast_with_hop_pass",
    "torch._export.passes.replace_set_grad_with_hop_pass",
    "sympy.tensor.tensor",
    "torchao.quantization.pt2e.quantize_pt2e",
    "torchao.quantization.pt2e.quantizer.x86_inductor_quantizer",
    "torchao.testing.pt2e._xnnpack_quantizer",
    "graphviz",
    "nbformat.v4",
    "PIL.PngImagePlugin",
    "mkdocs_gallery.gen_gallery",
    "mkdocs_gallery.gen_single",
    "coursebuild.execution.worker",
)
# What torchao says when it is imported is dropped, as `common.pt2e.quiet` does in a chapter. It isn't called here: each
# chapter imports `common` from its own checkout.
logging.disable(logging.WARNING)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for name in MODULES:
        import_module(name)
logging.disable(logging.NOTSET)
import_module("nbformat.v4").new_notebook()  # compiles the schema that every cell of a notebook is checked against
gc.collect()
gc.freeze()  # else each child spends a fifth of a second collecting, and copying, the inherited heap
