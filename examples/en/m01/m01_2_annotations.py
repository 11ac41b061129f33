# zh:343ecffd
"""
# M01-2 | What the quantizer asked for: annotations on the graph

Before `prepare_pt2e` inserts any observer, it has the quantizer write its wishes on the graph: which edge (the
connection from a node to one that uses it) is to be quantized, and to what. These wishes are the annotations. On this
page we stop after them, before any observer exists. Afterwards you will be able to

- annotate a graph without preparing it, and read every field of an annotation;
- compare what two quantizers ask for on the same model;
- tell from the annotations which edges will have an observer after prepare;
- notice three ways in which annotations come to nothing, none of which raises an error.

Everything is as on a CPU with torch 2.13.0 and torchao 0.18.0. Where annotating belongs among the steps is in
[M01-1](chapter:m01_1_end_to_end).
"""

# %% zh:542decf5
# ## One model, two quantizers {#start}
#
# - `X86InductorQuantizer`, for Inductor on x86 CPUs: the one of [M01-1](chapter:m01_1_end_to_end).
# - `XNNPACKQuantizer`, for XNNPACK, a kernel library common on phones and the like. The supported one is part of
#   ExecuTorch. This page takes the copy that torchao keeps for its tests, because it comes with torchao, while
#   ExecuTorch would bring many packages that we don't need here. The docstring of the copy calls it deprecated and
#   points to the supported one (the assert below), so take that one in a project of your own
#   ([M06-3](chapter:m06_3_executorch_xnnpack)).
#
# The model is `residual`: two convs and a skip connection around them, `relu(conv2(relu(conv1(x))) + x)`.
import copy
from dataclasses import fields

import torch

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpec,
    QuantizationSpecBase,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

KEY = "quantization_annotation"
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
xnnpack = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
gm = export_module(get_model("residual").eval(), example_inputs())
assert "moved to executorch.backends.xnnpack.quantizer.xnnpack_quantizer" in XNNPACKQuantizer.__doc__


# %% zh:53e93621
# ## Annotate, and stop there {#annotate}
#
# `prepare_pt2e` calls three methods of the quantizer, one after the other, and only then inserts observers. We call
# these three and stop. They write in place, so we give them a copy. What do annotations change in a graph?
def annotate(gm: torch.fx.GraphModule, quantizer: Quantizer) -> torch.fx.GraphModule:
    """A copy of gm with the annotations of the quantizer."""
    annotated = quantizer.transform_for_annotation(copy.deepcopy(gm))  # some graphs need an edit first
    quantizer.annotate(annotated)  # writes the annotations
    quantizer.validate(annotated)  # the quantizer may refuse here
    return annotated


by_x86 = annotate(gm, x86)
pairs = zip(gm.graph.nodes, by_x86.graph.nodes, strict=True)
added = {key for before, after in pairs for key in after.meta.keys() - before.meta.keys()}
print(f"new keys in meta: {added}")
draw_stages(
    [(gm, "exported"), (by_x86, "annotated")],
    title="The graph is the same; dashed frames are where the quantizer asks for quantization",
)
assert by_x86.code == gm.code
assert added == {KEY}


# %% zh:c5f2871d
# The generated code is the same to the letter. All that is new is `meta["quantization_annotation"]` on some of the
# nodes, the key that [M00-1](chapter:m00_1_export_and_aten#a3-meta) announced. The dashed frames on the right are no
# nodes; they only show each annotation on the edge that it is about: first the dtype, and whether per tensor or per
# channel, then affine or symmetric, and the kind of observer. What was asked for: the inputs and the weights of both
# convs. The `x` that `add` reads is among them, in the same frame as for the conv. Nothing was asked for on the other
# edges, so they stay in float.
#
# ### Don't leave out `transform_for_annotation` {#transform}
#
# It is the one of the three that may edit the graph. A wish can be about tensors only, and the 0.5 of `x + 0.5` is a
# mere Python number. So XNNPACKQuantizer first makes it a constant tensor. Call `annotate` alone, and this input is
# missed:
class AddHalf(torch.nn.Module):
    def forward(self, x):
        return x + 0.5


