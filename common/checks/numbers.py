"""The puzzles of the M01 lab: random numbers to quantize, and what PT2E's observers and ops make of them.

torchao is imported where a case is made, not with this module.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

SIZES = (
    1,
    1,
    1,
    1,
    1,
    1,
    1,
    1,
    2,
    2,
    2,
    3,
    3,
    4,
    4,
    6,
    6,
    8,
    12,
    12,
    24,
    24,
    40,
    60,
)  # values of a case, one case each
SIGNED = ((-128, 127), (-127, 127), (-8, 7))  # ranges of integers, all of them int8
UNSIGNED = ((0, 255), (0, 127))  # uint8


@dataclass(frozen=True)
class NumberCase:
    """One call of the reader's function."""

    args: tuple[Any, ...]
    wanted: tuple[torch.Tensor, ...]

    @property
    def size(self) -> int:
        """How many values the largest argument has."""
        return max(arg.numel() for arg in self.args if isinstance(arg, torch.Tensor))


@dataclass(frozen=True)
class NumberPuzzle:
    """How its cases are made, and what its arguments and results are called."""

    make: Callable[[random.Random, int, int], NumberCase]  # a generator, how many values, the number of the case
    parameters: tuple[str, ...]
    results: tuple[str, ...]  # of several, a tuple is returned
    example: tuple[tuple[Any, ...], ...]  # the calls that the lab's table shows


def dequantize(rng: random.Random, size: int, number: int) -> NumberCase:
    """Integers of any 8-bit type, with any zero point, back to float32."""
    dtype, qmin, qmax = _integers(rng)
    q = torch.tensor([rng.randint(qmin, qmax) for _ in range(size)], dtype=dtype)
    return _dequantized(_shaped(rng, q), _scale(rng, number), rng.randint(qmin, qmax))


def quantize(rng: random.Random, size: int, number: int) -> NumberCase:
    """Values within the range of the integers, beyond it, and halfway between two of them."""
    dtype, qmin, qmax = _integers(rng)
    scale, zero_point = _scale(rng, number), rng.randint(qmin, qmax)
    steps = [_step(rng, number + i, qmin - zero_point, qmax - zero_point) for i in range(size)]
    x = torch.tensor([step * scale for step in steps], dtype=torch.float32)
    return _quantized(_shaped(rng, x), scale, zero_point, qmin, qmax, dtype)


