# zh:0eeca71d
"""
# M03-2 | The four kinds of spec, and their error messages

A spec says how one value is to be quantized. Most of those so far left scale and zero point to calibration. There are
three other kinds: share them with another place, derive them from others, or fix them in advance. Afterwards you will
be able to

- write each of the four kinds, and check by hand, bit for bit, what it gives after convert;
- give a conv an int32 bias, and say why it is float otherwise;
- trace an error back to the spec that caused it, even if all it says is `KeyError: (conv2d, max_pool2d)`.

Everything is as on a CPU with torch 2.13.0 and torchao 0.18.0. How a quantizer finds its pattern is in
[M03-1](chapter:m03_1_a_quantizer_from_scratch).
"""

# %% zh:dfae87dd
# ## The four kinds {#four-kinds}
#
# All four are dataclasses. Which fields does each of them require?
import copy
import re
from dataclasses import MISSING, fields, replace

import torch
import torch.nn as nn
import torch.nn.functional as F

from common.graph_utils import short
from common.pt2e import export_module, quiet, sqnr
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import MinMaxObserver, ObserverBase, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    DerivedQuantizationSpec,
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)

torch.set_num_threads(1)
KEY = "quantization_annotation"
kinds = {
    QuantizationSpec: "calibration",
    SharedQuantizationSpec: "the observer of another place",
    DerivedQuantizationSpec: "a function of other observers",
    FixedQParamsQuantizationSpec: "you",
}
required = [[field.name for field in fields(kind) if field.default is MISSING] for kind in kinds]
optional = [[field.name for field in fields(kind) if field.default is not MISSING] for kind in kinds]
names = zip(kinds.items(), required, optional, strict=True)
rows = [[kind.__name__, source, ", ".join(must), ", ".join(may) or "—"] for (kind, source), must, may in names]
table(rows, ["kind", "scale and zero point come from", "required fields", "optional fields"])
assert required == [
    ["dtype", "observer_or_fake_quant_ctr"],
    ["edge_or_node"],
    ["derived_from", "derive_qparams_fn", "dtype"],
    ["dtype", "scale", "zero_point"],
]

# %% zh:c611d8e9
# An `edge_or_node` is a place in the graph: `(source, user)` for an edge, the node itself for its output. "Optional"
# means no more than that the dataclass doesn't ask; what prepare and convert ask for, the [errors](#given-errors) show.
#
# ## One model with all four {#all-four}
#
# The model is conv → max_pool2d → sigmoid. `plan` says what we want at each place, the quantizer only writes it down.
# Two lines deserve a look: with what does the output of the pool share, and from what is the bias derived?
INT8 = QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, torch.per_tensor_affine)
WEIGHT = QuantizationSpec(torch.int8, PerChannelMinMaxObserver, -127, 127, torch.per_channel_symmetric, ch_axis=0)
FIXED = FixedQParamsQuantizationSpec(torch.uint8, 1 / 256, 0, 0, 255, torch.per_tensor_affine)


def bias_qparams(observers: list[ObserverBase]) -> tuple[torch.Tensor, torch.Tensor]:
    """Scales and zero points of the bias, [channels] each, from the observers of the input and the weight."""
    (input_scale, _), (weight_scale, _) = [observer.calculate_qparams() for observer in observers]
    return input_scale * weight_scale, torch.zeros_like(weight_scale, dtype=torch.int64)


def plan(conv: torch.fx.Node, pool: torch.fx.Node, sigmoid: torch.fx.Node) -> dict:
    """The spec of each place."""
    x, weight, bias = conv.args[:3]
    return {
        (x, conv): INT8,
        (weight, conv): WEIGHT,
        (bias, conv): DerivedQuantizationSpec(
            derived_from=[(x, conv), (weight, conv)],
            derive_qparams_fn=bias_qparams,
            dtype=torch.int32,
            quant_min=-(2**31),
            quant_max=2**31 - 1,
            qscheme=torch.per_channel_symmetric,
            ch_axis=0,
        ),
        conv: INT8,
        (conv, pool): INT8,
        pool: SharedQuantizationSpec((conv, pool)),
        (pool, sigmoid): INT8,
        sigmoid: FIXED,
    }