half = export_module(AddHalf(), example_inputs())
hasty = copy.deepcopy(half)
xnnpack.annotate(hasty)
add = torch.ops.aten.add.Tensor
adds = [module.graph.find_nodes(op="call_function", target=add)[0] for module in (annotate(half, xnnpack), hasty)]
rows = [[str(node.args), ", ".join(map(str, node.meta[KEY].input_qspec_map))] for node in adds]
table([["all three", *rows[0]], ["`annotate` alone", *rows[1]]], ["called", "args of add", "inputs asked for"])
assert rows == [["(x, _tensor_constant_0)", "x, _tensor_constant_0"], ["(x, 0.5)", "x"]]
assert x86.transform_for_annotation(gm) is gm

# %% zh:6a6ba79d
# For X86InductorQuantizer the step does nothing (the last assert). Another quantizer may need it, so call all three.
#
# ## What one annotation says {#one-annotation}
#
# Take the annotation of `conv2d`. It is a `QuantizationAnnotation` and has four fields. For which of the three inputs
# was nothing asked?
conv = by_x86.graph.find_nodes(op="call_function", target=torch.ops.aten.conv2d.default)[0]
annotation = conv.meta[KEY]
kinds = {source.name: type(spec).__name__ if spec else None for source, spec in annotation.input_qspec_map.items()}
rows = [
    ["input_qspec_map", ", ".join(f"{name}: {kind}" for name, kind in kinds.items()), "how to quantize each input"],
    ["output_qspec", str(annotation.output_qspec), "how to quantize the output; None: not asked for"],
    [
        "allow_implicit_sharing",
        annotation.allow_implicit_sharing,
        "wishes that agree about one tensor may share an observer",
    ],
    ["_annotated", annotation._annotated, "taken: later rules keep off"],
]
table(rows, ["field", "value for conv2d", "meaning"])
assert [row[0] for row in rows] == [field.name for field in fields(QuantizationAnnotation)]
assert kinds == {"x": "QuantizationSpec", "conv1_weight": "QuantizationSpec", "conv1_bias": None}
assert (annotation.output_qspec, annotation.allow_implicit_sharing, annotation._annotated) == (None, True, True)

# %% zh:9db4cc57
# For the bias: its entry is `None`, so it stays in float (for an int32 bias see [M03-2](chapter:m03_2_specs)).
#
# ### The seven fields of a spec {#spec}
#
# The wish for one tensor is called a spec, and most often it is a `QuantizationSpec`. Here are those of `x` and
# `conv1_weight`, side by side. In which rows do they differ?
meanings = {
    "dtype": "the type to quantize to",
    "observer_or_fake_quant_ctr": "each call makes an observer",
    "quant_min": "the smallest integer",
    "quant_max": "the largest integer",
    "qscheme": "per-tensor or per-channel, affine or symmetric",
    "ch_axis": "the dimension of the channels, if per-channel",
    "is_dynamic": "whether the range is found at run time, without calibration",
}
specs = [annotation.input_qspec_map[source] for source in conv.args[:2]]
made = [spec.observer_or_fake_quant_ctr() for spec in specs]
values = [{name: str(getattr(spec, name)) for name in meanings} for spec in specs]
for value, observer in zip(values, made, strict=True):
    value["observer_or_fake_quant_ctr"] = f"{type(observer).__name__}, eps={observer.eps.item():.4g}"
rows = [[name, *(value[name] for value in values), meaning] for name, meaning in meanings.items()]
table(rows, ["field", "x", "conv1_weight", "meaning"])
assert list(meanings) == [field.name for field in fields(QuantizationSpec)]
assert [str(spec.dtype) for spec in specs] == ["torch.uint8", "torch.int8"]
assert [(spec.quant_min, spec.quant_max) for spec in specs] == [(0, 255), (-128, 127)]
assert [spec.qscheme for spec in specs] == [torch.per_tensor_affine, torch.per_channel_symmetric]
assert [(spec.ch_axis, spec.is_dynamic) for spec in specs] == [(None, False), (0, False)]
assert [type(observer).__name__ for observer in made] == ["HistogramObserver", "PerChannelMinMaxObserver"]
assert [observer.eps.item() for observer in made] == [2**-12, 2**-12]

# %% zh:91e19fa4
# The kind of observer, too, is the quantizer's choice. Its eps is a lower bound of the scale;
# [M01-3](chapter:m01_3_the_arithmetic) shows when that bound costs accuracy.
#
# ### The annotation of a weight hangs on the conv2d that uses it {#weight}
#
# [M00-1](chapter:m00_1_export_and_aten#a3-meta) asked on which node the annotation of a weight is written. Here is the
# `meta` of `conv1_weight` itself:
weight = conv.args[1]
print(f"{weight} ({weight.op}): {weight.meta.get(KEY)}")
print(f"{conv} ({conv.op}): {weight} → {annotation.input_qspec_map[weight].dtype}")
assert weight.op == "get_attr" and KEY not in weight.meta
assert annotation.input_qspec_map[weight] is specs[1]


