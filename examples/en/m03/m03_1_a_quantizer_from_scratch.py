# zh:8ccc5b33
"""
# M03-1 | A quantizer from scratch

A quantizer is the object that `prepare_pt2e` asks what to quantize. Until now we took finished ones and read what they
wrote ([M01-2](chapter:m01_2_annotations)). Now we write one ourselves, for a single pattern: conv → relu. Afterwards
you will be able to

- write a quantizer that finds a pattern by `node.target` and annotates it;
- have it refuse, in `validate`, a graph that it can't serve;
- tell by counting that a quantizer annotated nothing, or too little: most causes of that raise no error.

Everything is as on a CPU with torch 2.13.0 and torchao 0.18.0.
"""

# %% zh:caa8e1a7
# ## What a quantizer must have {#contract}
#
# A quantizer is an instance of a subclass of `Quantizer`. Which of its methods do you have to write?
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import export

from common.graph_utils import short
from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet, sqnr
from common.viz import draw_stages, table

quiet()
from torch.ao.quantization import observer as torch_ao
from torchao.quantization.pt2e import FakeQuantizeBase, MinMaxObserver, ObserverBase, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import X86InductorQuantizer

torch.set_num_threads(1)
aten = torch.ops.aten
KEY = "quantization_annotation"
methods = {
    "transform_for_annotation": "edit the graph first, where that is needed",
    "annotate": "write the wishes into `meta`",
    "validate": "look at the annotated graph, and raise if it won't do",
    "prepare_obs_or_fq_callback": "change the observers before they are inserted",
}
must = Quantizer.__abstractmethods__
rows = [[f"`{name}`", "yes" if name in must else "no", purpose] for name, purpose in methods.items()]
table(rows, ["method, in the order of the calls", "must be written", "purpose"])
assert must == {"annotate", "validate"}
assert set(methods) == {name for name in vars(Quantizer) if not name.startswith("_")}

# %% zh:c5cb24a4
# Two of the four, and `validate` may do nothing. All the work is in `annotate`.
#
# ## Find the pattern, write the wishes {#annotate}
#
# First two specs, one for activations and one for weights ([M01-2](chapter:m01_2_annotations#spec) explains the
# fields). Then the quantizer: it finds each conv by its target, sees whether a relu follows, and annotates the two.
# Which edges get a spec, and which one doesn't?
ACTIVATION = QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, torch.per_tensor_affine)
WEIGHT = QuantizationSpec(torch.int8, PerChannelMinMaxObserver, -127, 127, torch.per_channel_symmetric, ch_axis=0)


class ConvReluQuantizer(Quantizer):
    """int8 for conv → relu: the input, the weight, and the output of the relu."""

    relus = frozenset({aten.relu.default})

    def __init__(self, activation: QuantizationSpec = ACTIVATION, weight: QuantizationSpec = WEIGHT) -> None:
        self.activation, self.weight = activation, weight

    def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
        for conv in model.graph.find_nodes(op="call_function", target=aten.conv2d.default):
            users = list(conv.users)
            if len(users) == 1 and users[0].target in self.relus:
                self.annotate_pair(conv, users[0])
        return model

    def annotate_pair(self, conv: torch.fx.Node, relu: torch.fx.Node) -> None:
        x, weight = conv.args[:2]
        conv.meta[KEY] = QuantizationAnnotation({x: self.activation, weight: self.weight}, _annotated=True)
        relu.meta[KEY] = QuantizationAnnotation(output_qspec=self.activation, _annotated=True)

    def validate(self, model: torch.fx.GraphModule) -> None:
        pass


