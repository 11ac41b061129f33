"""Helpers of the PT2E chapters: silence known noise, export with a dynamic batch, measure an error.

torchao is not imported here, so that `quiet` can run before it is.
"""

from __future__ import annotations

import logging
import os
import warnings
from typing import Any

import torch
from torch.export import Dim, ShapesCollection
from torch.fx import GraphModule
from torch.utils._pytree import tree_leaves

# Logger → how the line to drop begins (torch 2.13, torchao 0.18). Nothing else of these loggers is dropped.
_LOG_LINES = {
    "torchao": ("Failed to load ",),  # CUDA extensions that a CPU build cannot load
    "torchao.kernel.intmm": ("Warning: Detected no triton",),
    "torch.utils._pytree": ("<enum 'KernelPreference'> is an Enum subclass",),
}
# Regular expressions for the beginning of a warning's text.
_WARNINGS: tuple[tuple[str, type[Warning]], ...] = (
    (r"`torch\.jit\.script_method` is ", DeprecationWarning),
    (r"XNNPACKQuantizer is deprecated!", UserWarning),
    (r"`isinstance\(treespec, LeafSpec\)` is deprecated", FutureWarning),
)


class _DropLines(logging.Filter):
    """Drops the records whose message begins with one of ``starts``."""

    def __init__(self, starts: tuple[str, ...]) -> None:
        super().__init__()
        self.starts = starts

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(self.starts)


_FILTERS = {name: _DropLines(starts) for name, starts in _LOG_LINES.items()}


def quiet() -> None:
    """Silence the known, harmless noise of importing and using torchao, and nothing else. Call it before that import.

    Covered are the lines about CUDA extensions and triton, about ``KernelPreference``, the deprecations of
    ``torch.jit.script_method``, ``XNNPACKQuantizer`` and ``LeafSpec``, and the profiler's ``USDT:`` lines. What matters
    still appears, such as "must run observer before calling calculate_qparams" (calibration is missing) or that
    ``Dim.AUTO`` made a dimension static. Calling it again changes nothing.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    for name, drop in _FILTERS.items():
        logging.getLogger(name).addFilter(drop)
    for beginning, category in _WARNINGS:
        warnings.filterwarnings("ignore", message=beginning, category=category)


def export_module(model: torch.nn.Module, inputs: tuple[Any, ...]) -> GraphModule:
    """Export `model` with a dynamic batch and return the callable module, ready for ``prepare_pt2e``.

    Dimension 0 of every tensor in `inputs` is the batch; 0-dimensional tensors and other values stay as they are. The
    model is exported in the mode it is in, so call ``.eval()`` first where that is meant. That sizes 0 and 1 are not
    dynamic is torch.export's rule (its documentation calls it 0/1 specialization).

    Args:
        model: any module that ``torch.export.export`` accepts.
        inputs: positional example inputs, each tensor ``[batch, …]`` with the same batch of at least 2.

    Raises:
        TypeError: `inputs` is not a tuple or list.
        ValueError: no tensor has a batch, a batch is 0 or 1, or the batches differ.
    """
    if not isinstance(inputs, (tuple, list)):
        raise TypeError(f"export_module: inputs must be a tuple such as (x,), got {type(inputs).__name__}")
    tensors = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor) and leaf.ndim]
    sizes = sorted({tensor.shape[0] for tensor in tensors})
    if not sizes:
        raise ValueError("export_module: the inputs hold no tensor with a batch dimension")
    if sizes[0] < 2:
        raise ValueError(
            f"export_module: the example batch is {sizes[0]}, but torch.export treats sizes 0 and 1 as constants, "
            "so the batch would not be dynamic; use an example batch of 2 or more"
        )
    if len(sizes) > 1:
        raise ValueError(f"export_module: all inputs need the same batch size, got {', '.join(map(str, sizes))}")
    shapes = ShapesCollection()
    for tensor in tensors:
        shapes[tensor] = {0: Dim("batch")}
    args = tuple(inputs)
    return torch.export.export(model, args, dynamic_shapes=shapes.dynamic_shapes(model, args)).module()


def sqnr(reference: torch.Tensor, actual: torch.Tensor) -> float:
    """Signal-to-quantization-noise ratio in dB: ``20 · log10(‖reference‖ / ‖reference − actual‖)``.

    Both tensors have the same shape. Equal tensors give ``inf``; an `actual` of zeros gives 0 dB. Computed in float64.

    Raises:
        ValueError: the shapes differ.
    """
    if reference.shape != actual.shape:
        raise ValueError(f"sqnr: shapes differ, {list(reference.shape)} and {list(actual.shape)}")
    signal, noise = reference.double(), reference.double() - actual.double()
    return float(20 * torch.log10(signal.norm() / noise.norm()))