# %% zh:3926bc1c
# There is nothing on the `get_attr`. The wish is in the `input_qspec_map` of `conv2d`, and is about the edge
# `conv1_weight → conv2d`. How to quantize depends on who uses the value: `ch_axis=0` means the output channels of
# conv2d, and another op may have its channels in another dimension. A tensor that goes to two ops can also be asked for
# in two ways.
#
# ## Where the wishes of two quantizers differ {#two-quantizers}
#
# We rewrite the annotations as one spec an edge: the spec of an input belongs to one edge, that of an output to every
# edge that leaves the node. What more does XNNPACKQuantizer ask for? Compare the two columns, then find it in the
# figure.
def requests(gm: torch.fx.GraphModule) -> dict[tuple[str, str], QuantizationSpecBase]:
    """The edges (source, user) that are asked to be quantized, and their specs."""
    found = {}
    for node in gm.graph.nodes:
        annotation = node.meta.get(KEY, QuantizationAnnotation())
        found |= {(source.name, node.name): spec for source, spec in annotation.input_qspec_map.items() if spec}
        if annotation.output_qspec:
            found |= {(node.name, user.name): annotation.output_qspec for user in node.users}
    return found


def brief(spec: QuantizationSpec | None) -> str:
    """A cell of the table: the dtype and the range of the integers."""
    return f"{spec.dtype} [{spec.quant_min}, {spec.quant_max}]".removeprefix("torch.") if spec else "—"


by_xnnpack = annotate(gm, xnnpack)
asked, also_asked = requests(by_x86), requests(by_xnnpack)
rows = [[" → ".join(edge), brief(asked.get(edge)), brief(spec)] for edge, spec in also_asked.items()]
table(rows, ["edge", "X86InductorQuantizer", "XNNPACKQuantizer"])
stages = [(by_x86, "X86InductorQuantizer"), (by_xnnpack, "XNNPACKQuantizer")]
draw_stages(stages, title="XNNPACKQuantizer also asks for the output of conv2d_1, and for that of the model")
assert len(asked) == 5 and asked.keys() < also_asked.keys()
assert also_asked.keys() - asked.keys() == {("conv2d_1", "add"), ("relu_1", "output")}
assert [brief(request["x", "conv2d"]) for request in (asked, also_asked)] == ["uint8 [0, 255]", "int8 [-128, 127]"]
assert [brief(request["conv1_weight", "conv2d"]) for request in (asked, also_asked)] == [
    "int8 [-128, 127]",
    "int8 [-127, 127]",
]


# %% zh:f3d62d97
# - **Values.** For activations (the data that flow between nodes) one takes uint8, the other int8. Weights are int8 in
#   both, but from another smallest value.
# - **Places.** X86InductorQuantizer takes conv2d_1 → add → relu_1 as one pattern (ops that are treated together),
#   because its backend computes them in one kernel ([M06-2](chapter:m06_2_x86_inductor)). So it asks for nothing in
#   between, and leaves the output in float. XNNPACKQuantizer takes add → relu_1 as an operation of its own, with int8
#   going in and int8 coming out.
#
# Annotations follow what a backend can do; neither set is the "right" one. How to choose is in
# [M03-4](chapter:m03_4_shipped_quantizers).
#
# ## Every dashed frame becomes an observer in the same place {#to-observers}
#
# Now we go on through prepare. Compare left and right: the observers stand where the dashed frames stood. And since
# looking is not enough, we check it edge by edge:
def observed(gm: torch.fx.GraphModule) -> dict[tuple[str, str], ObserverBase]:
    """The edges (source, user) with an observer between, and that observer."""
    calls = [(node, gm.get_submodule(node.target)) for node in gm.graph.find_nodes(op="call_module")]
    observers = [(node, module) for node, module in calls if isinstance(module, ObserverBase)]
    return {(node.args[0].name, user.name): module for node, module in observers for user in node.users}