# %% zh:ebcd174a
# Two inputs of the conv, and the output of the relu. Not the edge from conv to relu, for a backend is to compute the
# two in one kernel; and not the bias, which stays in float ([M03-2](chapter:m03_2_specs) makes it int32). A conv with a
# second user is left alone ([M03-3](chapter:m03_3_patterns_that_bite) says why), and `_annotated=True` tells other
# quantizers that these nodes are taken ([M03-4](chapter:m03_4_shipped_quantizers)).
#
# ## End to end {#end-to-end}
#
# Now the usual steps ([M01-1](chapter:m01_1_end_to_end)) with this quantizer. Is there, at any stage, anything between
# `conv2d` and `relu`?
model = get_model("conv_relu").eval()
data = torch.randn(5, 8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
calibration, test = data[:4], data[4]


def observers(prepared: torch.fx.GraphModule) -> list[nn.Module]:
    """The observer of each node that calls one; fake quants, which QAT has instead, count, too."""
    called = [prepared.get_submodule(node.target) for node in prepared.graph.find_nodes(op="call_module")]
    return [module for module in called if isinstance(module, (ObserverBase, FakeQuantizeBase))]


def calibrate_and_convert(prepared: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A converted copy."""
    prepared = copy.deepcopy(prepared)
    with torch.no_grad():
        for batch in calibration:
            prepared(batch)
    return convert_pt2e(prepared)


def q_dq(converted: torch.fx.GraphModule) -> list[str]:
    """The quantize and dequantize operations of a converted graph, in order."""
    return [short(node.target) for node in converted.graph.nodes if "quantized_decomposed." in str(node.target)]


exported = export_module(model, (calibration[0],))
annotated = ConvReluQuantizer().annotate(copy.deepcopy(exported))  # its other methods do nothing
prepared = prepare_pt2e(copy.deepcopy(exported), ConvReluQuantizer())
converted = calibrate_and_convert(prepared)
with torch.no_grad():
    reference, output = model(test), converted(test)
stages = [(annotated, "annotated"), (prepared, "prepared"), (converted, "converted")]
draw_stages(stages, title="Three specs, three observers, and nothing between conv2d and relu")
print(f"observers: {len(observers(prepared))}, SQNR: {sqnr(reference, output):.4g} dB", *q_dq(converted), sep="\n")
(relu,) = converted.graph.find_nodes(op="call_function", target=aten.relu.default)
assert relu.args[0].target is aten.conv2d.default
assert len(observers(prepared)) == 3
assert q_dq(converted) == ["dequantize_per_channel", *["quantize_per_tensor", "dequantize_per_tensor"] * 2]
assert 38 < sqnr(reference, output) < 40


# %% zh:1d6e9c6c
# Nothing, and the SQNR is about 39 dB. Three observers became five q/dq nodes and not six, because the weight has been
# quantized already ([M02-3](chapter:m02_3_convert_by_hand)).
#
# ### Wrong: a spec between conv and relu {#between}
#
# Annotating the output of every op seems thorough. What becomes of the pattern that a backend looks for?
class EachOpQuantizer(ConvReluQuantizer):
    """Wrong: asks for the output of the conv, too."""

    def annotate_pair(self, conv: torch.fx.Node, relu: torch.fx.Node) -> None:
        super().annotate_pair(conv, relu)
        conv.meta[KEY].output_qspec = self.activation


split_prepared = prepare_pt2e(copy.deepcopy(exported), EachOpQuantizer())
split = calibrate_and_convert(split_prepared)
with torch.no_grad():
    quality = [sqnr(reference, output), sqnr(reference, split(test))]
rows = [
    ["nothing between", len(observers(prepared)), len(q_dq(converted)), f"{quality[0]:.4g}"],
    ["a spec between", len(observers(split_prepared)), len(q_dq(split)), f"{quality[1]:.4g}"],
]
table(rows, ["annotation", "observers", "q/dq nodes", "SQNR (dB)"])
draw_stages([(converted, "nothing between"), (split, "a spec between")], title="On the right, q/dq part conv and relu")
(split_relu,) = split.graph.find_nodes(op="call_function", target=aten.relu.default)
assert split_relu.args[0].target is torch.ops.quantized_decomposed.dequantize_per_tensor.default
assert [row[1:3] for row in rows] == [[3, 5], [4, 7]]
assert quality[0] - quality[1] > 2

# %% zh:f6599bf8
# No error. But conv and relu are no longer neighbours, so a kernel for the two of them doesn't fit. And the values are
# rounded once more, with 255 steps that have to span the negative values, too, although the relu is about to drop
# those: the SQNR falls. Annotate around what one kernel computes, never inside.
#
# !!! question "What does it find in a model with `nn.ReLU(inplace=True)`?"
#     Conv, then relu, as before, only that this relu writes into its input. How many observers will prepare insert?

# %% answer zh:2748f3da
# None. This relu is `aten.relu_.default`, which is another target, and what isn't found is passed over. So list every
# target that you mean:
in_place = export_module(nn.Sequential(model.conv, nn.ReLU(inplace=True)).eval(), (calibration[0],))


class BothRelusQuantizer(ConvReluQuantizer):
    relus = frozenset({aten.relu.default, aten.relu_.default})


quantizers = [ConvReluQuantizer(), BothRelusQuantizer()]
counts = [len(observers(prepare_pt2e(copy.deepcopy(in_place), quantizer))) for quantizer in quantizers]
print(f"targets: {[str(node.target) for node in in_place.graph.nodes if node.op == 'call_function']}")
print(f"observers: {counts[0]}, with relu_ in the list: {counts[1]}")
assert counts == [0, 3]


# %% zh:3e36a21b
# ## Refuse in `validate` {#validate}
#
# Prepare calls `validate` when the graph is annotated and no observer exists yet. Everything in the graph and in the
# specs can be checked there. This one refuses two mistakes: nothing was annotated, and a spec whose observer is not one
# of torchao's (old examples import theirs from `torch.ao`). A good message says what was found and what to do:
class StrictQuantizer(ConvReluQuantizer):
    """Refuses a graph without conv → relu, and specs whose observer is not one of torchao's."""

    def validate(self, model: torch.fx.GraphModule) -> None:
        if not any(KEY in node.meta for node in model.graph.nodes):
            targets = [str(node.target) for node in model.graph.nodes if node.op.startswith("call_")]
            raise ValueError(
                f"no aten.conv2d.default → aten.relu.default in this graph; it calls {', '.join(targets)}. "
                "Pass torch.export.export(model, inputs).module(), not decomposed."
            )
        for spec in (self.activation, self.weight):
            made = type(spec.observer_or_fake_quant_ctr())
            if not issubclass(made, (ObserverBase, FakeQuantizeBase)):
                raise ValueError(
                    f"convert_pt2e would ignore {made.__module__}.{made.__name__}. "
                    f"Import {made.__name__} from torchao.quantization.pt2e."
                )


old_activation = QuantizationSpec(torch.int8, torch_ao.MinMaxObserver, -128, 127, torch.per_tensor_affine)
old_weight = QuantizationSpec(
    torch.int8, torch_ao.PerChannelMinMaxObserver, -127, 127, torch.per_channel_symmetric, ch_axis=0
)
decomposed = export(model, (calibration[0],)).run_decompositions().module()
attempts = [(exported, StrictQuantizer()), (decomposed, StrictQuantizer()), (exported, StrictQuantizer(old_activation))]
said = []
for graph, quantizer in attempts:
    try:
        said.append(f"{len(observers(prepare_pt2e(copy.deepcopy(graph), quantizer)))} observers")
    except ValueError as error:
        said.append(f"ValueError: {error}")
print(*said, sep="\n")
assert said == [
    "3 observers",
    "ValueError: no aten.conv2d.default → aten.relu.default in this graph; it calls _guards_fn, "
    "aten.convolution.default, aten.relu.default. "
    "Pass torch.export.export(model, inputs).module(), not decomposed.",
    "ValueError: convert_pt2e would ignore torch.ao.quantization.observer.MinMaxObserver. "
    "Import MinMaxObserver from torchao.quantization.pt2e.",
]


# %% zh:c4879240
# What happens later is out of sight for `validate`: whether prepare really put an observer on each annotated edge
# (below is a case where it doesn't), and whether anyone calibrated. And in a quantizer that somebody else wrote, it may
# be empty. So whoever calls prepare should count.
#
# ## Silent failures, and the count that betrays them {#silent}
#
# Eight ways to lose some or all of the quantization, each carried on as far as it goes, with quantizers that refuse
# nothing. The first row is as it should be. Look at the numbers first, then at the causes below.
class Functional(nn.Module):
    """The same conv and relu, written as functions."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = model.conv.weight, model.conv.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(F.conv2d(x, self.weight, self.bias, padding=1))


class UnderNoGrad(nn.Module):
    """The same model, with `no_grad` inside forward."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


no_grad_inside = export_module(UnderNoGrad().eval(), (calibration[0],))
edited = copy.deepcopy(exported)
del edited.graph.find_nodes(op="call_function", target=aten.relu.default)[0].meta["val"]  # like a node made by hand
cases = [
    ("right", exported, ConvReluQuantizer()),
    ("`torch.ao` observers", exported, ConvReluQuantizer(old_activation, old_weight)),
    ("one `torch.ao` observer", exported, ConvReluQuantizer(weight=old_weight)),
    ("`set_global` forgotten", exported, X86InductorQuantizer()),
    ("decomposed graph", decomposed, ConvReluQuantizer()),
    ("`symbolic_trace`, functions", torch.fx.symbolic_trace(Functional().eval()), ConvReluQuantizer()),
    ("`symbolic_trace`, modules", torch.fx.symbolic_trace(model), ConvReluQuantizer()),
    ("`no_grad` inside forward", no_grad_inside, ConvReluQuantizer()),
    ('relu without `meta["val"]`', edited, ConvReluQuantizer()),
]
counts, results = [], []
for _, graph, quantizer in cases:
    case = prepare_pt2e(copy.deepcopy(graph), quantizer)
    counts.append(len(observers(case)))
    try:
        result = calibrate_and_convert(case)
        with torch.no_grad():
            results.append([len(q_dq(result)), sqnr(reference, result(test))])
    except AttributeError as error:
        results.append(["—", f"AttributeError: {error}"])
cells = [[nodes, f"{dB:.4g}" if isinstance(dB, float) else dB] for nodes, dB in results]
rows = [[label, count, *cell] for (label, *_), count, cell in zip(cases, counts, cells, strict=True)]
table(rows, ["case", "observers", "q/dq nodes", "SQNR (dB), or the error of convert"])
nothing = [0, float("inf")]
assert counts == [3, 0, 2, 0, 0, 0, 0, 0, 2]
assert [nodes for nodes, _ in results] == [5, 0, 4, 0, 0, 0, "—", 0, 3]
assert [results[i] for i in (1, 3, 4, 5, 7)] == [nothing] * 5
assert results[6][1] == "AttributeError: 'Conv2d' object has no attribute 'qconfig'"
assert min(results[2][1], results[8][1]) > results[0][1]

# %% zh:1b983ccd
# Prepare raised no error at all, convert raised one, and that one doesn't name the cause. An SQNR of `inf` means that
# the output equals the float model's: nothing was quantized. And where only a part is missing, the SQNR is *better*
# than it should be. So neither silence nor a good SQNR proves anything. The count of observers is wrong in every
# row but the first.
#
# - **`torch.ao` observers.** Prepare inserts them and calibration runs them. But convert knows torchao's classes only,
#   and leaves them standing. They even bear the usual names, `activation_post_process_0` and so on: count by class, not
#   by name. ([executorch PR 16473](https://github.com/pytorch/executorch/pull/16473) moved a shipped quantizer to
#   torchao's.) If just one spec is wrong, just that one is lost.
# - **`set_global` forgotten.** A shipped quantizer annotates only what it has a configuration for.
# - **Decomposed graph.** There is no `aten.conv2d` left in it ([M00-3](chapter:m00_3_decompositions)).
# - **`symbolic_trace`.** Its targets are Python functions and module paths, not ATen ops
#   ([M00-1](chapter:m00_1_export_and_aten#b2-three-styles)). Over the modules convert even stumbles, which is the
#   AttributeError above.
# - **`no_grad` inside forward.** Export puts that part into a subgraph of its own, so the graph has no conv. Take
#   `no_grad` out, or export under it as well. ([executorch#22069](https://github.com/pytorch/executorch/issues/22069);
#   [ao PR 4861](https://github.com/pytorch/ao/pull/4861), later than torchao 0.18.0, makes prepare refuse.)
# - **No `meta["val"]`.** Prepare observes an output only if `meta["val"]` says that it is a tensor. Nodes
#   [made by hand](chapter:m00_4_editing_graphs#no-meta) have none: copy it from the node that they replace.
#
# [pytorch#160095](https://github.com/pytorch/pytorch/issues/160095) is a report of this kind: a shipped quantizer, no
# error, nothing quantized. The less obvious of these claims, checked:
left = [node.target for node in calibrate_and_convert(prepare_pt2e(copy.deepcopy(exported), cases[1][2])).graph.nodes]
with torch.no_grad():
    no_grad_around = export_module(UnderNoGrad().eval(), (calibration[0],))
graphs = [no_grad_inside, no_grad_around]
targets = [[short(node.target) for node in gm.graph.nodes if node.op == "call_function"] for gm in graphs]
print(f"exported as usual: {targets[0]}, exported under no_grad: {targets[1]}")
assert [str(target).startswith("activation_post_process") for target in left].count(True) == 3
assert targets == [["wrap_with_set_grad_enabled", "getitem"], ["conv2d", "relu"]]
assert len(observers(prepare_pt2e(no_grad_around, ConvReluQuantizer()))) == 3
assert len(observers(prepare_pt2e(copy.deepcopy(edited), StrictQuantizer()))) == 2

# %% zh:5a62f8fc
# ## An assert to copy {#assert}
#
# Copy the function [`observers`](#end-to-end), and write one line after each prepare. Work out the number beforehand,
# from the annotations or from the model. "More than zero" is not enough: two of the cases had 2 instead of 3.
expected = 3  # the input, the weight, the output of the relu
assert len(observers(prepared)) == expected, f"{len(observers(prepared))} observers, not {expected}"


# %% zh:5038f7dc
# For a large model the number is hard to work out. There, ask op by op: which convs read an input or a weight that
# doesn't come from an observer? Keep the count beside it, for in a graph without any conv this list is empty, too.
def unobserved(prepared: torch.fx.GraphModule, target: torch._ops.OpOverload) -> list[str]:
    """The nodes with this target whose first two inputs don't both come from an observer."""
    modules = dict(prepared.named_modules(remove_duplicate=False))
    nodes = prepared.graph.find_nodes(op="call_function", target=target)
    return [n.name for n in nodes if not all(isinstance(modules.get(a.target), ObserverBase) for a in n.args[:2])]


residual = prepare_pt2e(export_module(get_model("residual").eval(), example_inputs()), ConvReluQuantizer())
without_conv = prepare_pt2e(copy.deepcopy(decomposed), ConvReluQuantizer())
graphs = {"conv_relu": prepared, "residual": residual, "conv_relu, decomposed": without_conv}
rows = [[name, str(unobserved(gm, aten.conv2d.default)), len(observers(gm))] for name, gm in graphs.items()]
table(rows, ["model", "convs not observed", "observers"])
assert [row[1:] for row in rows] == [["[]", 3], ["['conv2d_1']", 3], ["[]", 0]]

# %% zh:90e20b13
# In `residual`, an add follows the second conv, not a relu, so our quantizer leaves that conv in float: just as we
# wrote it. Whether you meant it, no program can tell; but now you see it.
#
# ## Summary: four points {#summary}
#
# 1. A quantizer is a subclass of `Quantizer` with `annotate` and `validate`. `annotate` finds nodes by `node.target`
#    and writes a `QuantizationAnnotation` into their `meta`. The rest is done by prepare.
# 2. Annotate around what the backend computes in one kernel, never inside.
# 3. In `validate`, refuse a graph without a match and specs that can't work, with a message that says what to do.
# 4. A quantizer that finds nothing raises no error. Count the observers, by class, after every prepare.
#
# Next, [M03-2](chapter:m03_2_specs): specs that share a scale, derive it, or fix it in advance.
