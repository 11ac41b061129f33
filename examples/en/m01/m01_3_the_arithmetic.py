# zh:7dee264d
"""
# M01-3 | The arithmetic: scale, zero point and int8 values

Every scale, zero point and integer in a graph comes from a little arithmetic and one rounding. On this page we do it by
hand, on tensors small enough to check number by number, and compare with the observers and ops of PT2E: every bit must
agree. Afterwards you will be able to

- compute scale and zero point from a range, affine or symmetric, per-tensor or per-channel;
- turn floats into integers and back, and say how large the error can be;
- compute a conv with integers alone, and say where it differs from the float result.

Everything is as on a CPU with torch 2.13.0 and torchao 0.18.0. Where a graph keeps these numbers is in
[M01-1](chapter:m01_1_end_to_end#convert); who decides on dtype, range and qscheme, in
[M01-2](chapter:m01_2_annotations#spec).
"""

# %% zh:d93c051f
# ## From a range to scale and zero point {#scale}
#
# The scale is the float value of one integer step, the zero point is the integer that stands for float 0. From 0 to
# 255, uint8 has 255 steps: divide the range of the data into 255 equal parts, and one part is the scale; the place
# where float 0 comes to lie is the zero point:
#
# ```text
# scale      = (max − min) / (quant_max − quant_min)
# zero_point = quant_min − round(min / scale)
# ```
#
# Take six numbers, the smallest -0.55 and the largest 2. Do it in your head first, then compare with an observer:
from dataclasses import replace

import torch
import torch.nn.functional as F

from common.pt2e import quiet, sqnr
from common.viz import draw, table

quiet()
from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)

torch.set_num_threads(1)
ops = torch.ops.quantized_decomposed  # the q/dq of our graphs are these ops; importing torchao registers them
x = torch.tensor([-0.55, -0.2, 0.0, 0.123, 0.5, 2.0])
scale = (x.max() - x.min()) / 255
zero_point = 0 - torch.round(x.min() / scale)
observer = MinMaxObserver(torch.uint8, torch.per_tensor_affine, quant_min=0, quant_max=255)
_ = observer(x)
by_observer = observer.calculate_qparams()
rows = [["by hand", f"{scale:.4g}", int(zero_point)], ["observer", *(f"{value.item():.4g}" for value in by_observer)]]
table(rows, ["computed", "scale", "zero point"])
assert (round(scale.item(), 8), zero_point.item()) == (0.01, 55)
assert (by_observer[0].item(), by_observer[1].item()) == (scale.item(), zero_point.item())


