# zh:49ac6e9b
"""
# M03-3 | Patterns that bite

A rule that works on conv → relu can go wrong on the next model, nearly always without an error. Here are seven places
where this happens, in quantizers that are shipped or in those that one writes. For each we show the mistake, the number
that betrays it, and the rule that gets it right. Afterwards you will be able to

- say, for concat, a residual add, a shared conv, a transposed conv and a module used twice, which edges need a spec;
- recognize the mistake by counting observers on those edges;
- keep an attention mask from ruining the attention.

All of it is as on a CPU with torch 2.13.0 and torchao 0.18.0.
"""

# %% zh:35c06110
# ## Set-up: a quantizer made of one rule {#start}
#
# `RuleQuantizer` asks a function about each op; what it returns is written as the annotation
# ([M03-1](chapter:m03_1_a_quantizer_from_scratch) shows how to do that by hand). The two specs are those of
# XNNPACKQuantizer (torchao's copy; [M03-4](chapter:m03_4_shipped_quantizers) says more on it), so that our rules can
# work together with it.
import copy
import warnings
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import default_decompositions, export
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

from common.graph_utils import short
from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet, sqnr
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    ComposableQuantizer,
    QuantizationAnnotation,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
aten = torch.ops.aten
KEY = "quantization_annotation"
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
config = get_symmetric_quantization_config(is_per_channel=True)
xnnpack = XNNPACKQuantizer().set_global(config)
ACTIVATION, WEIGHT = config.input_activation, config.weight


class RuleQuantizer(Quantizer):
    """Writes what rule(node) returns as the annotation of each op; None leaves the op alone."""

    def __init__(self, rule: Callable[[torch.fx.Node], QuantizationAnnotation | None]) -> None:
        self.rule = rule

    def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
        for node in model.graph.nodes:
            if node.op == "call_function" and (annotation := self.rule(node)):
                annotation._annotated = True
                node.meta[KEY] = annotation
        return model

    def validate(self, model: torch.fx.GraphModule) -> None:
        pass


class Net(nn.Module):
    """Has the given modules, and computes forward(self, x)."""

    def __init__(self, forward: Callable, **modules: nn.Module) -> None:
        super().__init__()
        self.compute = forward
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x):
        return self.compute(self, x)


def conv(inputs: int = 3, outputs: int = 3) -> nn.Conv2d:
    """A conv that keeps height and width."""
    return nn.Conv2d(inputs, outputs, kernel_size=3, padding=1)


def observed(gm: torch.fx.GraphModule) -> dict[tuple[str, str], ObserverBase]:
    """The edges (source, user) with an observer between, and that observer."""
    calls = [(node, gm.get_submodule(node.target)) for node in gm.graph.find_nodes(op="call_module")]
    observers = [(node, module) for node, module in calls if isinstance(module, ObserverBase)]
    return {(node.args[0].name, user.name): module for node, module in observers for user in node.users}


def exported(model: nn.Module) -> torch.fx.GraphModule:
    """Exported in eval mode, for images."""
    return export_module(model.eval(), example_inputs())


def edges(gm: torch.fx.GraphModule, quantizer: Quantizer) -> dict[tuple[str, str], ObserverBase]:
    """What is observed after prepare."""
    return observed(prepare_pt2e(copy.deepcopy(gm), quantizer))


def sources(found: dict, user: str) -> list[str]:
    """The inputs of a node that have an observer, sorted."""
    return sorted(source for source, reader in found if reader == user)


# %% zh:822332eb
# ## 1. concat is not cat {#concat}
#
# `torch.cat` copies values without computing anything. So its inputs and its output should have one scale; then a
# backend can copy the integers. `torch.concat` and `torch.concatenate` are other names for the same. But are they the
# same op in the graph? Look at the target, and at how many observers there are on the two inputs.
CONCATS = (aten.cat.default, aten.concat.default, aten.concatenate.default)