def qparams(rng: random.Random, size: int, number: int) -> NumberCase:
    """Ranges on both sides of 0, on one side, and nothing but 0; one number each, or one a channel."""
    symmetric = number % 2 == 1
    dtype, qmin, qmax = (torch.int8, *rng.choice(SIGNED)) if symmetric else _integers(rng)
    ends = [sorted(_ends(rng, number // 2 + i)) for i in range(size)]
    low, high = (torch.tensor(values, dtype=torch.float32) for values in zip(*ends, strict=True))
    if size == 1 and number % 3:
        low, high = low[0], high[0]
    return _ranged(low, high, qmin, qmax, symmetric, dtype)


def quantize_weight(rng: random.Random, size: int, number: int) -> NumberCase:
    """Weights of two to four dimensions, whose channels have unlike ranges, and are sometimes all 0."""
    ndim = min(4, 2 + size // 4)
    shape = [1, 1] if size == 1 else rng.sample(range(1 if ndim > 2 else 2, 6), ndim)
    axis, (qmin, qmax) = rng.randrange(ndim), SIGNED[number % len(SIGNED)]
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    weight = torch.randn(shape, generator=generator)
    factors = [rng.choice((0.0, 0.01, 0.5, 1.0, 20.0)) if size > 2 else 1.0 for _ in range(shape[axis])]
    weight *= torch.tensor(factors).view([-1 if i == axis else 1 for i in range(len(shape))])
    return _weighed(weight, axis, qmin, qmax)


def _integers(rng: random.Random) -> tuple[torch.dtype, int, int]:
    dtype, ranges = rng.choice(((torch.int8, SIGNED), (torch.uint8, UNSIGNED)))
    return dtype, *rng.choice(ranges)


def _scale(rng: random.Random, number: int) -> float:
    """A float32 number; every second one is a power of two, so that halves are exact."""
    exact = 2.0 ** -rng.randint(1, 5)
    return exact if number % 2 else torch.tensor(rng.uniform(0.01, 0.5)).item()


def _step(rng: random.Random, kind: int, least: int, most: int) -> float:
    """How many scales a value is worth; ``kind`` counts through what mistakes trip over."""
    inside = rng.randint(least, most)
    beyond = rng.randint(2, 200)
    return (inside + 0.5, inside + rng.uniform(-0.5, 0.5), most + beyond + 0.25, least - beyond - 0.25)[kind % 4]


def _ends(rng: random.Random, kind: int) -> tuple[float, float]:
    a, b = rng.uniform(0.1, 8.0), rng.uniform(0.1, 8.0)
    return ((-a, b), (a, b), (-a, -b), (-a, a), (0.0, 0.0), (-2 * a, a))[kind % 6]


def _shaped(rng: random.Random, values: torch.Tensor) -> torch.Tensor:
    count = len(values)
    rows = rng.choice([rows for rows in range(1, count + 1) if count % rows == 0])
    return values.reshape(rows, -1) if count > 3 else values


def _ops() -> Any:
    import torch.ao.quantization.fx._decomposed

    return torch.ops.quantized_decomposed


def _dequantized(q: torch.Tensor, scale: float, zero_point: int) -> NumberCase:
    limits = torch.iinfo(q.dtype)
    wanted = _ops().dequantize_per_tensor(q, scale, zero_point, limits.min, limits.max, q.dtype)
    return NumberCase((q, scale, zero_point), (wanted,))


def _quantized(x: torch.Tensor, *args: Any) -> NumberCase:
    return NumberCase((x, *args), (_ops().quantize_per_tensor(x, *args),))


def _ranged(
    low: torch.Tensor, high: torch.Tensor, qmin: int, qmax: int, symmetric: bool, dtype: torch.dtype
) -> NumberCase:
    from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver

    kind = "symmetric" if symmetric else "affine"
    if low.ndim:
        scheme = getattr(torch, f"per_channel_{kind}")
        observer = PerChannelMinMaxObserver(0, dtype, scheme, quant_min=qmin, quant_max=qmax)
    else:
        scheme = getattr(torch, f"per_tensor_{kind}")
        observer = MinMaxObserver(dtype, scheme, quant_min=qmin, quant_max=qmax)
    observer.min_val, observer.max_val = low, high
    wanted = [value.reshape(low.shape) for value in observer.calculate_qparams()]  # [1] instead of [] per tensor
    return NumberCase((low, high, qmin, qmax, symmetric), (wanted[0], wanted[1].long()))


def _weighed(weight: torch.Tensor, axis: int, qmin: int, qmax: int) -> NumberCase:
    from torchao.quantization.pt2e import PerChannelMinMaxObserver

    scheme = torch.per_channel_symmetric
    observer = PerChannelMinMaxObserver(axis, torch.int8, scheme, quant_min=qmin, quant_max=qmax)
    observer(weight)
    scale, zero_point = observer.calculate_qparams()
    q = _ops().quantize_per_channel(weight, scale, zero_point, axis, qmin, qmax, torch.int8)
    return NumberCase((weight, axis, qmin, qmax), (q, scale))


NUMBER_PUZZLES = {
    "dequantize": NumberPuzzle(
        dequantize,
        ("q", "scale", "zero_point"),
        ("x",),
        ((torch.tensor([0, 9, 10, 11, 255], dtype=torch.uint8), 0.25, 10),),
    ),
    "quantize": NumberPuzzle(
        quantize,
        ("x", "scale", "zero_point", "qmin", "qmax", "dtype"),
        ("q",),
        ((torch.tensor([0.0, 0.3, 0.5, 1.5, -2.5, 70.0, -70.0]), 1.0, 10, -40, 40, torch.int8),),
    ),
    "qparams": NumberPuzzle(
        qparams,
        ("lo", "hi", "qmin", "qmax", "symmetric"),
        ("scale", "zero_point"),
        tuple(
            (torch.tensor(low), torch.tensor(high), qmin, qmax, symmetric)
            for low, high, qmin, qmax, symmetric in (
                (-1.0, 4.0, 0, 20, False),
                (1.0, 4.0, 0, 20, False),
                (-1.0, 4.0, -10, 10, True),
                (-1.0, 4.0, -10, 9, True),
            )
        ),
    ),
    "quantize_weight": NumberPuzzle(
        quantize_weight,
        ("weight", "axis", "qmin", "qmax"),
        ("q", "scale"),
        ((torch.tensor([[4.0, -2.0, 1.0], [0.5, 0.25, -0.125]]), 0, -8, 8),),
    ),
}


@functools.lru_cache(maxsize=8)
def number_cases(name: str, seed: int) -> tuple[NumberCase, ...]:
    """The random cases of a puzzle, fewest values first. They are shared: clone a tensor before handing it out."""
    puzzle, rng = NUMBER_PUZZLES[name], random.Random(f"{name} {seed}")
    made = [puzzle.make(rng, size, number) for number, size in enumerate(SIZES)]
    return tuple(sorted(made, key=lambda case: case.size))


def example(name: str) -> tuple[list[list[str]], list[str]]:
    """(rows, headers) of the table that the lab shows: some calls and their results."""
    again = {
        "dequantize": _dequantized,
        "quantize": _quantized,
        "qparams": lambda *args: _ranged(*args, torch.int8 if args[2] < 0 else torch.uint8),
        "quantize_weight": _weighed,
    }
    puzzle = NUMBER_PUZZLES[name]
    made = [again[name](*args) for args in puzzle.example]
    names = (*puzzle.parameters, *puzzle.results)
    if name == "qparams":  # one call a row
        return [list(map(listed, (*case.args, *case.wanted))) for case in made], [f"`{each}`" for each in names]
    (case,) = made  # one value, or one channel, a row
    columns = dict(zip(names, (*case.args, *case.wanted), strict=True))
    shown = (puzzle.parameters[0], *puzzle.results[::-1])
    rows = zip(*(columns[each] for each in shown), strict=True)
    return [list(map(listed, row)) for row in rows], [f"`{each}`" for each in shown]


def listed(value: Any) -> str:
    """Numbers, and tensors value by value, with up to six digits."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, list):
        return f"[{', '.join(map(listed, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def exactly(value: float) -> str:
    """A number with as many digits as tell float32 numbers apart."""
    return f"{value:.9g}" if math.isfinite(value) else str(value)
