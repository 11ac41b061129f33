"""One solution of each puzzle of the M01 lab. The tests put them into the notebooks' cells in place of the stubs.

Written as in the notebooks: `EPS` stands in their second code cell.
"""

import torch

EPS = torch.finfo(torch.float32).eps


def dequantize(q, scale, zero_point):
    return (q.to(torch.float32) - zero_point) * scale


def quantize(x, scale, zero_point, qmin, qmax, dtype):
    return (torch.round(x * (1.0 / scale)) + zero_point).clamp(qmin, qmax).to(dtype)


def qparams(lo, hi, qmin, qmax, symmetric):
    lo, hi = lo.clamp(max=0), hi.clamp(min=0)
    if symmetric:
        scale = (torch.maximum(-lo, hi) / ((qmax - qmin) / 2)).clamp(min=EPS)
        return scale, torch.zeros_like(lo, dtype=torch.int64)
    scale = ((hi - lo) / (qmax - qmin)).clamp(min=EPS)
    return scale, (qmin - torch.round(lo / scale)).to(torch.int64).clamp(qmin, qmax)


def quantize_weight(weight, axis, qmin, qmax):
    dims = [dim for dim in range(weight.ndim) if dim != axis]
    lo, hi = weight.amin(dims), weight.amax(dims)
    scale, zero_point = qparams(lo, hi, qmin, qmax, symmetric=True)
    shape = [1] * weight.ndim
    shape[axis] = -1
    return quantize(weight, scale.view(shape), zero_point.view(shape), qmin, qmax, torch.int8), scale
