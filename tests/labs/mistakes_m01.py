"""Wrong answers to the puzzles of the M01 lab, each with the code of the message that it must get."""

from __future__ import annotations

from collections.abc import Callable

import torch
from solutions_m01 import EPS, dequantize, qparams, quantize, quantize_weight

MISTAKES: list[tuple[str, str, Callable]] = []


def gets(puzzle: str, code: str) -> Callable:
    """Mark a function as a wrong answer to ``puzzle`` that the checker must call ``code``."""

    def mark(fn: Callable) -> Callable:
        MISTAKES.append((puzzle, code, fn))
        return fn

    return mark


# --- dequantize


@gets("dequantize", "not_written")
def writes_nothing(q, scale, zero_point):
    raise NotImplementedError


@gets("dequantize", "raised")
def calls_what_does_not_exist(q, scale, zero_point):
    return q.dequantise()


@gets("dequantize", "nothing")
def forgets_to_return(q, scale, zero_point):
    dequantize(q, scale, zero_point)


@gets("dequantize", "not_a_tensor")
def returns_a_list(q, scale, zero_point):
    return dequantize(q, scale, zero_point).tolist()


@gets("dequantize", "wrong_dtype")
def computes_in_float64(q, scale, zero_point):
    return (q.double() - zero_point) * scale


@gets("dequantize", "wrong_shape")
def flattens(q, scale, zero_point):
    return dequantize(q, scale, zero_point)[None]


@gets("dequantize", "wrapped")
def subtracts_in_8_bits(q, scale, zero_point):
    return (q - zero_point) * scale


@gets("dequantize", "no_zero_point")
def only_scales(q, scale, zero_point):
    return q * scale


@gets("dequantize", "zero_point_sign")
def adds_it_again(q, scale, zero_point):
    return scale * (zero_point + q.to(torch.float32))


@gets("dequantize", "zero_point_unscaled")
def scales_first(q, scale, zero_point):
    return scale * q - zero_point


@gets("dequantize", "scale_inverted")
def divides_by_the_scale(q, scale, zero_point):
    return (q.int() - zero_point) / scale


@gets("dequantize", "last_bit")
def multiplies_out(q, scale, zero_point):
    return q.to(torch.float32) * scale - zero_point * scale


@gets("dequantize", "other_values")
def adds_one(q, scale, zero_point):
    return dequantize(q, scale, zero_point) + 1


# --- quantize


@gets("quantize", "changed_input")
def works_in_place(x, scale, zero_point, qmin, qmax, dtype):
    return x.mul_(1 / scale).round_().add_(zero_point).clamp_(qmin, qmax).to(dtype)


@gets("quantize", "wrong_dtype")
def leaves_floats(x, scale, zero_point, qmin, qmax, dtype):
    return torch.clamp(torch.round(x * (1 / scale)) + zero_point, qmin, qmax)


@gets("quantize", "no_zero_point")
def forgets_the_zero_point(x, scale, zero_point, qmin, qmax, dtype):
    return quantize(x, scale, 0, qmin, qmax, dtype)


@gets("quantize", "zero_point_sign")
def subtracts_the_zero_point(x, scale, zero_point, qmin, qmax, dtype):
    return quantize(x, scale, -zero_point, qmin, qmax, dtype)


@gets("quantize", "scale_inverted")
def multiplies_by_the_scale(x, scale, zero_point, qmin, qmax, dtype):
    return torch.clamp((x * scale).round() + zero_point, qmin, qmax).to(dtype)


@gets("quantize", "not_rounded")
def casts_instead(x, scale, zero_point, qmin, qmax, dtype):
    return ((x / scale).to(torch.int32) + zero_point).clamp(qmin, qmax).to(dtype)


@gets("quantize", "not_rounded")
def casts_at_the_end(x, scale, zero_point, qmin, qmax, dtype):
    return (x / scale + zero_point).clamp(qmin, qmax).to(dtype)


@gets("quantize", "half_up")
def adds_a_half(x, scale, zero_point, qmin, qmax, dtype):
    return ((x / scale + 0.5).floor() + zero_point).clamp(qmin, qmax).to(dtype)


@gets("quantize", "half_away")
def rounds_as_at_school(x, scale, zero_point, qmin, qmax, dtype):
    steps = x * (1 / scale)
    rounded = torch.where(steps < 0, (steps - 0.5).ceil(), (steps + 0.5).floor())
    return (rounded + zero_point).clamp(qmin, qmax).to(dtype)


@gets("quantize", "rounded_late")
def rounds_last(x, scale, zero_point, qmin, qmax, dtype):
    return (x * (1 / scale) + zero_point).round().clamp(qmin, qmax).to(dtype)