prepared = prepare_pt2e(copy.deepcopy(gm), xnnpack)
seen = observed(prepared)
draw_stages(
    [(by_xnnpack, "annotated"), (prepared, "prepared")], title="Where a dashed frame stood, there is an observer"
)
print(f"edges asked for: {len(also_asked)}, edges with an observer: {len(seen)}, observers: {len(set(seen.values()))}")
names = ("dtype", "qscheme", "quant_min", "quant_max")
assert seen.keys() == also_asked.keys()
assert all(getattr(seen[edge], name) == getattr(spec, name) for edge, spec in also_asked.items() for name in names)
assert (len(seen), len(set(seen.values()))) == (7, 6) and seen["x", "conv2d"] is seen["x", "add"]
assert observed(prepare_pt2e(copy.deepcopy(gm), x86)).keys() == asked.keys()
assert requests(prepared).keys() > {("x", "conv2d"), ("x", "add")}


# %% zh:3c0be5be
# Every edge that was asked for has an observer, no other edge has one, and the observers are set as the specs say.
# There are 7 edges but 6 observers: `x → conv2d` and `x → add` carry the same tensor, and the wishes agree, so they
# share one (the rules are in [M02-1](chapter:m02_1_from_annotation_to_observer)). Prepare doesn't remove the
# annotations; to find out later why an observer is there, read `meta` (the last assert).
#
# ## Shared specs: one letter, one group {#shared}
#
# Another kind of spec says "the same observer as that edge": `SharedQuantizationSpec`. The model `cnn` ends in pool →
# flatten → linear, which is where it is of use. But it has BN, and so there is a trap to avoid first.
#
# ### With BN in the model, look from inside prepare {#inside-prepare}
#
# Before it annotates, prepare folds BN into the conv ([M02-1](chapter:m02_1_from_annotation_to_observer)). Our
# `annotate` doesn't, so it sees another graph. There is no need to fold by hand: when prepare calls `validate`, the
# graph has just been annotated and has no observer yet. Override it, and you can keep a copy (to look at only, not to
# prepare; [below](#silent) is why). Do both ways give the same wishes?
class Snapshot(X86InductorQuantizer):
    """Keeps a copy of the annotated graph, from inside prepare."""

    def validate(self, model: torch.fx.GraphModule) -> None:
        super().validate(model)
        self.annotated = copy.deepcopy(model)


cnn = export_module(get_model("cnn").eval(), example_inputs())
snapshot = Snapshot().set_global(get_default_x86_inductor_quantization_config())
prepared_cnn = prepare_pt2e(copy.deepcopy(cnn), snapshot)
outside, inside = requests(annotate(cnn, x86)), requests(snapshot.annotated)
print(f"annotated directly: {len(outside)} edges, inside prepare: {len(inside)}")
print("missing when annotated directly:", *(" → ".join(edge) for edge in inside if edge not in outside), sep="\n")
assert (len(outside), len(inside)) == (6, 8)
assert inside.keys() - outside.keys() == {("relu_1", "adaptive_avg_pool2d"), ("adaptive_avg_pool2d", "flatten")}
assert observed(prepared_cnn).keys() == inside.keys()

# %% zh:3df938a5
# They don't, and there is no error. This quantizer annotates a pool only after a pattern that is quantized, and with BN
# still there, conv → bn → relu is no pattern that it knows, so it passes over pool and flatten. The one that agrees
# with the result of prepare is `snapshot.annotated` (the last assert).
#
# ### Dashed frames with a letter {#letters}
#
# Now look at these annotations. To which edge does the output of pool point, and that of flatten? And which frames in
# the figure have an A?
passing = [node for node in snapshot.annotated.graph.nodes if node.name in ("adaptive_avg_pool2d", "flatten")]
shared = {node.name: node.meta[KEY].output_qspec for node in passing}
rows = [[name, type(spec).__name__, str(spec.edge_or_node)] for name, spec in shared.items()]
table(rows, ["node", "`output_qspec`", "points to"])
stages = [(snapshot.annotated, "annotated"), (prepared_cnn, "prepared")]
draw_stages(stages, title="The three frames with an A are a group, and so are the three observers that they become")
assert all(isinstance(spec, SharedQuantizationSpec) for spec in shared.values())
assert [to for *_, to in rows] == ["(relu_1, adaptive_avg_pool2d)", "(adaptive_avg_pool2d, flatten)"]

