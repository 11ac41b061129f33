"""What is wrong with the numbers that the reader's function returned.

A typical mistake is recognized by its results: each one is written down here as the formula that someone makes it with,
and whoever gets the same wrong numbers made that mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from common.checks.answers import first_line
from common.checks.numbers import NUMBER_PUZZLES, NumberCase, exactly

EPS = torch.finfo(torch.float32).eps
LINES = 3  # differing values that a message shows
Way = Callable[..., tuple[torch.Tensor, ...]]


@dataclass(frozen=True)
class NumberProblem:
    """What is wrong. ``differ`` are places that differ: what stands there, the wanted number and the one that came."""

    code: str
    fields: dict[str, str]
    differ: list[tuple[str, str, str]]


@dataclass(frozen=True)
class _Outcome:
    """What a call of the reader's function gave."""

    error: Exception | None = None
    returned: Any = None
    changed: str = ""  # the argument that it changed

    def results(self, names: tuple[str, ...]) -> tuple[torch.Tensor, ...] | None:
        """The returned tensors, if they are as many as wanted; those of an integer type as int64, but for ``q``."""
        values = self.returned if len(names) > 1 else (self.returned,)
        fits = isinstance(values, tuple | list) and len(values) == len(names)
        if not fits or not all(isinstance(value, torch.Tensor) for value in values):
            return None
        return tuple(
            value.long() if name == "zero_point" and not value.is_floating_point() else value
            for name, value in zip(names, values, strict=True)
        )


def find_number_problem(
    name: str, cases: tuple[NumberCase, ...], fn: Callable[..., Any]
) -> tuple[int, NumberProblem] | None:
    """(index of the first case that fails, what is wrong); None if all are right, bit for bit."""
    names = NUMBER_PUZZLES[name].results
    outcomes = [_call(fn, case, NUMBER_PUZZLES[name].parameters) for case in cases]
    failing = [
        i for i, (case, outcome) in enumerate(zip(cases, outcomes, strict=True)) if not _right(case, outcome, names)
    ]
    if not failing:
        return None
    first = failing[0]
    case, outcome = cases[first], outcomes[first]
    if isinstance(outcome.error, NotImplementedError):
        return first, NumberProblem("not_written", {}, [])
    if outcome.error:
        error = first_line(outcome.error)
        code = "broadcast" if "must match the size of tensor" in error else "raised"
        return first, NumberProblem(code, {"error": error}, [])
    code, fields = _wrong_type(outcome, names) or (_known(name, cases, outcomes, failing), {})
    if not code:
        code, fields = next(_wrong_form(case, outcome, names), ("", {}))
    if not code:
        code, fields = _wrong_values(case, outcome, names)
    return first, NumberProblem(code, fields, list(_differ(name, case, outcome)))


def _call(fn: Callable[..., Any], case: NumberCase, parameters: tuple[str, ...]) -> _Outcome:
    args = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in case.args]
    try:
        returned = fn(*args)
    except Exception as e:  # whatever the reader's code raises is an answer to explain
        return _Outcome(error=e)
    changed = [
        parameter
        for parameter, now, then in zip(parameters, args, case.args, strict=True)
        if isinstance(then, torch.Tensor) and not torch.equal(now, then)
    ]
    return _Outcome(None, returned, changed[0] if changed else "")


def _right(case: NumberCase, outcome: _Outcome, names: tuple[str, ...]) -> bool:
    results = None if outcome.error or outcome.changed else outcome.results(names)
    return results is not None and _same(results, case.wanted)


def _same(a: tuple[torch.Tensor, ...], b: tuple[torch.Tensor, ...]) -> bool:
    """Equal in dtype, shape and every value, where NaN equals NaN."""
    return len(a) == len(b) and all(
        x.dtype == y.dtype and x.shape == y.shape and bool(((x == y) | ((x != x) & (y != y))).all())
        for x, y in zip(a, b, strict=True)
    )