@gets("quantize", "divided")
def divides(x, scale, zero_point, qmin, qmax, dtype):
    return ((x / scale).round() + zero_point).clamp(qmin, qmax).to(dtype)


@gets("quantize", "limits_ignored")
def limits_to_the_dtype(x, scale, zero_point, qmin, qmax, dtype):
    limits = {torch.int8: (-128, 127), torch.uint8: (0, 255)}[dtype]
    return quantize(x, scale, zero_point, *limits, dtype)


@gets("quantize", "not_clamped")
def does_not_limit(x, scale, zero_point, qmin, qmax, dtype):
    return (torch.round(x * (1 / scale)) + zero_point).to(dtype)


@gets("quantize", "not_clamped")
def does_not_limit_integers(x, scale, zero_point, qmin, qmax, dtype):
    return (torch.round(x * (1 / scale)).to(torch.int64) + zero_point).to(dtype)


@gets("quantize", "clamped_early")
def limits_before_the_zero_point(x, scale, zero_point, qmin, qmax, dtype):
    return (torch.round(x * (1 / scale)).clamp(qmin, qmax) + zero_point).to(dtype)


@gets("quantize", "clamped_early")
def adds_the_zero_point_in_8_bits(x, scale, zero_point, qmin, qmax, dtype):
    return torch.round(x * (1 / scale)).clamp(qmin, qmax).to(dtype) + zero_point


# --- qparams


@gets("qparams", "not_a_pair")
def returns_the_scale_alone(*args):
    return qparams(*args)[0]


@gets("qparams", "not_a_tensor")
def computes_with_python_numbers(lo, hi, qmin, qmax, symmetric):
    if lo.ndim:
        return qparams(lo, hi, qmin, qmax, symmetric)
    scale = max((hi.item() - lo.item()) / (qmax - qmin), EPS)
    return scale, round(qmin - lo.item() / scale)


@gets("qparams", "wrong_dtype")
def leaves_the_zero_point_a_float(*args):
    scale, zero_point = qparams(*args)
    return scale, zero_point.float()


@gets("qparams", "zero_left_out")
def takes_the_range_as_it_is(lo, hi, qmin, qmax, symmetric):
    if symmetric:
        return qparams(lo, hi, qmin, qmax, symmetric)
    scale = torch.clamp((hi - lo) / (qmax - qmin), min=EPS)
    return scale, torch.clamp(qmin - (lo / scale).round(), qmin, qmax).int()


@gets("qparams", "no_eps")
def has_no_smallest_scale(lo, hi, qmin, qmax, symmetric):
    lo, hi = lo.clamp(max=0), hi.clamp(min=0)
    if symmetric:
        return torch.maximum(lo.abs(), hi) / ((qmax - qmin) / 2), torch.zeros_like(lo).int()
    scale = (hi - lo) / (qmax - qmin)
    return scale, (qmin - (lo / scale).round()).clamp(qmin, qmax).to(torch.int64)


@gets("qparams", "one_step_more")
def counts_the_integers(lo, hi, qmin, qmax, symmetric):
    if symmetric:
        return qparams(lo, hi, qmin, qmax, symmetric)
    lo, hi = lo.clamp(max=0), hi.clamp(min=0)
    scale = ((hi - lo) / (qmax - qmin + 1)).clamp(min=EPS)
    return scale, (qmin - torch.round(lo / scale)).clamp(qmin, qmax).int()


@gets("qparams", "low_ignored")
def looks_at_hi_alone(lo, hi, qmin, qmax, symmetric):
    if symmetric:
        lo = torch.zeros_like(lo)
    return qparams(lo, hi, qmin, qmax, symmetric)


@gets("qparams", "largest_integer")
def divides_by_the_largest_integer(lo, hi, qmin, qmax, symmetric):
    if not symmetric:
        return qparams(lo, hi, qmin, qmax, symmetric)
    return (torch.maximum(lo.abs(), hi.abs()) / qmax).clamp(min=EPS), torch.zeros_like(lo).long()


@gets("qparams", "not_halved")
def divides_by_all_steps(lo, hi, qmin, qmax, symmetric):
    if not symmetric:
        return qparams(lo, hi, qmin, qmax, symmetric)
    return (torch.maximum(-lo, hi) / (qmax - qmin)).clamp(min=EPS), torch.zeros_like(lo).long()


@gets("qparams", "symmetric_zero_point")
def always_computes_a_zero_point(lo, hi, qmin, qmax, symmetric):
    scale, _ = qparams(lo, hi, qmin, qmax, symmetric)
    return scale, (qmin - torch.round(lo.clamp(max=0) / scale)).clamp(qmin, qmax).int()