# %% zh:48c5b2bf
# ## From float to integer, and back {#quantize}
#
# Quantize does four things: multiply by the reciprocal of the scale, round, add the zero point, clamp to the range of
# the integers. Dequantize goes back: subtract the zero point, multiply by the scale. The whole of it is the two lines
# below. Which value has changed when it comes back?
def quantize(x, scale, zero_point, quant_min, quant_max, dtype):
    return torch.clamp(torch.round(x * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


def dequantize(q, scale, zero_point):
    return (q.to(torch.float32) - zero_point) * scale


s, z = scale.item(), int(zero_point)  # in a graph they are Python numbers, too
uint8 = (s, z, 0, 255, torch.uint8)
q = quantize(x, *uint8)
restored = dequantize(q, s, z)
rows = [
    [f"{value:.4g}", f"{value / s:.4g}", n - z, n, f"{back:.4g}", f"{abs(back - value):.4f}"]
    for value, n, back in zip(x.tolist(), q.tolist(), restored.tolist(), strict=True)
]
table(rows, ["x", "x / scale", "rounded", "q", "back in float", "error"])
many = torch.randn(100_000, generator=torch.Generator().manual_seed(0))
assert q.tolist() == [0, 35, 55, 67, 105, 255]
assert torch.equal(quantize(many, *uint8), ops.quantize_per_tensor(many, *uint8))
assert torch.equal(restored, ops.dequantize_per_tensor(q, *uint8))

# %% zh:6129eaf3
# Only 0.123: it lies between two steps and was rounded to 0.12. We also ran a hundred thousand random values, and they
# agree with the op in every bit.
#
# ### Rounding: what lies halfway goes to the even step {#rounding}
#
# Exactly halfway between two steps, `round` takes the even one and doesn't always go up. Kernels of one's own are often
# 1 off here, as in [executorch#8506](https://github.com/pytorch/executorch/pull/8506). Why even? Look at the last row:
ties = torch.tensor([0.5, 1.5, 2.5, 3.5])
even = ops.quantize_per_tensor(ties, 1.0, 0, -128, 127, torch.int8)
half_up = torch.floor(ties + 0.5).to(torch.int8)
columns = [[*values.tolist(), values.sum().item()] for values in (ties, even, half_up)]
table(zip(*columns, strict=True), ["x / scale", "quantize", "always up"])
assert even.tolist() == [0, 2, 2, 4] and half_up.tolist() == [1, 2, 3, 4]
assert [column[-1] for column in columns] == [8, 8, 10]

# %% zh:52ca5e80
# The last row is the sum. Always going up makes sums too large; going to even, ups and downs cancel.
#
# ### Times the reciprocal, not divided by the scale {#reciprocal}
#
# The two are equal in mathematics, but not always in floating point. Here are the values from -1.27 to 1.27, 0.001
# apart, computed in both ways:
grid = torch.arange(-1270, 1271) / 1000
multiplied = ops.quantize_per_tensor(grid, 0.01, 0, -128, 127, torch.int8)
divided = torch.clamp(torch.round(grid / 0.01), -128, 127).to(torch.int8)
different = multiplied != divided
last = int(different.nonzero()[-1])
print(f"of {len(grid)} values, {int(different.sum())} differ")
print(f"such as {grid[last]:.4g}: times the reciprocal {multiplied[last]}, divided by the scale {divided[last]}")
assert (len(grid), int(different.sum())) == (2541, 34)
assert (multiplied.int() - divided.int()).abs().max() == 1
assert ((grid[different].double() * 100) % 1 - 0.5).abs().max() < 1e-4

# %% zh:960ae482
# All that differ are close to halfway, and they differ by 1. To agree in every bit, compute as the op does; torchao,
# too, once had both ways in its own code ([ao#229](https://github.com/pytorch/ao/pull/229)).
#
# ## The error: at most half a step inside the range, saturation outside {#error}
#
# One step is as large as the scale, and is also called a quantum. Rounded to the nearest step, a value is off by at
# most half a step. A value outside the range is clamped (it saturates), and the further out it is, the larger the
# error:
probe = torch.tensor([-1.0, -0.55, 0.005, 2.0, 2.5, 4.0])
q = quantize(probe, *uint8)
errors = ((probe.double() - dequantize(q, s, z)).abs() / s).tolist()
columns = [[f"{v:.4g}" for v in values] for values in (probe, q.tolist(), dequantize(q, s, z), errors)]
table(zip(*columns, strict=True), ["x", "q", "back in float", "error (steps)"])
inside = torch.rand(100_000, generator=torch.Generator().manual_seed(0)) * 2.55 - 0.55
worst = ((inside.double() - dequantize(quantize(inside, *uint8), s, z)).abs() / s).max().item()
print(f"{len(inside)} random values inside the range, largest error: {worst:.4f} steps")
float_rounding = 3 * 255 * 2**-24  # float32 rounds thrice, each time by at most 255 × 2**-24 steps
assert 0.4999 < worst <= 0.5 + float_rounding
assert q.tolist() == [0, 0, 55, 255, 255, 255]
assert [round(error) for error in errors] == [45, 0, 0, 0, 50, 200]


# %% zh:73f0441a
# ## Two details: 0 is included, and the scale has a lower bound {#details}
#
# As it stands, the formula is not fit for all data. Observers do two things more.
#
# ### The range always includes 0 {#zero}
#
# Padding of a conv is 0, and relu turns many values into 0, so float 0 must lie exactly on a step: there and back, it
# must still be 0. Therefore, even if all data are positive, or all negative, an observer first extends the range to 0.
# With that, and with `eps` as the lower bound of the scale, the formula is complete:
def affine(low, high, quant_min, quant_max, eps):
    """Scale and zero point that cover [low, high] and 0."""
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = ((high - low) / (quant_max - quant_min)).clamp(min=eps)
    return scale, (quant_min - torch.round(low / scale)).clamp(quant_min, quant_max)


def observe(low, high, eps):
    """Scale and zero point of a MinMaxObserver that has seen low and high."""
    observer = MinMaxObserver(torch.uint8, torch.per_tensor_affine, quant_min=0, quant_max=255, eps=eps)
    _ = observer(torch.tensor([low, high]))
    return [value.item() for value in observer.calculate_qparams()]


EPS = torch.finfo(torch.float32).eps  # the default of observers
ranges = [(-0.55, 2.0), (2.0, 6.0), (-3.0, -1.0), (0.0, 0.0)]
by_hand = [[v.item() for v in affine(torch.tensor(low), torch.tensor(high), 0, 255, EPS)] for low, high in ranges]
zeros = [dequantize(quantize(torch.zeros(1), *pair, 0, 255, torch.uint8), *pair).item() for pair in by_hand]
table(
    [[f"{low} … {high}", f"{a:.4g}", int(b)] for (low, high), (a, b) in zip(ranges, by_hand, strict=True)],
    ["range of the data", "scale", "zero point"],
)
assert by_hand == [observe(low, high, EPS) for low, high in ranges]
assert [zero_point for _, zero_point in by_hand] == [55, 0, 255, 0]
assert by_hand[1][0] == (torch.tensor(6.0) / 255).item() and by_hand[3][0] == EPS
assert zeros == [0.0, 0.0, 0.0, 0.0]

# %% zh:bafe280a
# The data of the second row begin at 2, but the range begins at 0, so a third of the steps is never used. That is the
# price of an exact 0. In the last row everything is 0, and the scale would be 0, too; one can't divide by that, so it
# stops at the lower bound.
#
# ### The lower bound may be coarser than the data {#eps}
#
# The default bound is tiny, but both quantizers of [M01-2](chapter:m01_2_annotations#spec) set it to `2**-12` (about
# 0.0002441), on account of XNNPACK's kernels ([pytorch#74396](https://github.com/pytorch/pytorch/pull/74396)). If an
# activation has a range below 255 × 0.0002441 ≈ 0.062, or a channel of a weight never exceeds 0.031 in magnitude, part
# of the integers goes unused. Try data from 0 to 0.01:
small = torch.linspace(0, 0.01, 1001)
results = []
for eps in (EPS, 2**-12):
    pair = observe(0.0, 0.01, eps)
    q = quantize(small, *pair, 0, 255, torch.uint8)
    results.append([eps, pair[0], len(q.unique()), sqnr(small, dequantize(q, *pair))])
table([[f"{value:.4g}" for value in result] for result in results], ["eps", "scale", "integers used", "SQNR (dB)"])
spec = get_default_x86_inductor_quantization_config().input_activation
assert spec.observer_or_fake_quant_ctr().eps == 2**-12
assert [result[2] for result in results] == [256, 42] and results[1][1] == 2**-12
assert 15 < results[0][3] - results[1][3] < 17

# %% zh:f9f2be29
# There is no error and no warning, but only 42 of 256 integers are used, and the SQNR is almost 16 dB lower. The sign
# to look for: a scale of exactly 0.0002441. (What the bound should be is discussed in
# [pytorch#90288](https://github.com/pytorch/pytorch/issues/90288).)
#
# ## Weights: symmetric, and each channel on its own {#weights}
#
# ### symmetric: the zero point is fixed at 0 {#symmetric}
#
# Weights usually reach about as far on either side of 0, so we take the largest magnitude for both sides:
# `scale = max(|min|, |max|) / ((quant_max − quant_min) / 2)`. For the integers there are two conventions. What is left
# of the largest weight in each of them?
weight = torch.tensor([[[[0.5, -0.2], [1.275, 0.0]]], [[[0.02, -0.051], [0.008, 0.04]]]])  # [2, 1, 2, 2]


def symmetric(largest, quant_min, quant_max):
    """The scale that covers [-largest, largest]."""
    return largest / ((quant_max - quant_min) / 2)


rows, pairs = [], []
for quant_min in (-128, -127):
    observer = MinMaxObserver(torch.int8, torch.per_tensor_symmetric, quant_min=quant_min, quant_max=127)
    _ = observer(weight)
    scale = symmetric(weight.abs().max(), quant_min, 127)
    pairs.append([value.item() for value in (scale, *observer.calculate_qparams())])
    q = quantize(weight.max(), scale, 0, quant_min, 127, torch.int8)
    error = abs(weight.max() - dequantize(q, scale, 0)) / scale
    rows.append([f"[{quant_min}, 127]", f"{scale:.4g}", f"{weight.max() / scale:.4g}", int(q), f"{error:.2f}"])
table(rows, ["range", "scale", "1.275 / scale", "q", "error (steps)"])
assert [scale == by_observer for scale, by_observer, _ in pairs] == [True, True]
assert [zero_point for *_, zero_point in pairs] == [0, 0]
assert [row[2:] for row in rows] == [["127.5", 127, "0.50"], ["127", 127, "0.00"]]

# %% zh:45983294
# Half of [-128, 127] is 127.5, so the largest positive value rounds to 128 and is clamped to 127, just half a step off.
# (The kernel used in QAT training has another formula, not run here:
# [ao#4824](https://github.com/pytorch/ao/pull/4824), [M05-2](chapter:m05_2_qat_graphs).)
#
# ### per-channel: a row of scales {#per-channel}
#
# In this weight, the largest values of the two output channels differ by a factor of 25. If the whole tensor shares one
# scale, what is left of the small channel?
largest = weight.abs().amax((1, 2, 3))
shared, scales = symmetric(largest.max(), -128, 127), symmetric(largest, -128, 127)
per_tensor = quantize(weight, shared, 0, -128, 127, torch.int8)
per_channel = quantize(weight, scales.view(2, 1, 1, 1), 0, -128, 127, torch.int8)
backs = [dequantize(per_tensor, shared, 0)[1], dequantize(per_channel, scales.view(2, 1, 1, 1), 0)[1]]
columns = [
    [f"{v:.4g}" for v in t.flatten().tolist()] for t in (weight[1], per_tensor[1], backs[0], per_channel[1], backs[1])
]
table(zip(*columns, strict=True), ["small channel", "per-tensor", "back in float", "per-channel", "back in float"])
noise = [sqnr(weight[1], back) for back in backs]
print(f"scale: {shared:.4g} and {scales[1]:.4g}, SQNR: {noise[0]:.4g} and {noise[1]:.4g} dB")
observer = PerChannelMinMaxObserver(0, torch.int8, torch.per_channel_symmetric, quant_min=-128, quant_max=127)
_ = observer(weight)
zero_points = torch.zeros(2, dtype=torch.int64)
assert torch.equal(observer.calculate_qparams()[0], scales)
assert torch.equal(per_channel, ops.quantize_per_channel(weight, scales, zero_points, 0, -128, 127, torch.int8))
assert per_tensor[1].flatten().tolist() == [2, -5, 1, 4] and per_channel[1].flatten().tolist() == [50, -128, 20, 100]
assert noise[1] - noise[0] > 20

# %% zh:5aab21f1
# With the shared scale its integers only go from -5 to 4; with a scale of its own it uses all of int8. In return there
# is no longer one scale but a row of them, one an output channel, which is why a graph keeps them as a buffer. How to
# weigh granularity and bits is in [M04-2](chapter:m04_2_granularity).
#
# ## How integers multiply {#integers}
#
# Conv and linear both compute sums of products. Put in `x = sx·(qx − zx)` and `w = sw·(qw − zw)`: the scales can be
# taken out, and what remains is integers only. Multiplied out, these are four terms:
#
# ```text
# Σ x·w = sx·sw · Σ (qx − zx)·(qw − zw)
#       = sx·sw · (Σ qx·qw − zx·Σ qw − zw·Σ qx + K·zx·zw)
# ```
#
# K is the number of products. We check it for a 2×3 `qx` and a 3×1 `qw`, in int32, since 8 bits can't hold a product:
qx, zx = torch.tensor([[0, 55, 105], [155, 255, 80]], dtype=torch.uint8).int(), 55
qw, zw = torch.tensor([[50], [-20], [127]], dtype=torch.int8).int(), 3
terms = [qx @ qw, (-zx * qw.sum(0)).expand(2, 1), -zw * qx.sum(1, keepdim=True), torch.full((2, 1), 3 * zx * zw)]
direct = (qx - zx) @ (qw - zw)
names = ["Σ qx·qw", "− zx·Σ qw", "− zw·Σ qx", "+ K·zx·zw", "sum of the four", "Σ (qx − zx)·(qw − zw)"]
rows = [[name, *value.flatten().tolist()] for name, value in zip(names, [*terms, sum(terms), direct], strict=True)]
table(rows, ["term", "row 0", "row 1"])
assert direct.dtype == torch.int32 and direct.flatten().tolist() == [3615, 3200]
assert torch.equal(sum(terms), direct)


# %% zh:6808c394
# Integers don't round, so both sides are equal, exactly. You can also see here why weights are symmetric: with `zw` at
# 0, the last two terms vanish, and `zx·Σ qw` depends on the weight alone and can be computed ahead. All that is left
# for run time is `Σ qx·qw`.
#
# ## The conv of a graph, once more in integers {#conv}
#
# Now everything together. The model is one conv, with the weight from above; the smallest and the largest input are
# those of the six numbers at the beginning. The default `HistogramObserver` cuts off extremes, so we put
# `MinMaxObserver` into the spec in its place, and leave the rest. Do the s and z in the figure look familiar?
class TinyConv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, kernel_size=2, padding=1, bias=False)
        self.conv.weight = torch.nn.Parameter(weight.clone())

    def forward(self, x):
        return self.conv(x)


image = torch.tensor([[[[-0.55, 0.0, 0.5], [1.0, 2.0, 0.25], [0.1, -0.3, 1.5]]]])  # [1, 1, 3, 3]
exported = torch.export.export(TinyConv().eval(), (image,)).module()  # the batch is fixed at 1, enough for this page
config = get_default_x86_inductor_quantization_config()
config = replace(config, input_activation=replace(spec, observer_or_fake_quant_ctr=MinMaxObserver))
prepared = prepare_pt2e(exported, X86InductorQuantizer().set_global(config))
with torch.no_grad():
    _ = prepared(image)
    converted = convert_pt2e(prepared)
    by_graph = converted(image)  # [1, 2, 4, 4]
draw(converted, title="The input has s 0.01 and z 55, as computed by hand")
(node,) = converted.graph.find_nodes(op="call_function", target=ops.quantize_per_tensor.default)
assert node.args[1:] == uint8
assert torch.equal(converted.get_buffer("_scale_0"), scales)
assert torch.equal(converted.get_buffer("_frozen_param0"), per_channel)

# %% zh:c21b2aa2
# The five arguments of the input, the row of scales of the weight, the eight int8 values: all of them are what we
# computed by hand. Now the conv in integers, with one multiplication by the scales at the very end. For the first
# channel, the integer sums are:
qx, qw = quantize(image, *uint8).int(), per_channel.int()
sums = F.conv2d(qx - z, qw, padding=1)  # int32
unit = s * scales.view(1, 2, 1, 1)  # what one integer step is worth
table(sums[0, 0].tolist(), ["column 0", "column 1", "column 2", "column 3"])
assert sums.dtype == torch.int32 and sums[0, 0, 0].tolist() == [0, -6985, 0, 6350]
assert torch.allclose(by_graph, sums * unit, rtol=0, atol=1e-6)
assert torch.equal(torch.round(by_graph / unit).int(), sums)

# %% zh:b13e143c
# The graph computes in float. Yet divide its output by `sx·sw` and round, and all 32 integers come back, every one of
# them right.
#
# !!! question "Which integer is the padding?"
#     Above, the zero point was subtracted first, so padding with 0 was right. A real kernel gets `qx` with nothing
#     subtracted. What should go around it? And if it is the integer 0, how many of the 32 outputs are wrong?

# %% answer zh:62cda637
# 55, the zero point, because that is what float 0 is ([pytorch#53807](https://github.com/pytorch/pytorch/issues/53807)
# asks just this). The integer 0 would be float -0.55: every output that touches the border is wrong, 24 of 32, and only
# the 8 in the middle are right.
correction = z * qw.sum((1, 2, 3)).view(1, 2, 1, 1)  # zx·Σ qw of the section before
padded = {value: F.conv2d(F.pad(qx, (1, 1, 1, 1), value=value), qw) - correction for value in (z, 0)}
wrong = {value: int((result != sums).sum()) for value, result in padded.items()}
print(*(f"padded with {value}: {count} wrong" for value, count in wrong.items()), sep="\n")
assert torch.equal(padded[55], sums)
assert wrong[0] == 24 and torch.equal(padded[0][..., 1:3, 1:3], sums[..., 1:3, 1:3])

# %% zh:9e231d52
# ## How far float q/dq is from an integer kernel {#float}
#
# The graph dequantizes, then multiplies and adds in float32, rounding each time; an integer kernel rounds only when it
# multiplies by the scales at the end. So they are close, but nothing makes every bit agree. Here is the sum of the same
# three products, with all three scales at 0.01:
hundredth = torch.tensor(0.01).item()
a, b = torch.tensor([-5, 20, 120]), torch.tensor([-70, -120, 90])  # qx − zx and qw
products = (a * hundredth) * (b * hundredth)  # float32
total = int((a * b).sum())
values = [products[0] + products[1] + products[2], products[2] + products[1] + products[0], total * hundredth**2]
outputs = [int(quantize(torch.as_tensor(value), hundredth, 0, -128, 127, torch.int8)) for value in values]
ways = ["float32, first to last", "float32, last to first", "integers, scales at the end"]
table(
    [[way, f"{value:.8f}", q] for way, value, q in zip(ways, values, outputs, strict=True)],
    ["how", "sum", "integer that comes out"],
)
assert total == 8750 and outputs == [87, 88, 87]
assert 0 < values[1] - values[0] < 1e-7
assert torch.tensor(2.0**24) + 1 == 2.0**24 and 2**24 // (255 * 128) == 514

# %% zh:5679b6cd
# - Adding in another order is enough to change the float32 sum, if by less than a ten-millionth. Integers give the same
#   sum in any order.
# - So small a difference rarely shows. But this sum lies almost exactly between 87 and 88, and so the integer that
#   comes out is 1 off, which is one quantum.
# - The more products, the larger the difference: above 2**24, float32 can't hold every integer, and 515 products of 255
#   × 128 add up to more than that (the last assert).
#
# So when an integer kernel is compared with a q/dq graph, we don't ask for equal bits, but for a difference of at most
# one quantum ([M06-1](chapter:m06_1_what_lowering_does)).
#
# ## Summary: five points {#summary}
#
# 1. affine: `scale = (max − min) / 255`, and the zero point is where float 0 comes to lie. The range is first extended
#    to 0, and the scale is never below `eps`.
# 2. symmetric: the zero point is 0, the scale is the largest magnitude divided by half the range of the integers.
#    per-channel means one scale for each output channel.
# 3. Quantize multiplies by the reciprocal, rounds (halfway to even), adds the zero point, clamps. Inside the range the
#    error is at most half the scale; outside it saturates.
# 4. A sum of integer products must be corrected for the zero points, and padding is the zero point, not 0.
# 5. Float q/dq and an integer kernel differ by float32 rounding; now and then an output integer differs by 1 because of
#    it.
#
# To work some of this out yourself, take the [lab](chapter:lab_m01). Next is
# [M02-1](chapter:m02_1_from_annotation_to_observer), which opens up prepare: where will observers go?