def _wrong_type(outcome: _Outcome, names: tuple[str, ...]) -> tuple[str, dict[str, str]] | None:
    returned = outcome.returned
    if returned is None:
        return "nothing", {}
    if outcome.changed:
        return "changed_input", {"what": outcome.changed}
    if outcome.results(names) is not None:
        return None
    if len(names) > 1 and not (isinstance(returned, tuple | list) and len(returned) == len(names)):
        return "not_a_pair", {"names": ", ".join(names), "came": type(returned).__name__}
    values = returned if len(names) > 1 else (returned,)
    wrong = next(i for i, value in enumerate(values) if not isinstance(value, torch.Tensor))
    return "not_a_tensor", {"what": names[wrong], "came": type(values[wrong]).__name__}


def _known(name: str, cases: tuple[NumberCase, ...], outcomes: list[_Outcome], failing: list[int]) -> str:
    """The mistake that gives the numbers of most cases that fail, best of the first one, too; else ""."""
    names = NUMBER_PUZZLES[name].results
    best, code = (False, 0), ""
    for known, way in WAYS[name]:
        matched = [i for i in failing if _made(way, cases[i], outcomes[i], names)]
        score = (failing[0] in matched, len(matched))
        if 2 * len(matched) > len(failing) and score > best:
            best, code = score, known
    return code


def _made(way: Way, case: NumberCase, outcome: _Outcome, names: tuple[str, ...]) -> bool:
    results = None if outcome.error else outcome.results(names)
    try:
        return results is not None and _same(results, way(*case.args))
    except RuntimeError:  # shapes that this formula can't take
        return False