@gets("qparams", "zero_point_sign")
def adds_the_low_end(lo, hi, qmin, qmax, symmetric):
    scale, zero_point = qparams(lo, hi, qmin, qmax, symmetric)
    return (scale, zero_point) if symmetric else (scale, (lo.clamp(max=0) / scale).round().int() + qmin)


@gets("qparams", "zero_point_from_zero")
def counts_from_zero(lo, hi, qmin, qmax, symmetric):
    scale, zero_point = qparams(lo, hi, qmin, qmax, symmetric)
    return (scale, zero_point) if symmetric else (scale, -(lo.clamp(max=0) / scale).round().int())


@gets("qparams", "zero_point_from_zero")
def counts_from_zero_and_limits(lo, hi, qmin, qmax, symmetric):
    scale, zero_point = counts_from_zero(lo, hi, qmin, qmax, symmetric)
    return scale, zero_point.clamp(qmin, qmax)


@gets("qparams", "not_rounded")
def cuts_the_zero_point(lo, hi, qmin, qmax, symmetric):
    scale, zero_point = qparams(lo, hi, qmin, qmax, symmetric)
    return (scale, zero_point) if symmetric else (scale, qmin - (lo.clamp(max=0) / scale).int())


@gets("qparams", "not_rounded")
def cuts_the_sum(lo, hi, qmin, qmax, symmetric):
    scale, zero_point = qparams(lo, hi, qmin, qmax, symmetric)
    return (scale, zero_point) if symmetric else (scale, (qmin - lo.clamp(max=0) / scale).int())


@gets("qparams", "last_bit")
def is_off_by_the_last_bits(lo, hi, qmin, qmax, symmetric):
    scale, zero_point = qparams(lo, hi, qmin, qmax, symmetric)
    return scale * (1 + 2**-22), zero_point


# --- quantize_weight


@gets("quantize_weight", "per_tensor")
def takes_one_scale(weight, axis, qmin, qmax):
    scale, zero_point = qparams(weight.min(), weight.max(), qmin, qmax, True)
    return quantize(weight, scale, zero_point, qmin, qmax, torch.int8), scale


@gets("quantize_weight", "wrong_axis")
def takes_the_first_dimension(weight, axis, qmin, qmax):
    return quantize_weight(weight, 0, qmin, qmax)


@gets("quantize_weight", "wrong_shape")
def merges_the_channels(weight, axis, qmin, qmax):
    scale, zero_point = qparams(weight.amin(axis), weight.amax(axis), qmin, qmax, True)
    return quantize(weight, scale.unsqueeze(axis), zero_point.unsqueeze(axis), qmin, qmax, torch.int8), scale


@gets("quantize_weight", "wrong_shape")
def keeps_the_dimensions(weight, axis, qmin, qmax):
    q, scale = quantize_weight(weight, axis, qmin, qmax)
    return q, scale.view([-1 if dim == axis else 1 for dim in range(weight.ndim)])


@gets("quantize_weight", "broadcast")
def does_not_align_the_scales(weight, axis, qmin, qmax):
    dims = [dim for dim in range(weight.ndim) if dim != axis]
    scale, zero_point = qparams(weight.amin(dims), weight.amax(dims), qmin, qmax, True)
    return quantize(weight, scale, zero_point, qmin, qmax, torch.int8), scale


@gets("quantize_weight", "no_abs")
def looks_at_the_largest_value(weight, axis, qmin, qmax):
    dims = [dim for dim in range(weight.ndim) if dim != axis]
    scale = (weight.amax(dims) * 2 / (qmax - qmin)).clamp(min=EPS)
    return quantize(
        weight, scale.view([-1 if d == axis else 1 for d in range(weight.ndim)]), 0, qmin, qmax, torch.int8
    ), scale


@gets("quantize_weight", "limits_ignored")
def limits_the_weight_to_the_dtype(weight, axis, qmin, qmax):
    _, scale = quantize_weight(weight, axis, qmin, qmax)
    shaped = scale.view([-1 if dim == axis else 1 for dim in range(weight.ndim)])
    return quantize(weight, shaped, 0, -128, 127, torch.int8), scale


@gets("quantize_weight", "no_eps")
def has_no_smallest_scale_for_a_channel(weight, axis, qmin, qmax):
    dims = [dim for dim in range(weight.ndim) if dim != axis]
    scale = weight.abs().amax(dims) / ((qmax - qmin) / 2)
    shaped = scale.view([-1 if dim == axis else 1 for dim in range(weight.ndim)])
    return quantize(weight, shaped, 0, qmin, qmax, torch.int8), scale