# %% zh:d4e8366b
# The output of pool is to have the same observer as its input, and so is that of flatten; one is tied to the next,
# which makes a group. So scale and zero point are the same before and after, and a backend can pool and flatten the
# integers as they are, without rescaling.
#
# !!! question "How many observers are there after prepare, and how many objects?"
#     Look at the dashed frames and the letters on the left, and predict two numbers: the nodes of the graph that call
#     an observer, and the observer objects behind them.

# %% answer zh:e6a858fd
# 8 dashed frames make 8 nodes. But the three nodes with an A call one and the same object, so there are only 6 objects.
modules = [prepared_cnn.get_submodule(node.target) for node in prepared_cnn.graph.find_nodes(op="call_module")]
observers = [module for module in modules if isinstance(module, ObserverBase)]
seen = observed(prepared_cnn)
print(f"nodes: {len(observers)}, objects: {len(set(observers))}")
assert (len(observers), len(set(observers))) == (8, 6)
assert seen["relu_1", "adaptive_avg_pool2d"] is seen["adaptive_avg_pool2d", "flatten"] is seen["flatten", "linear"]

# %% zh:262ac490
# ## Three ways to come to nothing, all of them silent {#silent}
#
# 1. **`set_global` forgotten.** A quantizer that nobody configured annotates nothing.
# 2. **The graph had annotations already.** `_annotated` means "taken": a second quantizer passes over such nodes, and
#    what stays is what the first one asked for.
# 3. **`deepcopy` after annotating.** When FX copies a node, it copies `meta` only shallowly, so the annotation is still
#    the same object ([pytorch#87361](https://github.com/pytorch/pytorch/pull/87361) proposed a deep copy in 2022; in
#    torch 2.13 it is shallow). Its keys are nodes of the *original* graph, and in the copy prepare doesn't find these
#    edges.
#
# Here each of them goes on through prepare, and we count the edges with an observer:
idle, copied = X86InductorQuantizer(), copy.deepcopy(by_x86)
copied_conv = copied.graph.find_nodes(op="call_function", target=torch.ops.aten.conv2d.default)[0]
assert copied_conv.meta[KEY] is annotation
assert all(source.graph is by_x86.graph for source in annotation.input_qspec_map)

cases = [
    ["`set_global` forgotten", annotate(gm, idle), idle, asked],
    ["annotated by another", annotate(gm, x86), xnnpack, also_asked],
    ["`deepcopy` after annotating", copied, x86, asked],
    ["`deepcopy` after annotating", copy.deepcopy(by_xnnpack), xnnpack, also_asked],
]
wishes = [requests(graph) for _, graph, *_ in cases]
results = [observed(prepare_pt2e(graph, quantizer)) for _, graph, quantizer, _ in cases]
rows = [
    [label, type(quantizer).__name__, len(wish), len(result), len(right)]
    for (label, _, quantizer, right), wish, result in zip(cases, wishes, results, strict=True)
]
table(rows, ["case", "quantizer in prepare", "edges asked for", "edges with an observer", "should be"])
assert [row[2:] for row in rows] == [[0, 0, 5], [5, 5, 7], [5, 0, 5], [7, 3, 7]]
assert wishes[1] == asked
assert results[3].keys() == {("relu", "conv2d_1"), ("conv2d_1", "add"), ("relu_1", "output")}

# %% zh:342cce60
# The third is the hardest to see: the wishes seem to be there still, prepare succeeds, and yet the observers are gone.
# With XNNPACKQuantizer three edges are left, because an `output_qspec` hangs on the node itself and needs no key to be
# found.
#
# Two habits help. Begin each time with a copy of a graph that has no annotations. And count the observers after
# prepare; if the number is wrong, stop there ([M03-1](chapter:m03_1_a_quantizer_from_scratch)).
#
# ## Summary: four points {#summary}
#
# 1. Annotations are in `meta["quantization_annotation"]`. Call `transform_for_annotation`, `annotate` and `validate`,
#    and you see them before prepare; for a model with BN, look from `validate` inside prepare instead.
# 2. The wish for an input is in the `input_qspec_map` of the node that *uses* it, weights included; that for an output
#    is in the `output_qspec` of the node itself.
# 3. Observers stand on the edges that were asked for, and only there. Edges share one if they carry the same tensor
#    with the same wish, or are tied by a `SharedQuantizationSpec`.
# 4. Annotations that come to nothing raise no error. Only counting shows it.
#
# Next, [M01-3](chapter:m01_3_the_arithmetic): once an observer has recorded a range, how are scale, zero point and
# integers computed?