def _wrong_form(case: NumberCase, outcome: _Outcome, names: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    results = outcome.results(names) or ()
    for name, wanted, came in zip(names, case.wanted, results, strict=True):
        if came.dtype != wanted.dtype:
            yield "wrong_dtype", {"what": name, "wanted": str(wanted.dtype), "came": str(came.dtype)}
        if came.shape != wanted.shape:
            yield "wrong_shape", {"what": name, "wanted": str(list(wanted.shape)), "came": str(list(came.shape))}


def _wrong_values(case: NumberCase, outcome: _Outcome, names: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    pairs = list(zip(names, case.wanted, outcome.results(names) or (), strict=True))
    name, wanted, came = next(pair for pair in pairs if not _same(pair[1:2], pair[2:]))
    if wanted.is_floating_point() and torch.allclose(came, wanted, rtol=1e-4, atol=0):
        return "last_bit", {"what": name}
    return "other_values", {"what": name}


def _differ(name: str, case: NumberCase, outcome: _Outcome) -> Iterator[tuple[str, str, str]]:
    """The first places where the results differ; where a result has its argument's shape, with the argument there."""
    puzzle = NUMBER_PUZZLES[name]
    shown = 0
    for result, wanted, came in zip(puzzle.results, case.wanted, outcome.results(puzzle.results) or (), strict=False):
        if came.shape != wanted.shape:
            continue
        for place in (~((came == wanted) | ((came != came) & (wanted != wanted)))).nonzero().tolist():
            if shown == LINES:
                return
            shown += 1
            source, label = case.args[0], f"{result}{place if place else ''}"
            if name != "qparams" and source.shape == wanted.shape:
                label = f"{puzzle.parameters[0]}{place} = {source[tuple(place)].item():.9g}"
            yield label, *(exactly(value[tuple(place)].item()) for value in (wanted, came))


# --- the typical mistakes, as formulas


def _quantized(steps: Way) -> Way:
    """quantize with other steps before the clamp."""
    return lambda x, s, z, qmin, qmax, dtype: (torch.clamp(steps(x, s, z), qmin, qmax).to(dtype),)


def _limits_ignored(x: torch.Tensor, s: float, z: int, qmin: int, qmax: int, dtype: torch.dtype) -> tuple:
    limits = torch.iinfo(dtype)
    return _quantized(lambda x, s, z: torch.round(x * (1.0 / s)) + z)(x, s, z, limits.min, limits.max, dtype)


def _range(low: torch.Tensor, high: torch.Tensor, symmetric: bool) -> torch.Tensor:
    """What the right scale divides: the whole extent, or the larger side."""
    low, high = low.clamp(max=0), high.clamp(min=0)
    return torch.maximum(-low, high) if symmetric else high - low


def _steps(qmin: int, qmax: int, symmetric: bool) -> float:
    return (qmax - qmin) / 2 if symmetric else qmax - qmin


def _affine_zero_point(low: torch.Tensor, scale: torch.Tensor, qmin: int, qmax: int) -> torch.Tensor:
    return (qmin - torch.round(low / scale)).clamp(qmin, qmax)


def _no_zero_point(low: torch.Tensor, scale: torch.Tensor, qmin: int, qmax: int) -> torch.Tensor:
    return torch.zeros_like(low)


def _by_scheme(affine: Callable[..., Any], symmetric: Callable[..., Any]) -> Callable[..., Any]:
    """One of the two, by the last argument."""
    return lambda *args: (symmetric if args[-1] else affine)(*args)


def _ranges(extent: Callable[..., torch.Tensor], steps: Callable[..., float] = _steps, eps: float = EPS) -> Way:
    """qparams with one thing otherwise: the extent, the number of steps, or the smallest scale."""

    def way(low: torch.Tensor, high: torch.Tensor, qmin: int, qmax: int, symmetric: bool) -> tuple:
        scale = (extent(low, high, symmetric) / steps(qmin, qmax, symmetric)).clamp(min=eps)
        zero_point = _no_zero_point if symmetric else _affine_zero_point
        return scale, zero_point(low.clamp(max=0), scale, qmin, qmax).long()

    return way


def _zero_points(affine: Callable[..., torch.Tensor], symmetric: Callable[..., torch.Tensor] = _no_zero_point) -> Way:
    """qparams whose zero point alone is otherwise."""

    def way(low: torch.Tensor, high: torch.Tensor, qmin: int, qmax: int, is_symmetric: bool) -> tuple:
        scale, _ = _ranges(_range)(low, high, qmin, qmax, is_symmetric)
        zero_point = symmetric if is_symmetric else affine
        return scale, zero_point(low.clamp(max=0), scale, qmin, qmax).long()

    return way


def _zero_left_out(low: torch.Tensor, high: torch.Tensor, qmin: int, qmax: int, symmetric: bool) -> tuple:
    if symmetric:
        return _ranges(_range)(low, high, qmin, qmax, symmetric)
    scale = ((high - low) / (qmax - qmin)).clamp(min=EPS)
    return scale, _affine_zero_point(low, scale, qmin, qmax).long()


def _largest(weight: torch.Tensor, axis: int) -> torch.Tensor:
    return weight.abs().amax([i for i in range(weight.ndim) if i != axis])


def _weights(extent: Callable[..., torch.Tensor], limits: bool = True, eps: float = EPS) -> Way:
    """quantize_weight with one thing otherwise: the extent, the limits, or the smallest scale."""

    def way(weight: torch.Tensor, axis: int, qmin: int, qmax: int) -> tuple:
        scale = (extent(weight, axis) / ((qmax - qmin) / 2)).clamp(min=eps)
        shaped = scale.reshape([-1 if i == axis else 1 for i in range(weight.ndim)]) if scale.ndim else scale
        least, most = (qmin, qmax) if limits else (-128, 127)
        return torch.clamp(torch.round(weight * (1.0 / shaped)), least, most).to(torch.int8), scale

    return way


# The first that fits counts, where several give the same numbers.
WAYS: dict[str, list[tuple[str, Way]]] = {
    "dequantize": [
        ("no_zero_point", lambda q, s, z: (q.float() * s,)),
        ("zero_point_sign", lambda q, s, z: ((q.float() + z) * s,)),
        ("wrapped", lambda q, s, z: ((q - z).float() * s,)),
        ("zero_point_unscaled", lambda q, s, z: (q.float() * s - z,)),
        ("scale_inverted", lambda q, s, z: ((q.float() - z) / s,)),
    ],
    "quantize": [
        ("no_zero_point", _quantized(lambda x, s, z: torch.round(x * (1.0 / s)))),
        ("zero_point_sign", _quantized(lambda x, s, z: torch.round(x * (1.0 / s)) - z)),
        ("scale_inverted", _quantized(lambda x, s, z: torch.round(x * s) + z)),
        ("not_rounded", _quantized(lambda x, s, z: torch.trunc(x * (1.0 / s)) + z)),
        ("not_rounded", _quantized(lambda x, s, z: torch.trunc(x * (1.0 / s) + z))),
        ("half_up", _quantized(lambda x, s, z: torch.floor(x * (1.0 / s) + 0.5) + z)),
        ("half_away", _quantized(lambda x, s, z: torch.sign(x) * torch.floor((x * (1.0 / s)).abs() + 0.5) + z)),
        ("rounded_late", _quantized(lambda x, s, z: torch.round(x * (1.0 / s) + z))),
        ("divided", _quantized(lambda x, s, z: torch.round(x / s) + z)),
        ("limits_ignored", _limits_ignored),
        ("not_clamped", lambda x, s, z, qmin, qmax, dtype: ((torch.round(x * (1.0 / s)) + z).to(dtype),)),
        ("not_clamped", lambda x, s, z, qmin, qmax, dtype: ((torch.round(x * (1.0 / s)) + z).int().to(dtype),)),
        ("clamped_early", lambda x, s, z, *to: ((torch.round(x * (1.0 / s)).clamp(*to[:2]) + z).to(to[2]),)),
        ("clamped_early", lambda x, s, z, *to: (torch.round(x * (1.0 / s)).clamp(*to[:2]).to(to[2]) + z,)),
    ],
    "qparams": [
        ("zero_left_out", _zero_left_out),
        ("no_eps", _ranges(_range, eps=0.0)),
        ("one_step_more", _ranges(_range, _by_scheme(lambda *args: _steps(*args) + 1, _steps))),
        ("low_ignored", _ranges(_by_scheme(_range, lambda low, high, symmetric: high.clamp(min=0)))),
        ("largest_integer", _ranges(_range, _by_scheme(_steps, lambda qmin, qmax, symmetric: qmax))),
        ("not_halved", _ranges(_range, lambda qmin, qmax, symmetric: qmax - qmin)),
        ("symmetric_zero_point", _zero_points(_affine_zero_point, _affine_zero_point)),
        ("zero_point_sign", _zero_points(lambda low, scale, qmin, qmax: qmin + torch.round(low / scale))),
        ("zero_point_from_zero", _zero_points(lambda low, scale, qmin, qmax: -torch.round(low / scale))),
        (
            "zero_point_from_zero",
            _zero_points(lambda low, scale, qmin, qmax: (-torch.round(low / scale)).clamp(qmin, qmax)),
        ),
        ("not_rounded", _zero_points(lambda low, scale, qmin, qmax: qmin - torch.trunc(low / scale))),
        ("not_rounded", _zero_points(lambda low, scale, qmin, qmax: torch.trunc(qmin - low / scale))),
    ],
    "quantize_weight": [
        ("per_tensor", _weights(lambda weight, axis: weight.abs().max())),
        ("wrong_axis", lambda weight, axis, *limits: _weights(_largest)(weight, 0, *limits)),
        ("no_abs", _weights(lambda weight, axis: weight.amax([i for i in range(weight.ndim) if i != axis]))),
        ("limits_ignored", _weights(_largest, limits=False)),
        ("no_eps", _weights(_largest, eps=0.0)),
    ],
}
