"""Small random models, exported with a dynamic batch."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence

import torch
import torch.nn as nn
from torch.fx import GraphModule

CHANNELS, SIDE = 4, 4  # of the images, [batch, CHANNELS, SIDE, SIDE]
SIZES = (1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8)  # layers of the random models, one model each
BATCHES = (2, 5)  # the batch size of the export, and another one
KINDS = ("conv", "conv", "conv_relu_", "relu", "tanh", "sigmoid", "add", "add", "cat")  # what a random layer may be
WIDTHS = {"conv": 1, "conv_relu_": 1, "cat": 2, "cat3": 3}  # values that a convolution of this kind reads at once
PAIRS = ("add", "add_relu", "add_relu_", "cat", "cat3")  # kinds that read both values

Layer = tuple[str, int, int, int]  # kind, the two values it reads (0 is the input), the convolution it calls


class Net(nn.Module):
    """A model of such layers. Every value is ``[batch, 4, 4, 4]``; the unread ones are returned, newest first."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        super().__init__()
        self.layers = tuple(layers)
        for kind, _, _, conv in layers:
            if kind in WIDTHS:
                width = WIDTHS[kind] * CHANNELS
                setattr(self, f"{kind}{conv}", nn.Conv2d(width, CHANNELS, kernel_size=3, padding=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        values, read = [x], set()
        for kind, a, b, conv in self.layers:
            read |= {a, b} if kind in PAIRS else {a}
            left, right = values[a], values[b]
            if kind.startswith("add"):
                total = left + (1.0 if kind == "add_one" else right)
                after = {"add_relu": torch.relu, "add_relu_": torch.relu_}.get(kind)
                values.append(after(total) if after else total)
            elif kind in ("relu", "tanh", "sigmoid"):
                values.append(getattr(torch, kind)(left))
            else:
                inputs = [left, right, left][: WIDTHS[kind]]
                value = getattr(self, f"{kind}{conv}")(torch.cat(inputs, 1) if len(inputs) > 1 else left)
                values.append(torch.relu_(value) if kind == "conv_relu_" else value)
        unread = tuple(value for i, value in enumerate(values) if i not in read)[::-1]
        return unread if len(unread) > 1 else unread[0]


def inputs(batch: int) -> torch.Tensor:
    """Normal random numbers ``[batch, 4, 4, 4]``, the same ones for the same batch size."""
    return torch.randn(batch, CHANNELS, SIDE, SIDE, generator=torch.Generator().manual_seed(batch))


def export(layers: Sequence[Layer]) -> GraphModule:
    """The model of these layers, exported in eval mode with a dynamic batch. The weights are always the same."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = Net(layers).eval()
    shapes = ({0: torch.export.Dim("batch")},)
    return torch.export.export(net, (inputs(BATCHES[0]),), dynamic_shapes=shapes).module()


@functools.lru_cache(maxsize=12)
def random_graphs(seed: int, kinds: tuple[str, ...] = KINDS) -> tuple[GraphModule, ...]:
    """One exported graph for each of ``SIZES``. They are shared: copy a graph before editing it."""
    rng = random.Random(seed)
    return tuple(export([_random_layer(rng, i, kinds) for i in range(size)]) for size in SIZES)


def _random_layer(rng: random.Random, number: int, kinds: tuple[str, ...]) -> Layer:
    """A layer that reads one of the last two values, and perhaps the same one again."""
    a = rng.randrange(max(0, number - 1), number + 1)
    b = rng.choice((a, rng.randrange(number + 1)))
    return rng.choice(kinds), a, b, rng.randrange(3)
