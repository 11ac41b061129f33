"""The tiny models of the course. Inputs are images ``[batch, 3, 16, 16]``."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn

SEED = 0
IMAGE = (3, 16, 16)  # channels, height, width


class ConvReLU(nn.Module):
    """conv (with bias) → relu; output ``[batch, 8, 16, 16]``."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, kernel_size=3, padding=1)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.conv(x))


class ConvBnReLU(nn.Module):
    """conv (without bias) → batch norm → relu; output ``[batch, 8, 16, 16]``."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, kernel_size=3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.bn(self.conv(x)))


class Residual(nn.Module):
    """relu(conv2(relu(conv1(x))) + x): two convs that keep the shape, and a skip connection; output like the input."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 3, kernel_size=3, padding=1)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(3, 3, kernel_size=3, padding=1)
        self.relu2 = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu2(self.conv2(self.relu1(self.conv1(x))) + x)


class CNN(nn.Module):
    """Two conv-bn-relu blocks (the second with stride 2), global average pool, linear; output ``[batch, 10]``."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, kernel_size=3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(8, 16, kernel_size=3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.relu2 = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu1(self.bn1(self.conv1(x)))
        x = self.relu2(self.bn2(self.conv2(x)))
        return self.fc(self.flatten(self.pool(x)))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "conv_relu": ConvReLU,
    "conv_bn_relu": ConvBnReLU,
    "residual": Residual,
    "cnn": CNN,
}


def get_model(name: str) -> nn.Module:
    """A new model by name, in train mode, with the same weights every time. The global random state stays untouched.

    Raises:
        ValueError: the name is unknown; the message lists the known ones.
    """
    if name not in MODELS:
        raise ValueError(f"unknown model {name!r}; known models: {', '.join(map(repr, MODELS))}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return MODELS[name]()


def example_inputs(batch: int = 2) -> tuple[torch.Tensor]:
    """A tuple with one float32 tensor ``[batch, 3, 16, 16]``, standard normal, the same values every time.

    The global random state stays untouched.
    """
    return (torch.randn(batch, *IMAGE, generator=torch.Generator().manual_seed(SEED)),)