def concat_rule(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """All inputs and the output of a concat share one observer, whatever name it goes by."""
    if node.target not in CONCATS:
        return None
    first, *others = node.args[0]
    shared = SharedQuantizationSpec((first, node))
    return QuantizationAnnotation({first: ACTIVATION, **dict.fromkeys(others, shared)}, shared)


def concat_observers(gm: torch.fx.GraphModule, quantizer: Quantizer) -> str:
    """How many inputs of the concat are observed, and by how many observers."""
    (concat,) = [node.name for node in gm.graph.nodes if node.target in CONCATS]
    observers = [observer for (_, user), observer in edges(gm, quantizer).items() if user == concat]
    return f"{len(observers)} inputs, observers: {len(set(observers))}"


graphs = [
    exported(
        Net(lambda net, x, concat=concat: net.out(concat([net.a(x), net.b(x)], 1)), a=conv(), b=conv(), out=conv(6))
    )
    for concat in (torch.cat, torch.concat, torch.concatenate)
]
fixed = ComposableQuantizer([RuleQuantizer(concat_rule), xnnpack])
found = [[concat_observers(gm, quantizer) for quantizer in (x86, xnnpack, fixed)] for gm in graphs]
targets = [str(node.target) for gm in graphs for node in gm.graph.nodes if node.target in CONCATS]
table(
    [[target, *row] for target, row in zip(targets, found, strict=True)],
    ["op", "X86InductorQuantizer", "XNNPACKQuantizer", "our rule, then XNNPACK"],
)
assert targets == ["aten.cat.default", "aten.concat.default", "aten.concatenate.default"]
assert [row[0] for row in found] == ["2 inputs, observers: 1", "0 inputs, observers: 0", "0 inputs, observers: 0"]
assert [row[1] for row in found] == ["2 inputs, observers: 2"] * 3
assert [row[2] for row in found] == ["2 inputs, observers: 1"] * 3
assert get_source_partitions(graphs[0].graph, [torch.cat]) == {}


# %% zh:7e88ee80
# Three names, three ops. x86 has a rule for `aten.cat` alone; for the two others it has none, says nothing, and the
# concat stays in float. ([executorch PR 20999](https://github.com/pytorch/executorch/pull/20999) mends such a list in
# another quantizer.) XNNPACKQuantizer has a rule for cat, too, but gives each input an observer of its own, even with
# `torch.cat`: it looks for the Python function that a node came from, and that search finds no cat in an exported graph
# (the last assert). ExecuTorch's version has given up this search
# ([executorch PR 12405](https://github.com/pytorch/executorch/pull/12405)).
#
# Our rule compares `node.target` with all three names. It goes first in the composition, so the next quantizer
# leaves alone what it annotates.
#
# ### The same search misses functions {#functional}
#
# X86InductorQuantizer searches in this way for convs and linears. What does it find when they are written as functions
# instead of modules, which gives the same ops ([M00-1](chapter:m00_1_export_and_aten#b2-three-styles))?
as_functions = Net(lambda net, x: F.relu(F.conv2d(x, net.conv.weight, net.conv.bias)), conv=conv())
as_modules = Net(lambda net, x: net.relu(net.conv(x)), conv=conv(), relu=nn.ReLU())
rows = []
for label, net in {"modules": as_modules, "functions": as_functions}.items():
    gm = exported(net)
    ops = [short(node.target) for node in gm.graph.nodes if node.op == "call_function"]
    rows.append([label, " → ".join(ops), len(edges(gm, x86)), len(edges(gm, xnnpack))])
table(rows, ["written as", "ops", "X86InductorQuantizer: edges", "XNNPACKQuantizer: edges"])
assert [row[1:] for row in rows] == [["conv2d → relu", 2, 3], ["conv2d → relu", 0, 3]]


# %% zh:b85af345
# Nothing at all, and no error. XNNPACKQuantizer, which goes by target for conv and linear, sees no difference. With
# x86, write convs and linears as modules, and count.
#
# ## 2. A residual add: which input is the conv? {#residual}
#
# `conv(x) + x`: a kernel that computes conv and add together hands over the conv's result inside, so only the *other*
# input needs a spec ([M01-2](chapter:m01_2_annotations#two-quantizers)). A rule that takes the second argument for the
# other input is right until somebody writes `x + conv(x)`. Look at which input of add is observed.
def by_position(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """Wrong: takes the second argument of add for the skip connection."""
    return QuantizationAnnotation({node.args[1]: ACTIVATION}) if node.target is aten.add.Tensor else None


def by_target(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """The skip connection is the input that isn't the conv; the conv must have no other user."""
    if node.target is not aten.add.Tensor:
        return None
    convs = [source for source in node.args if source.target is aten.conv2d.default and len(source.users) == 1]
    return QuantizationAnnotation({s: ACTIVATION for s in node.args if s not in convs[:1]}) if convs else None


quantizers = [RuleQuantizer(by_position), RuleQuantizer(by_target), x86, xnnpack]
nets = [Net(lambda net, x: net.conv(x) + x, conv=conv()), Net(lambda net, x: x + net.conv(x), conv=conv())]
skips = [[sources(edges(gm, quantizer), "add") for quantizer in quantizers] for gm in map(exported, nets)]
rows = [[label, *map(", ".join, row)] for label, row in zip(["conv(x) + x", "x + conv(x)"], skips, strict=True)]
table(rows, ["model", "by position (wrong)", "by target", "X86InductorQuantizer", "XNNPACKQuantizer"])
assert skips[0] == [["x"], ["x"], ["x"], ["conv2d", "x"]]
assert skips[1] == [["conv2d"], ["x"], ["x"], ["conv2d", "x"]]


# %% zh:55f10fa6
# On `x + conv(x)` the wrong rule puts the observer between conv and add, where it parts what is to be one kernel, and
# leaves the skip connection in float. x86 looks at both sides, as our second rule does; XNNPACKQuantizer takes add by
# itself, with both inputs.
#
# Which inputs share an observer? Unlike those of a concat, the two inputs of an add need not have one scale. What does
# share is `x`, when conv and add read it with the same wish. And with two convs, only one of them can be in the kernel:
two_convs = exported(Net(lambda net, x: net.conv1(x) + net.conv2(x), conv1=conv(), conv2=conv()))
residual = edges(exported(get_model("residual")), xnnpack)
two = [edges(two_convs, quantizer) for quantizer in (x86, xnnpack)]
names = [type(quantizer).__name__ for quantizer in (x86, xnnpack)]
rows = [[name, ", ".join(sources(found, "add"))] for name, found in zip(names, two, strict=True)]
table(rows, ["quantizer", "observed inputs of conv1(x) + conv2(x)"])
assert residual["x", "conv2d"] is residual["x", "add"] is not residual["conv2d_1", "add"]
assert sources(two[0], "add") == ["conv2d_1"] and sources(two[1], "add") == ["conv2d", "conv2d_1"]
assert two[1]["conv2d", "add"] is not two[1]["conv2d_1", "add"]


# %% zh:26d143d6
# ## 3. A conv with a second user {#two-users}
#
# conv → relu is one kernel if the relu is the only user of the conv: nobody else needs the value between. Here a
# sigmoid reads it, too. A rule that doesn't count users still annotates around the pair. What is on the edge to
# sigmoid?
def careless(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """Wrong: conv → relu is a pattern, whoever else reads the conv."""
    if node.target is aten.conv2d.default:
        return QuantizationAnnotation({node.args[0]: ACTIVATION, node.args[1]: WEIGHT})
    return QuantizationAnnotation(output_qspec=ACTIVATION) if node.target is aten.relu.default else None


def careful(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """A conv with other users than one relu gets a spec for its output."""
    if node.target is aten.conv2d.default:
        fused = [user.target for user in node.users] == [aten.relu.default]
        return QuantizationAnnotation({node.args[0]: ACTIVATION, node.args[1]: WEIGHT}, None if fused else ACTIVATION)
    return QuantizationAnnotation(output_qspec=ACTIVATION) if node.target is aten.relu.default else None


def two_users(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """relu(y) * sigmoid(y), with y = conv(x)."""
    y = net.conv(x)
    return net.relu(y) * torch.sigmoid(y)


graph = exported(Net(two_users, conv=conv(), relu=nn.ReLU()))
stages = [
    (RuleQuantizer(careless).annotate(copy.deepcopy(graph)), "careless"),
    (RuleQuantizer(careful).annotate(copy.deepcopy(graph)), "careful"),
]
draw_stages(stages, title="Left: nothing on the edge from conv2d to sigmoid; right: one spec for both users of conv2d")
quantizers = [RuleQuantizer(careless), RuleQuantizer(careful), xnnpack, x86]
found = [edges(graph, quantizer) for quantizer in quantizers]
readers = [sorted(user for source, user in edge if source == "conv2d") for edge in found]
labels = ["careless (wrong)", "careful", "XNNPACKQuantizer", "X86InductorQuantizer"]
rows = [[label, ", ".join(users) or "—"] for label, users in zip(labels, readers, strict=True)]
table(rows, ["quantizer", "users of conv2d that read it through an observer"])
(relu,) = x86.annotate(graph).graph.find_nodes(op="call_function", target=aten.relu.default)
assert readers == [[], ["relu", "sigmoid"], ["relu", "sigmoid"], []]
assert relu.meta[KEY]._annotated and not relu.meta[KEY].input_qspec_map


# %% zh:4c68c911
# The careless rule says that the pair is one int8 kernel, and such a kernel returns only the relu's result; the sigmoid
# needs the conv's. XNNPACKQuantizer had this very bug and now counts users
# ([pytorch PR 140846](https://github.com/pytorch/pytorch/pull/140846)). X86InductorQuantizer still takes relu into the
# pattern (the last assert). It asks for nothing after a conv in any case, so no observer is wrong here; whether the two
# are one kernel is left to its lowering, which is not run on this page. (Folding BN has the same trap:
# [M02-1](chapter:m02_1_from_annotation_to_observer#fold-two-users).)
#
# ## 4. SDPA stays in float {#sdpa}
#
# `F.scaled_dot_product_attention` (SDPA) is one op, and neither quantizer knows it. So it must be split before the
# quantizer sees it, as [M00-3](chapter:m00_3_decompositions#sdpa) does, and ExecuTorch for one of its backends
# ([executorch PR 7111](https://github.com/pytorch/executorch/pull/7111)). Here, with `is_causal=True`: what comes to
# light besides the two matmuls?
tokens = (torch.randn(8, 6, 16, generator=torch.Generator().manual_seed(0)),)  # [batch, tokens, features]
_ = torch.manual_seed(0)
attention = Net(
    lambda net, x: F.scaled_dot_product_attention(net.q(x), net.k(x), net.v(x), is_causal=True),
    **{name: nn.Linear(16, 16) for name in "qkv"},
)
whole = export(attention.eval(), tokens)
parts = [
    aten.scaled_dot_product_attention.default,
    aten._scaled_dot_product_attention_math.default,
    aten._scaled_dot_product_flash_attention_for_cpu.default,
]
split = whole.run_decompositions({op: default_decompositions()[op] for op in parts})
ops = [short(node.target) for node in split.graph.nodes if node.op == "call_function"]
print(" → ".join(ops))
(fill,) = split.graph.find_nodes(op="call_function", target=aten.scalar_tensor.default)
sdpa = "scaled_dot_product_attention"
inputs = [sources(observed(prepare_pt2e(whole.module(), quantizer)), sdpa) for quantizer in (x86, xnnpack)]
print(f"observed inputs of SDPA, x86: {inputs[0]}, XNNPACK: {inputs[1]}; the mask is filled with {fill.args[0]}")
assert inputs == [[], ["linear", "linear_1", "linear_2"]]
assert ops.count("matmul") == 2 and fill.args[0] == float("-inf")


# %% zh:e4cb1d9d
# x86 asks for nothing here. XNNPACKQuantizer puts observers before SDPA, but only because it asks for the output of
# each linear; SDPA itself has no annotation. Split, it has two matmuls, and an add of a mask with −inf in it: the
# next trap.
#
# ## 5. The attention mask {#mask}
#
# A mask that is added to the scores before softmax holds 0 where a token may look, and a very negative number where it
# may not, often −inf. For XNNPACKQuantizer this is an add like any other: it quantizes the mask, the scores, and the
# sum. Below, the same attention, written out, with several masks. All are compared with the float model with −inf; the
# last column is how much attention, on average, goes to later tokens. It should be 0.
class Masked(nn.Module):
    """Attention with a mask written out; also returns the attention. The mask holds `value`; None: masked_fill."""

    def __init__(self, value: float | None) -> None:
        super().__init__()
        self.q, self.k, self.v, self.value = *(nn.Linear(16, 16) for _ in range(3)), value
        later = torch.ones(6, 6, dtype=torch.bool).triu(1)
        self.register_buffer("mask", later if value is None else torch.full((6, 6), value).triu(1))

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / 4
        scores = scores.masked_fill(self.mask, float("-inf")) if self.value is None else scores + self.mask
        attention = torch.softmax(scores, -1)
        return attention @ self.v(x), attention


def masked(value: float | None) -> nn.Module:
    """With the same weights every time."""
    _ = torch.manual_seed(0)
    return Masked(value).eval()


def quantize(model: nn.Module, quantizer: Quantizer) -> torch.fx.GraphModule:
    """Export, prepare, calibrate with the tokens, convert."""
    prepared = prepare_pt2e(export_module(model, tokens), quantizer)
    prepared(*tokens)
    return convert_pt2e(prepared)


def later(attention: torch.Tensor) -> float:
    """How much attention goes to later tokens, on average over all tokens."""
    return attention.triu(1).sum(-1).mean().item()


def spare_masks(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """An add that reads a buffer stays in float: an annotation without a spec."""
    reads_buffer = node.target is aten.add.Tensor and any(source.op == "get_attr" for source in node.args)
    return QuantizationAnnotation() if reads_buffer else None


lowest = torch.finfo(torch.float32).min
cases = {
    "−inf, x86": (float("-inf"), x86),
    "−inf": (float("-inf"), xnnpack),
    "the lowest float32": (lowest, xnnpack),
    "−10000": (-10000.0, xnnpack),
    "−100": (-100.0, xnnpack),
    "−20": (-20.0, xnnpack),
    "−inf, add left in float": (float("-inf"), ComposableQuantizer([RuleQuantizer(spare_masks), xnnpack])),
    "masked_fill": (None, xnnpack),
}
with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    reference, _ = masked(float("-inf"))(*tokens)
    results = {label: quantize(masked(value), quantizer)(*tokens) for label, (value, quantizer) in cases.items()}
quality = {label: sqnr(reference, output) for label, (output, _) in results.items()}
leaks = {label: later(attention) for label, (_, attention) in results.items()}
rows = [[label, f"{quality[label]:.4g}", f"{leaks[label]:.3f}"] for label in cases]
table(rows, ["mask", "SQNR (dB)", "attention to later tokens"])
with torch.no_grad():
    unmasked = later(masked(0.0)(*tokens)[1])
uniform = torch.ones(6, 6).tril() / torch.arange(1, 7)[:, None]
messages = {str(warning.message) for warning in caught}
print(f"attention to later tokens without any mask, in float: {unmasked:.3f}", *messages, sep="\n")
assert messages == {"torch.inf detected in input tensor, ignoring input"}
assert quality["−inf"] < 5 and abs(leaks["−inf"] - unmasked) < 0.02 and unmasked > 0.3
assert all(leaks[label] < 1e-6 for label in cases if label != "−inf")
assert torch.allclose(results["−10000"][1], uniform.expand(8, 6, 6), atol=1e-3)
assert torch.allclose(results["the lowest float32"][1], results["−10000"][1], atol=1e-3)
assert quality["−10000"] < 15 < quality["−100"] < 30 < quality["−20"] < 36
assert quality["masked_fill"] == quality["−inf, add left in float"] > 37

# %% zh:5b7c0448
# - **−inf.** The mask is gone: as much attention goes to later tokens as without any. `HistogramObserver` leaves
#   infinite values out of the range, and what is left of the mask is all 0; so −inf is clamped to about 0. The warning
#   printed above is the only sign ([pytorch PR 103467](https://github.com/pytorch/pytorch/pull/103467)).
# - **The lowest float32, −10000.** Nothing leaks, but the attention has become the average over all that is allowed
#   (see the assert with `uniform`). The range of the sum goes down to the mask, 256 steps have to cover it, and all
#   real scores fall on one step.
# - **−100, −20.** The smaller the range, the finer the steps. One of ExecuTorch's masks has a parameter for this
#   value, for the sake of quantization ([executorch PR 8736](https://github.com/pytorch/executorch/pull/8736)).
# - **Left in float, masked_fill.** Best: quantize neither mask nor sum. A rule before the shipped quantizer sees to
#   that; or write the model with `masked_fill`, which neither of the two annotates. x86 leaves this add alone anyway.
#
# !!! question "Why not −5? The range would be smaller still."
#     What does the float model do with a mask of −5? Think of softmax: by what factor does −5 make a weight smaller?

# %% answer zh:7ddffc6b
# By e⁻⁵, about 1/148, on top of what the scores themselves do. So it leaks already in float: the mask is part of the
# model, and its value must be large enough against the scores. At −20 the factor is 2·10⁻⁹.
with torch.no_grad():
    small = {value: later(masked(value)(*tokens)[1]) for value in (-5.0, -20.0)}
print({value: f"{leak:.2g}" for value, leak in small.items()})
assert 1e-3 < small[-5.0] < 1e-2 and small[-20.0] < 1e-8


# %% zh:b65ad835
# ## 6. ConvTranspose2d {#conv-transpose}
#
# To a rule for conv2d it is another op. Is it quantized by either of the two, alone or with a relu? And if so, which
# dimension of its weight has the scales?
def transposed(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """A transposed conv's weight is [in, out, height, width]: its output channels are dimension 1."""
    if node.target is not aten.conv_transpose2d.input:
        return None
    return QuantizationAnnotation({node.args[0]: ACTIVATION, node.args[1]: replace(WEIGHT, ch_axis=1)}, ACTIVATION)


up = nn.ConvTranspose2d(4, 3, kernel_size=2, stride=2)
graphs = [exported(nn.Sequential(conv(3, 4), nn.ReLU(), *last)) for last in ([up], [up, nn.ReLU()])]
edge, rows = ("_2_weight", "conv_transpose2d"), []
ours = ComposableQuantizer([RuleQuantizer(transposed), xnnpack])
labels = ["X86InductorQuantizer", "XNNPACKQuantizer", "our rule, then XNNPACK"]
for label, quantizer in zip(labels, (x86, xnnpack, ours), strict=True):
    found = [edges(gm, quantizer) for gm in graphs]
    rows.append([label, *(observers[edge].ch_axis if edge in observers else "—" for observers in found)])
table(rows, ["quantizer", "alone: ch_axis", "with relu: ch_axis"])
assert [row[1:] for row in rows] == [["—", "—"], ["—", 0], [1, 1]]
assert list(up.weight.shape) == [4, 3, 2, 2]


# %% zh:fa9df54e
# x86 never asks for it. XNNPACKQuantizer does when a relu follows, but in dimension 0, as for a conv: here this is the
# *input* channels, for the weight is [4, 3, 2, 2] = [in, out, …]. One scale an input channel can't be taken out of the
# sum over the input channels, so this is of no use to an integer kernel
# ([M01-3](chapter:m01_3_the_arithmetic#integers)). Alone, it is left in float
# ([executorch PR 7514](https://github.com/pytorch/executorch/pull/7514) also found patterns that are not quantized).
# Our rule asks for dimension 1.
#
# ## 7. A module used twice {#twice}
#
# One module, called twice, is two ops that read one weight. At how many of the two calls is the weight observed?
def each_call(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """By target, so each call by itself."""
    if node.target not in (aten.conv2d.default, aten.linear.default):
        return None
    return QuantizationAnnotation({node.args[0]: ACTIVATION, node.args[1]: WEIGHT})


def twice(layer: nn.Module, last: nn.Module) -> nn.Module:
    """layer, last, layer, last."""
    return Net(lambda net, x: net.last(net.layer(net.last(net.layer(x)))), layer=layer, last=last)


def calls(gm: torch.fx.GraphModule, quantizer: Quantizer) -> str:
    """At how many calls the weight is observed, and by how many observers; or the error."""
    try:
        found = edges(gm, quantizer)
    except ValueError as error:
        return f"ValueError: {error}"
    weights = [observer for (source, _), observer in found.items() if source == "layer_weight"]
    return f"{len(weights)} of 2, observers: {len(set(weights))}"


variants = {
    "conv": twice(conv(), nn.Identity()),
    "conv, relu": twice(conv(), nn.ReLU()),
    "linear": twice(nn.Linear(16, 16), nn.Identity()),
    "linear, relu": twice(nn.Linear(16, 16), nn.ReLU()),
}
graphs = {label: exported(net) for label, net in variants.items()}
quantizers = [x86, xnnpack, RuleQuantizer(each_call)]
rows = [[label, *(calls(gm, quantizer) for quantizer in quantizers)] for label, gm in graphs.items()]
table(rows, ["called twice", "X86InductorQuantizer", "XNNPACKQuantizer", "our rule"])
once, both = "1 of 2, observers: 1", "2 of 2, observers: 1"
assert [row[1] for row in rows] == [once, "ValueError: Input partition has more than one output node", once, both]
assert [row[2] for row in rows] == [once, once, both, both]
assert [row[3] for row in rows] == [both] * 4
first, second = ("layer_weight", "conv2d"), ("layer_weight", "conv2d_1")
assert second in edges(graphs["conv"], x86) and first in edges(graphs["conv"], xnnpack)

# %% zh:98eb220e
# The ValueError is the harmless one, as it stops you. (x86 groups the ops by module, and expects a group to have one
# output. [ao#4478](https://github.com/pytorch/ao/issues/4478) reported it of linear, where 0.18.0 has it fixed.) In the
# rows with "1 of 2", one call stays in float without a word: with x86 the first, as it isn't the group's output; with
# XNNPACKQuantizer the second, as the weight is taken by then. A rule by `node.target` meets each call, and since both
# ask the same of one weight, they share its observer ([M02-1](chapter:m02_1_from_annotation_to_observer#implicit)).
#
# ## Summary: five points {#summary}
#
# 1. Find ops by `node.target`, and list all names of an op: cat, concat, concatenate. How the model was written must
#    not matter; with x86 it does.
# 2. In a residual add, look for the conv instead of trusting the position; and before taking two ops for one kernel,
#    count the users of the first.
# 3. SDPA must be split to be quantized. Keep its mask in float: quantized, −inf is lost, and a large number costs all
#    resolution.
# 4. A transposed conv has its output channels in dimension 1 of the weight. A module called twice is two ops.
# 5. All of this is silent but for one ValueError and the warning about −inf. Count observers on the very edges that
#    you had in mind.
#
# Next, [M03-4](chapter:m03_4_shipped_quantizers): which shipped quantizer asks for what, and how to configure it.