def ops(gm: torch.fx.GraphModule) -> list[torch.fx.Node]:
    """The operations of a graph, in order."""
    return [node for node in gm.graph.nodes if node.op == "call_function"]


class PlanQuantizer(Quantizer):
    """Writes a plan on the conv, the pool and the sigmoid of our model."""

    def __init__(self, plan=plan) -> None:
        self.plan = plan

    def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
        for place, spec in self.plan(*ops(model)).items():
            node = place[1] if isinstance(place, tuple) else place
            annotation = node.meta.setdefault(KEY, QuantizationAnnotation())
            if isinstance(place, tuple):
                annotation.input_qspec_map[place[0]] = spec
            else:
                annotation.output_qspec = spec
        return model

    def validate(self, model: torch.fx.GraphModule) -> None:
        pass


class ConvPoolSigmoid(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(F.max_pool2d(self.conv(x), 2))


# %% zh:620495ba
# Now the usual steps with it. In the figure, look for the two places with the letter A, and for the scales after
# convert: which ones are equal, and which one is a round number?
def observers(prepared: torch.fx.GraphModule) -> dict[str, ObserverBase]:
    """The observer behind each observed node, by the name of the node."""
    modules = {node: prepared.get_submodule(node.target) for node in prepared.graph.find_nodes(op="call_module")}
    return {node.args[0].name: module for node, module in modules.items() if isinstance(module, ObserverBase)}


def prepare(plan=plan) -> torch.fx.GraphModule:
    return prepare_pt2e(copy.deepcopy(exported), PlanQuantizer(plan))


def calibrate_and_convert(prepared: torch.fx.GraphModule) -> torch.fx.GraphModule:
    with torch.no_grad():
        for batch in calibration:
            prepared(batch)
    return convert_pt2e(prepared)


_ = torch.manual_seed(0)
model = ConvPoolSigmoid().eval()
data = torch.randn(5, 8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
calibration, test = data[:4], data[4]
exported = export_module(model, (test,))
annotated = PlanQuantizer().annotate(copy.deepcopy(exported))  # its other methods do nothing
prepared = prepare()
found = observers(prepared)
converted = calibrate_and_convert(prepared)
with torch.no_grad():
    reference, output = model(test), converted(test)
table([[name, type(observer).__name__] for name, observer in found.items()], ["observed node", "observer"])
draw_stages([(annotated, "annotated"), (converted, "converted")], title="A: one scale before and after max_pool2d")
print(f"observer nodes: {len(found)}, objects: {len(set(found.values()))}, SQNR: {sqnr(reference, output):.4g} dB")
assert found.keys() == {"x", "conv_weight", "conv_bias", "conv2d", "max_pool2d", "sigmoid"}
assert len(set(found.values())) == 5 and found["conv2d"] is found["max_pool2d"]
assert type(found["conv_bias"]).__name__ == "DerivedObserverOrFakeQuantize"
assert type(found["sigmoid"]).__name__ == "FixedQParamsObserver"
assert 48 < sqnr(reference, output) < 51


# %% zh:703d6c47
# The scale is the same before and after the pool, and that of the sigmoid is 1/256. Six nodes call five observer
# objects, and two of these ignore the data: that of the bias asks two others, that of the sigmoid has its answer
# already. The edges conv → pool and pool → sigmoid have no observers of their own, because their specs agree with those
# of the outputs ([M02-1](chapter:m02_1_from_annotation_to_observer#implicit)).
#
# Now each kind by itself, first by hand, then its errors. For that we keep the integers of one run, and write down what
# a quantize op computes ([M01-3](chapter:m01_3_the_arithmetic)):
def run(converted: torch.fx.GraphModule) -> list[tuple[torch.fx.Node, torch.Tensor]]:
    """The quantize nodes of a run on `test`, each with the integers that it gave."""
    interpreter = torch.fx.Interpreter(converted, garbage_collect_values=False)
    with torch.no_grad():
        interpreter.run(test)
    target = torch.ops.quantized_decomposed.quantize_per_tensor.default
    return [(node, interpreter.env[node]) for node in ops(converted) if node.target is target]


def quantize(value, scale, zero_point, quant_min, quant_max, dtype):
    return torch.clamp(torch.round(value * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


(x_q, x_int), (conv_q, conv_int), (pool_q, pool_int), (sigmoid_q, sigmoid_int) = run(converted)
weight_int, bias_int = converted.get_buffer("_frozen_param0"), converted.get_buffer("_frozen_param1")
weight_scale, bias_scale = converted.get_buffer("_scale_0"), converted.get_buffer("_scale_1")
weight, bias = model.conv.weight.detach(), model.conv.bias.detach()

# %% zh:929cad77
# ## QuantizationSpec: from calibration {#given}
#
# The spec of `x` names a `MinMaxObserver` and 256 integers, so scale and zero point follow from the smallest and the
# largest value of the calibration data. The weight gets a scale for each output channel, and its zero point is 0:
low, high = calibration.min(), calibration.max()
scale = (high - low) / 255
zero_point = int(-128 - torch.round(low / scale))
scales = weight.abs().amax((1, 2, 3)) / (254 / 2)  # 254 steps from -127 to 127
print(f"x: scale {scale:.4g}, zero point {zero_point}; weight: scales {scales.min():.4g} … {scales.max():.4g}")
assert x_q.args[1:] == (scale.item(), zero_point, -128, 127, torch.int8)
assert torch.equal(x_int, quantize(test, *x_q.args[1:]))
assert torch.equal(weight_scale, scales)
assert torch.equal(weight_int, quantize(weight, scales[:, None, None, None], 0, -127, 127, torch.int8))


# %% zh:f6e62478
# ### Its errors {#given-errors}
#
# `attempt` takes a plan through all the steps, and returns the one that failed and its message. Here are nine specs
# for `x`, each with one mistake. Guess when each will be noticed.
def attempt(plan) -> list[str]:
    """The step that fails, and the first line of its message."""
    step = "write"
    try:
        plan(*ops(exported))
        step = "prepare"
        prepared = prepare(plan)
        with torch.no_grad():
            step = "calibrate"
            prepared(test)
            step = "convert"
            converted = convert_pt2e(prepared)
            step = "run"
            converted(test)
    except Exception as error:
        message = " ".join(str(error).splitlines()[0].split())
        message = re.sub("(?<=recursion depth exceeded).*", "", message)  # the rest says where Python noticed
        return [step, f"{type(error).__name__}: {message}"]
    return ["—", "no error"]


def but(changes):
    """The plan with some places changed."""
    return lambda conv, pool, sigmoid: plan(conv, pool, sigmoid) | changes(conv, pool, sigmoid)


def for_x(make):
    """The plan with another spec for x."""
    return but(lambda conv, pool, sigmoid: {(conv.args[0], conv): make()})


affine, per_channel = torch.per_tensor_affine, torch.per_channel_symmetric
mistakes = {
    "no observer": lambda: QuantizationSpec(torch.int8),
    "`quant_min` above `quant_max`": lambda: QuantizationSpec(torch.int8, MinMaxObserver, 127, -128, affine),
    "`ch_axis` counted from the end": lambda: QuantizationSpec(torch.int8, MinMaxObserver, ch_axis=-1),
    "an observer, not its class": lambda: QuantizationSpec(torch.int8, MinMaxObserver(), -128, 127, affine),
    "no qscheme": lambda: QuantizationSpec(torch.int8, MinMaxObserver, -128, 127),
    "a range without 0": lambda: QuantizationSpec(torch.int8, MinMaxObserver, 1, 127, affine),
    "per-channel, no `ch_axis`": lambda: QuantizationSpec(torch.int8, PerChannelMinMaxObserver, -127, 127, per_channel),
    "int8 with the range of uint8": lambda: QuantizationSpec(torch.int8, MinMaxObserver, 0, 255, affine),
    "only one end of the range": lambda: QuantizationSpec(torch.int8, MinMaxObserver, quant_min=-127, qscheme=affine),
}
outcomes = {label: attempt(for_x(make)) for label, make in mistakes.items()}
table([[label, *outcome] for label, outcome in outcomes.items()], ["mistake", "noticed at", "message"])
assert list(outcomes.values()) == [
    [
        "write",
        "TypeError: QuantizationSpec.__init__() missing 1 required positional argument: 'observer_or_fake_quant_ctr'",
    ],
    ["write", "ValueError: quant_min 127 must be <= quant_max -128."],
    ["write", "ValueError: Ch_axis is < 0."],
    ["prepare", "AttributeError: 'MinMaxObserver' object has no attribute '__name__'"],
    [
        "prepare",
        "NotImplementedError: MinMaxObserver's qscheme only support "
        "torch.per_tensor_symmetric and torch.per_tensor_affine.",
    ],
    ["prepare", "AssertionError: Used-specified quantization range must include 0."],
    ["calibrate", "TypeError: list indices must be integers or slices, not NoneType"],
    ["run", "AssertionError: quant_max out of bounds for dtype, quant_max_upper_bound: 127 quant_max: 255"],
    ["—", "no error"],
]
one_end = observers(prepare(for_x(mistakes["only one end of the range"])))["x"]
print(f"asked for quant_min=-127, got {one_end.quant_min}")
assert one_end.quant_min == -128


# %% zh:07257ad8
# - A field left out is handed on as `None` and overrides the observer's default. So always give a qscheme, and
#   `ch_axis` wherever it is per-channel.
# - Some mistakes show late: a range that doesn't fit the dtype, only when the converted model runs.
# - The last row is silent. One end of a range alone is ignored, and the range of the dtype is taken.
#   ([pytorch#91263](https://github.com/pytorch/pytorch/issues/91263) proposes to require both.)
#
# ## SharedQuantizationSpec: from another place {#shared}
#
# `max_pool2d` only picks values, so a backend can do it on the integers, if one integer means the same before and
# after. For comparison, a plan in which the output of the pool has a spec of its own. How many of the integers after
# the pool are those that we get by pooling the integers before it?
def pooled(integers: torch.Tensor) -> torch.Tensor:
    """max_pool2d on int8."""
    return F.max_pool2d(integers.float(), 2).to(torch.int8)


unshared = calibrate_and_convert(prepare(but(lambda conv, pool, sigmoid: {pool: INT8})))
_, (own_conv_q, own_conv_int), (own_pool_q, own_pool_int), _ = run(unshared)
equal, own_equal = pooled(conv_int) == pool_int, pooled(own_conv_int) == own_pool_int
rows = [["shared", pool_q, equal], ["a spec of its own", own_pool_q, own_equal]]
rows = [[label, f"{q.args[1]:.4g}, {q.args[2]}", f"{same.float().mean():.0%}"] for label, q, same in rows]
print(f"before the pool: {conv_q.args[1]:.4g}, {conv_q.args[2]}")
table(rows, ["output of the pool", "scale, zero point after it", "integers as pooled"])
assert conv_q.args[1:] == own_conv_q.args[1:] == pool_q.args[1:] and own_pool_q.args[1] < pool_q.args[1]
assert equal.all() and not own_equal.any()

# %% zh:13fdc662
# All of them, and none. The values after the pool have a narrower range, so with a spec of its own they get another
# scale, and the backend would have to rescale every integer.
#
# ### Its errors {#shared-errors}
#
# A `SharedQuantizationSpec` points to a place, and here are five places that it must not point to:
bad_plans = {
    "an edge without a spec": lambda conv, pool, sigmoid: {conv: INT8, pool: SharedQuantizationSpec((conv, pool))},
    "an edge whose spec is `None`": but(lambda conv, pool, sigmoid: {(conv, pool): None}),
    "itself": but(lambda conv, pool, sigmoid: {pool: SharedQuantizationSpec(pool)}),
    "one that points back": but(lambda conv, pool, sigmoid: {(conv, pool): SharedQuantizationSpec(pool)}),
    "a later one": but(lambda conv, pool, sigmoid: {conv: SharedQuantizationSpec((conv, pool))}),
}
outcomes = {label: attempt(bad) for label, bad in bad_plans.items()}
table([[label, *outcome] for label, outcome in outcomes.items()], ["points to", "noticed at", "message"])
assert list(outcomes.values()) == [
    ["prepare", "KeyError: (conv2d, max_pool2d)"],
    ["prepare", "AttributeError: 'NoneType' object has no attribute 'to'"],
    ["prepare", "RecursionError: maximum recursion depth exceeded"],
    ["prepare", "RecursionError: maximum recursion depth exceeded"],
    [
        "prepare",
        "AssertionError: please make sure only refer to edge or node that has observer/fake_quant inserted: "
        "'(conv2d, max_pool2d)' not in",
    ],
]


# %% zh:7c6c9e09
# At best the message names the place that was pointed to, never the spec that points there. The last row is
# [ao#4421](https://github.com/pytorch/ao/issues/4421); [ao PR 4483](https://github.com/pytorch/ao/pull/4483) proposes
# clearer messages, which torchao 0.18.0 doesn't have. One rule avoids all five: **point only to an earlier place that
# has a spec.** Earlier in the order of the graph, that is, and at one node the inputs come before the output. The next
# function says who breaks the rule; a good place for it is
# [`validate`](chapter:m03_1_a_quantizer_from_scratch#validate).
def pointing_wrong(annotated: torch.fx.GraphModule) -> list[str]:
    """The places with a SharedQuantizationSpec that doesn't point to an earlier place with a spec."""
    earlier, wrong = set(), []
    for node in annotated.graph.nodes:
        annotation = node.meta.get(KEY, QuantizationAnnotation())
        specs = {(source, node): spec for source, spec in annotation.input_qspec_map.items()}
        for place, spec in (specs | {node: annotation.output_qspec}).items():
            if isinstance(spec, SharedQuantizationSpec) and spec.edge_or_node not in earlier:
                wrong.append(str(place))
            if spec is not None:
                earlier.add(place)
    return wrong


culprits = [pointing_wrong(PlanQuantizer(bad).annotate(copy.deepcopy(exported))) for bad in bad_plans.values()]
print(culprits)
assert culprits == [["max_pool2d"], ["max_pool2d"], ["max_pool2d"], ["(conv2d, max_pool2d)"], ["conv2d"]]
assert pointing_wrong(annotated) == []

# %% zh:ea51e006
# ## DerivedQuantizationSpec: an int32 bias {#derived}
#
# "Why is the bias float?" ([pytorch#34872](https://github.com/pytorch/pytorch/issues/34872)) Because no spec asked for
# anything else: X86InductorQuantizer gives the bias none, and after convert the conv still reads the float32 parameter.
# Ours derives the scale of the bias, channel by channel, as the scale of the input times that of the weight.
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
by_x86 = calibrate_and_convert(prepare_pt2e(copy.deepcopy(exported), x86))
conv2d = torch.ops.aten.conv2d.default
biases = [node.args[2] for gm in (by_x86, converted) for node in ops(gm) if node.target is conv2d]
rows = [
    ["X86InductorQuantizer", biases[0].op, str(biases[0].target)],
    ["ours", short(biases[1].target), str(bias_int.tolist())],
]
table(rows, ["quantizer", "conv2d reads its bias from", "of"])
assert [row[1] for row in rows] == ["get_attr", "dequantize_per_channel"] and biases[0].target == "conv.bias"
assert torch.equal(bias_scale, torch.tensor(x_q.args[1]) * weight_scale) and bias_int.dtype == torch.int32
assert torch.equal(bias_int, quantize(bias, bias_scale, 0, -(2**31), 2**31 - 1, torch.int32))

# %% zh:a2df3039
# Why just this scale? A step of the input times a step of the weight is worth `s_x · s_w`: that is the scale of the
# products which a conv in integers adds up, so a bias with the same scale can be added to them as it is. We compute the
# conv in integers (held in float64, which is exact for them) and compare it with what the graph computed in float32:
accumulator = F.conv2d(x_int.double() - x_q.args[2], weight_int.double(), bias_int.double(), padding=1)
in_integers = quantize((accumulator * bias_scale.double()[:, None, None]).float(), *conv_q.args[1:])
difference = (in_integers.int() - conv_int.int()).abs()
print(f"largest sum: {accumulator.abs().max():.0f}, room in int32: {2**31 - 1}")
assert torch.equal(accumulator, accumulator.round()) and accumulator.abs().max() < 2**31
assert difference.max() <= 1 and difference.float().mean() < 0.001
assert ((bias_int * bias_scale - bias).abs() <= bias_scale / 2).all()


# %% zh:754cdd43
# The int8 outputs are the same, save that a sum in float32 may fall on the other side of a rounding. So a kernel that
# adds up in int32 can take this bias as it is. A float bias has to be converted by the backend first, as is done for
# XNNPACK ([pytorch PR 125522](https://github.com/pytorch/pytorch/pull/125522) says so; not run here). Ask your backend
# which of the two it wants.
#
# ### Its errors {#derived-errors}
#
# Convert calls the function with the observers of `derived_from`, and prepare looks those up. In the first row the
# specs are the same as ever, only in another order:
def with_bias(**changes):
    """The plan with other fields in the spec of the bias."""

    def changed(conv, pool, sigmoid):
        specs = plan(conv, pool, sigmoid)
        return specs | {(conv.args[2], conv): replace(specs[conv.args[2], conv], **changes)}

    return changed


bad_plans = {
    "the bias first in `input_qspec_map`": lambda conv, *rest: {(conv.args[2], conv): None} | plan(conv, *rest),
    "derived from an edge without a spec": lambda conv, *rest: {
        place: spec for place, spec in plan(conv, *rest).items() if place != (conv.args[1], conv)
    },
    "per-channel, no `ch_axis`": with_bias(ch_axis=None),
    "per-tensor, but eight scales": with_bias(qscheme=torch.per_tensor_symmetric),
    "no range": with_bias(quant_min=None, quant_max=None),
}
outcomes = {label: attempt(bad) for label, bad in bad_plans.items()}
table([[label, *outcome] for label, outcome in outcomes.items()], ["mistake", "noticed at", "message"])
assert list(outcomes.values()) == [
    ["prepare", "KeyError: (x, conv2d)"],
    ["prepare", "KeyError: (conv_weight, conv2d)"],
    ["prepare", "AssertionError: Must provide a valid ch_axis if qscheme is per channel"],
    ["convert", "ValueError: only one element tensors can be converted to Python scalars"],
    [
        "convert",
        "RuntimeError: quantized_decomposed::quantize_per_channel() Expected a value of type 'int' for argument "
        "'quant_min' but instead found type 'NoneType'.",
    ],
]

# %% zh:a2307cbd
# So annotate the bias after input and weight. And `quant_min` and `quant_max`, optional in the dataclass, are needed.
#
# ## FixedQParamsQuantizationSpec: known beforehand {#fixed}
#
# Sigmoid and softmax give values from 0 to 1, whatever comes in. So there is nothing to calibrate, and some kernels
# accept one scale only, as the sigmoid of [pytorch#46005](https://github.com/pytorch/pytorch/issues/46005) did: 1/256,
# with which 256 steps make 1. The observer knows it before it has seen any data. How large can the error be?
untouched = [value.item() for value in observers(prepare())["sigmoid"].calculate_qparams()]
curve = torch.sigmoid(torch.linspace(-20, 20, 10001))
shares = torch.softmax(torch.linspace(0, 20, 1000).outer(torch.arange(4.0)), dim=1)  # [1000, 4]
rows = []
for name, y in (("sigmoid", curve), ("softmax", shares)):
    steps = (y - quantize(y, *sigmoid_q.args[1:]) / 256).abs() * 256
    rows.append([name, f"{steps[y < 0.998].max():.4g}", f"{steps.max():.4g}"])
table(rows, ["op", "largest error below 0.998, in steps", "largest error at all"])
assert untouched == list(sigmoid_q.args[1:3]) == [1 / 256, 0]
sigmoid_out = torch.sigmoid((pool_int.float() - pool_q.args[2]) * pool_q.args[1])
assert torch.equal(sigmoid_int, quantize(sigmoid_out, *sigmoid_q.args[1:]))
assert all(0.49 < float(row[1]) <= 0.5 and float(row[2]) == 1 for row in rows)

# %% zh:b7878d3f
# Half a step, as always, and one step at the very top, because 1 would be the integer 256 and 255 is the largest.
#
# !!! question "The same sigmoid in int8: which zero point?"
#     The scale stays 1/256, the integers now go from -128 to 127. What comes out if you leave the zero point at 0?

# %% answer zh:85f723cd
# The smallest integer must stand for the smallest value: -128 for 0. With zero point 0, negative integers stand for
# negative values, which a sigmoid never gives, and everything above 127/256 is cut off. No error says so:
quality = {}
for zero_point in (-128, 0):
    in_int8 = replace(FIXED, dtype=torch.int8, zero_point=zero_point, quant_min=-128, quant_max=127)
    gm = calibrate_and_convert(prepare(but(lambda conv, pool, sigmoid, spec=in_int8: {sigmoid: spec})))
    with torch.no_grad():
        quality[zero_point] = [gm(test).max().item(), sqnr(reference, gm(test))]
rows = [[zero_point, f"{top:.4g}", f"{dB:.4g}"] for zero_point, (top, dB) in quality.items()]
table(rows, ["zero point", "largest output", "SQNR (dB)"])
assert quality[0][0] == 127 / 256 and quality[0][1] < 15
assert quality[-128] == [output.max().item(), sqnr(reference, output)]

# %% zh:c5d4a650
# ### Its errors {#fixed-errors}
#
# Nobody compares the fixed values with the data, so a wrong scale or zero point is silent, as in the question. These
# two raise:
bad_plans = {
    "`is_dynamic=True`": but(lambda conv, pool, sigmoid: {sigmoid: replace(FIXED, is_dynamic=True)}),
    "no range": but(lambda conv, pool, sigmoid: {sigmoid: replace(FIXED, quant_min=None, quant_max=None)}),
}
outcomes = {label: attempt(bad) for label, bad in bad_plans.items()}
table([[label, *outcome] for label, outcome in outcomes.items()], ["mistake", "noticed at", "message"])
assert list(outcomes.values()) == [
    ["prepare", "NotImplementedError: FixedQParamsObserver doesn't support dynamic quantization"],
    [
        "run",
        "RuntimeError: quantized_decomposed::quantize_per_tensor() Expected a value of type 'int' for argument "
        "'quant_min' but instead found type 'NoneType'.",
    ],
]

# %% zh:74e5f4e4
# Here, too, the range is optional in the dataclass only, and its absence shows only when the converted model runs.
#
# ## Summary: five points {#summary}
#
# 1. `QuantizationSpec` calibrates. Give qscheme and both ends of the range always, `ch_axis` where it is per-channel.
# 2. `SharedQuantizationSpec` is for ops that pass integers on unchanged. Point to an earlier place that has a spec.
# 3. `DerivedQuantizationSpec` makes an int32 bias with the scale `s_x · s_w`, which can be added to the sum of products
#    as it is. Annotate it after input and weight.
# 4. `FixedQParamsQuantizationSpec` is for ranges that are known, such as that of sigmoid. Nobody checks the values.
# 5. A bare `KeyError` or a `RecursionError` from prepare is a spec that points to the wrong place.
#
# Next, [M03-3](chapter:m03_3_patterns_that_bite): patterns that look annotated and are not.
