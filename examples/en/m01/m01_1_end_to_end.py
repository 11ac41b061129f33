# zh:3385025a
"""
# M01-1 | End to end: from export to convert

On this page a float model becomes an int8 one: export, prepare, calibrate and convert, all four of them run here.
Afterwards you will be able to

- write the four steps yourself, and say what each of them changes in the graph;
- measure by SQNR how far the quantized model is from the float one;
- recognize what shows only afterwards: a fixed batch, a forgotten calibration, a model that is no faster;
- put right an import error, or a call that was refused.

Everything is as on a CPU with torch 2.13.0 and torchao 0.18.0. [M00-1](chapter:m00_1_export_and_aten) says how to read
a graph. After these four steps comes a fifth, lower: the [overview](chapter:m01) has all five on one page.
"""

# %% zh:a5eaf609
# ## The model and the data {#start}
#
# PT2E is part of torchao, no longer of torch ([import paths](#imports)). The quantizer, the object that decides what
# gets quantized, is `X86InductorQuantizer`: it comes with torchao, and since all it does in these steps is to write its
# wishes on the graph, it works on any CPU.
import copy
import warnings

import torch
from torch.export import Dim, export
from torch.fx.passes.shape_prop import ShapeProp

from common.graph_utils import short
from common.models import get_model
from common.pt2e import quiet, sqnr
from common.viz import draw_stages, table

quiet()  # before torchao is imported; it hides none of the warnings that this page is about
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)

torch.set_num_threads(1)

# %% zh:ab4f9519
# The model is `conv_bn_relu` (conv → bn → relu): one conv, so that every step stays easy to see. The data are five
# random batches of 8: four for calibration, the last one kept for testing. Weights and data are random, so the numbers
# stand for this example only; the steps are those of any model.
model = get_model("conv_bn_relu").eval()
data = torch.randn(5, 8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
calibration, test = data[:4], data[4]
with torch.no_grad():
    reference = model(test)  # of the float model, [8, 8, 16, 16]: what we compare with

# %% zh:04e049c7
# ## Step 1: export, with a dynamic batch {#export}
#
# Every later step edits this graph, so what is fixed in it stays fixed, the batch included. `Dim` leaves the batch open
# ([M00-1](chapter:m00_1_export_and_aten#a4-example-batch)); `common.pt2e.export_module()` does the same.
exported = export(model, (calibration[0],), dynamic_shapes=({0: Dim("batch")},)).module()
x = exported.graph.find_nodes(op="placeholder")[0]
with torch.no_grad():
    assert torch.equal(exported(test), reference)
assert isinstance(x.meta["val"].shape[0], torch.SymInt)

# %% zh:b98f40ba
# ## Step 2: prepare, which inserts observers {#prepare}
#
# `prepare_pt2e` first has the quantizer annotate the graph, then inserts observers (modules that record the range of
# values) as annotated. We take the default configuration; [M01-2](chapter:m01_2_annotations) looks at the annotations
# themselves. Which tensors will be observed?
quantizer = X86InductorQuantizer()
quantizer.set_global(get_default_x86_inductor_quantization_config())
to_prepare = copy.deepcopy(exported)
prepared = prepare_pt2e(to_prepare, quantizer)
untouched = copy.deepcopy(prepared)  # the next step changes prepared


def observers(gm: torch.fx.GraphModule) -> dict[str, ObserverBase]:
    """The observers of a graph, by the name of the node that each one observes."""
    calls = gm.graph.find_nodes(op="call_module")
    found = [(node.args[0].name, gm.get_submodule(node.target)) for node in calls]
    return {name: module for name, module in found if isinstance(module, ObserverBase)}


rows = [[name, type(o).__name__, str(o.dtype), str(o.qscheme)] for name, o in observers(prepared).items()]
table(rows, ["observed", "observer", "dtype", "qscheme"])
assert rows == [
    ["conv_weight", "PerChannelMinMaxObserver", "torch.int8", "torch.per_channel_symmetric"],
    ["x", "HistogramObserver", "torch.uint8", "torch.per_tensor_affine"],
]
assert prepared is not to_prepare and prepared.graph is to_prepare.graph
with torch.no_grad():
    assert (copy.deepcopy(prepared)(test) - reference).abs().max() < 1e-5

# %% zh:9e7a8766
# - The weight is to become int8, each output channel on its own (per-channel); the input `x` is to become uint8, as one
#   tensor (per-tensor). What symmetric and affine mean, [M01-3](chapter:m01_3_the_arithmetic) computes by hand.
# - The output has no observer: the quantizer didn't ask for one, so the output stays in float.
# - Observers look and change nothing. Prepare also folds `batch_norm` into the weight and bias of the conv
#   ([M02-1](chapter:m02_1_from_annotation_to_observer)); even so, the output is within 1e-5 of the float model's.
# - Prepare works *in place*: the `GraphModule` that it returns is new, but its `graph` is the very one that you passed.
#   To keep the graph from before, `deepcopy` it first.
#
# ## Step 3: calibrate, which feeds the observers {#calibrate}
#
# Calibration is running `prepared` on representative data. It needs no labels and no gradients. What the observers saw:
with torch.no_grad():
    for batch in calibration:
        prepared(batch)
calibrated = copy.deepcopy(prepared)  # for the figure below
seen = observers(calibrated)
print(f"x: {seen['x'].min_val:.4g} … {seen['x'].max_val:.4g}")
print(f"conv_weight: {len(seen['conv_weight'].min_val)} channels, each with a range of its own")
assert (seen["x"].min_val, seen["x"].max_val) == (calibration.min(), calibration.max())
assert torch.equal(seen["conv_weight"].max_val, calibrated.conv.weight.amax((1, 2, 3)))
assert observers(untouched)["x"].min_val.isinf() and not observers(untouched)["conv_weight"].min_val.numel()

# %% zh:e7a1fa4b
# The range of `x` is the smallest and the largest value of the four batches. The weight isn't data, but its observer,
# too, sees it for the first time now. So when calibration is skipped, even the weight goes wrong ([we try it
# below](#no-calibration)).
#
# ## Step 4: convert, which puts quantize and dequantize in their place {#convert}
#
# `convert_pt2e` replaces the observers by quantize (from float to integer) and dequantize (back to float), in short
# q/dq. Two numbers say how: the scale is what one integer step is worth, the zero point is the integer that stands for
# float 0. The observers compute both. Where in the graph are they kept?
converted = convert_pt2e(prepared)
nodes = {node.name: node for node in converted.graph.nodes}
q, dq = nodes["quantize_per_tensor_default"], nodes["dequantize_per_tensor_default"]
frozen, scales = converted.get_buffer("_frozen_param0"), converted.get_buffer("_scale_0")
scale, zero_point = q.args[1:3]
rows = [
    ["x", "uint8", f"{scale:.4g}", zero_point, "args of `quantize` and `dequantize`"],
    ["weight", "int8", f"{scales.min():.4g} … {scales.max():.4g} ({len(scales)})", 0, "buffer, read by `get_attr`"],
]
table(rows, ["tensor", "dtype", "scale", "zero point", "kept in"])
assert converted.graph is prepared.graph
assert (type(scale), type(zero_point)) == (float, int)
assert zero_point == 134 and abs(scale - 0.03244) < 1e-5 and scale * 255 < calibration.max() - calibration.min()
assert q.args[1:] == dq.args[1:] and dq.args[0] is q
assert (frozen.dtype, frozen.shape, scales.shape) == (torch.int8, (8, 3, 3, 3), (8,))
assert not converted.get_buffer("_zero_point_0").any()
assert [node.op for node in nodes["dequantize_per_channel_default"].all_input_nodes] == ["get_attr"] * 3

# %% zh:6e8a8b8a
# - The weight became int8 within convert (the buffer `_frozen_param0`), so only its dequantize is left to run; `x` is
#   quantized and dequantized in every run. [M02-3](chapter:m02_3_convert_by_hand) does all this by hand.
# - The 255 steps of `x` together are a little narrower than its range: `HistogramObserver` would rather cut off a few
#   extremes than make all other values coarser ([M04-1](chapter:m04_1_observers)).
#
# ## Four stages in one figure {#four-stages}
#
# Now the four stages side by side; a node that persists stands at the same place in each. Look at three things:
#
# 1. From 1 to 2, `batch_norm` goes, and an observer appears on each of the two input edges of conv. They have no range
#    yet, which is written [—, —].
# 2. From 2 to 3, the graph is the same, but the state of the observers has changed. Calibration works in place, too,
#    hence the `deepcopy` at each stage.
# 3. From 3 to 4, q/dq stand where the observers stood, with s (scale) and z (zero point). 8-bit values take thick
#    lines.
stages = [(exported, "exported"), (untouched, "prepared"), (calibrated, "calibrated"), (converted, "converted")]
draw_stages(stages, title="Observers appear, record ranges, and make way for q/dq; conv2d is there throughout")
operations = [[short(n.target) for n in gm.graph.nodes if n.op == "call_function"] for gm, _ in stages]
assert operations[0] == ["conv2d", "batch_norm", "relu"]
assert operations[1] == operations[2] == ["conv2d", "relu"]
assert operations[3][:3] == ["dequantize_per_channel", "quantize_per_tensor", "dequantize_per_tensor"]
assert operations[3][3:] == operations[2]
assert [len(observers(gm)) for gm, _ in stages] == [0, 2, 2, 0]

# %% zh:a0cc05be
# ## How far off? SQNR {#sqnr}
#
# SQNR is the ratio of signal to quantization noise in dB; larger is better: `20 · log10(‖y‖ / ‖y − q‖)`, where `y` is
# the output of the float model and `q` that of the quantized one. With 20 dB more, the noise is a tenth. We measure on
# the batch that calibration has not seen, and take other batch sizes while we are at it.
with torch.no_grad():
    outputs = {batch: converted(test[:batch]) for batch in (1, 2, 5, 8)}
noise = {batch: sqnr(reference[:batch], output) for batch, output in outputs.items()}
rows = [[batch, list(outputs[batch].shape), f"{dB:.4g}"] for batch, dB in noise.items()]
table(rows, ["batch", "shape of the output", "SQNR (dB)"])
print(f"noise, as a part of the signal: {10 ** (-noise[8] / 20):.2%}")
assert [output.shape[0] for output in outputs.values()] == [1, 2, 5, 8]
assert all(39 < dB < 41 for dB in noise.values()) and round(noise[8], 1) == 40.1

# %% zh:864c0731
# Any batch will do, and all of them are near 40 dB: the noise is about one percent of the signal. What to do when the
# SQNR is too low is the subject of [M04](chapter:m04).
#
# ### If the export didn't leave the batch open {#static-batch}
#
# The same four steps, but without `dynamic_shapes`. As long as calibration uses the batch size of the example, all goes
# well, until another batch comes:
static = prepare_pt2e(export(model, (calibration[0],)).module(), quantizer)
with torch.no_grad():
    static(calibration[0])
    static = convert_pt2e(static)
    static(test)  # a batch of 8, as in the example
try:
    static(test[:5])
except AssertionError as error:
    refused = f"AssertionError: {error}"
print(refused)
assert refused == "AssertionError: Guard failed: x.size()[0] == 8"

# %% zh:47384c04
# A batch of 8 passes, one of 5 is refused by the check inside the graph
# ([`_guards_fn`](chapter:m00_1_export_and_aten#a2-guards-fn)). Too late to mend: begin again with export. (The batch
# was fixed in [pytorch#96274](https://github.com/pytorch/pytorch/issues/96274), too, by an early export and the
# compiler.)
#
# ## Calibration forgotten: no error, only warnings {#no-calibration}
#
# Convert right after prepare, and collect the warnings on the way:
forgotten = prepare_pt2e(copy.deepcopy(exported), quantizer)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    skipped = convert_pt2e(forgotten)
messages = [" ".join(str(warning.message).split()) for warning in caught]
print(*messages, sep="\n")
draw_stages([(converted, "calibrated"), (skipped, "not calibrated")], title="No calibration: same graph, wrong s and z")
assert messages == [
    "must run observer before calling calculate_qparams. Returning default values.",
    "must run observer before calling calculate_qparams. Returning default scale and zero point",
]
assert [n.name for n in skipped.graph.nodes] == [n.name for n in converted.graph.nodes]
empty = {node.name: node for node in skipped.graph.nodes}["quantize_per_tensor_default"]
assert empty.args[1:3] == (1.0, 0)
assert (skipped.get_buffer("_scale_0").tolist(), skipped.get_buffer("_zero_point_0").tolist()) == ([1.0], [0])

# %% zh:47e7dfc5
# Convert succeeds, and the structure of the graph is perfectly right. Each of the two observers warns once, and nothing
# later on reminds you. How to tell: every scale is 1, every zero point 0, and there is a single per-channel scale (its
# shape is [1]), not one a channel. [pytorch#126189](https://github.com/pytorch/pytorch/issues/126189) reports this last
# sign, and its code has no calibration either.
#
# !!! question "Which int8 values does the weight get? What does the model return, and at how many dB?"
#     With scale 1 and zero point 0, quantize only rounds to the nearest integer and clamps to the range. The range of
#     the weight is in the [figure of the four stages](#four-stages). Think first, then open the answer.

# %% answer zh:f891e336
# All weights are smaller than 0.5 in magnitude, so they all become 0. In this model the folded bias is 0, too, so conv
# returns 0, and relu leaves it at 0. When all of the output is 0, the noise is as large as the signal: exactly 0 dB.
weight = skipped.get_buffer("_frozen_param0")
with torch.no_grad():
    output = skipped(test)
print(f"int8 weight: {weight.unique().tolist()}, output: {output.unique().tolist()}, {sqnr(reference, output)} dB")
assert calibrated.conv.weight.abs().max() < 0.5 and not calibrated.conv.weight_bias.any()
assert weight.unique().tolist() == [0] and weight.numel() == 216
assert output.unique().tolist() == [0.0] and sqnr(reference, output) == 0.0

# %% zh:bda3ab02
# ### Make it an error {#warning-as-error}
#
# In code of your own, turn this one warning into an error, and convert stops:
with warnings.catch_warnings():
    warnings.filterwarnings("error", message="must run observer")
    try:
        convert_pt2e(prepare_pt2e(copy.deepcopy(exported), quantizer))
    except UserWarning as warning:
        stopped = f"{type(warning).__name__}: {warning}"
print(stopped)
assert stopped == f"UserWarning: {messages[0]}"

# %% zh:3b90045d
# ## q/dq is a description, not a speed-up {#not-faster}
#
# Who times `converted` will find it slower than the float model, in one report [more than ten times
# slower](https://discuss.pytorch.org/t/significant-slowdown-in-inference-speed-with-quantized-model-in-pytorch-2-1-pt2e/194537).
# We don't need a clock to see why. `ShapeProp` runs a graph and notes the dtype of every node's output. What does
# conv2d get?
with torch.no_grad():
    ShapeProp(converted).propagate(test)


def dtype(node: torch.fx.Node) -> str:
    """The dtype of a node's output when the graph ran."""
    return str(node.meta["tensor_meta"].dtype).removeprefix("torch.")


calls = [node for node in converted.graph.nodes if node.op == "call_function"]
rows = [[short(node.target), ", ".join(map(dtype, node.all_input_nodes)), dtype(node)] for node in calls]
table(rows, ["op", "dtypes of the inputs", "dtype of the output"])
(conv,) = converted.graph.find_nodes(op="call_function", target=torch.ops.aten.conv2d.default)
assert [dtype(node) for node in conv.all_input_nodes] == ["float32"] * 3 and dtype(conv) == "float32"
assert [short(node.target) for node in conv.all_input_nodes[:2]] == ["dequantize_per_tensor", "dequantize_per_channel"]
assert (len(operations[1]), len(calls)) == (2, 5)
assert converted.conv.weight.dtype == torch.float32

# %% zh:4e6dcd47
# conv2d is the same `aten.conv2d.default` as before, and all three of its inputs are float32: before an 8-bit value
# gets to the conv, dequantize has turned it back. So in eager mode this graph does all the work of the float conv and
# relu, and three conversions besides; there is no reason for it to be faster. It is a *description* for a backend,
# whoever runs the model in the end: "this conv may be computed in int8, with these scales and zero points".
#
# Turning the description into int8 kernels is the fifth step, lower: [M06-1](chapter:m06_1_what_lowering_does) writes a
# small one, [M06-2](chapter:m06_2_x86_inductor) uses Inductor, [M07-2](chapter:m07_2_is_it_faster) times it. Nor is the
# file smaller yet: the float32 weight is still in the module ([M02-3](chapter:m02_3_convert_by_hand)).
#
# ## Import errors: PT2E has moved to torchao {#imports}
#
# Most examples on the web say `torch.ao`. Those PT2E paths have been removed from torch
# ([pytorch#157591](https://github.com/pytorch/pytorch/issues/157591);
# [Quark#34](https://github.com/amd/Quark/issues/34) met it with torch 2.11), and the new ones in torchao are not always
# where you would guess. Here both the old and the new lines are run:
moved = {
    "from torch.ao.quantization.quantize_pt2e import prepare_pt2e": "torchao.quantization.pt2e.quantize_pt2e",
    "from torchao.quantization.pt2e import prepare_pt2e": "torchao.quantization.pt2e.quantize_pt2e",
    "from torch.ao.quantization.quantizer import XNNPACKQuantizer": "torchao.testing.pt2e._xnnpack_quantizer",
    "from torchao.quantization.pt2e.quantizer import XNNPACKQuantizer": "torchao.testing.pt2e._xnnpack_quantizer",
    "from torch._export import capture_pre_autograd_graph": "torch.export",
    "from torch.export import export_for_training": "torch.export",
}
rows = []
for old, module in moved.items():
    new = f"from {module} import {'export' if module == 'torch.export' else old.split()[-1]}"
    exec(new, {})
    try:
        exec(old, {})
    except ImportError as error:
        reason = str(error).partition(" (")[0]  # what follows in brackets is a path of this machine
        rows.append([f"`{old}`", f"{type(error).__name__}: {reason}", f"`{new}`"])
table(rows, ["old", "error", "new"])
assert [reason for _, reason, _ in rows] == [
    "ModuleNotFoundError: No module named 'torch.ao.quantization.quantize_pt2e'",
    "ImportError: cannot import name 'prepare_pt2e' from 'torchao.quantization.pt2e'",
    "ModuleNotFoundError: No module named 'torch.ao.quantization.quantizer'",
    "ImportError: cannot import name 'XNNPACKQuantizer' from 'torchao.quantization.pt2e.quantizer'",
    "ImportError: cannot import name 'capture_pre_autograd_graph' from 'torch._export'",
    "ImportError: cannot import name 'export_for_training' from 'torch.export'",
]
assert "from torchao.quantization.pt2e.quantizer import ( XNNPACKQuantizer," in " ".join(prepare_pt2e.__doc__.split())

# %% zh:c14187a8
# - The third row is that of [pytorch#128114](https://github.com/pytorch/pytorch/issues/128114). Then only the name was
#   missing; now the whole module is.
# - The fourth row comes from the docstring of `prepare_pt2e` itself (the last assert), and doesn't run either.
# - The XNNPACKQuantizer of `torchao.testing` is a copy for tests, the supported one is part of ExecuTorch; which to
#   take is in [M03-4](chapter:m03_4_shipped_quantizers).
#
# ## What wrong calls say {#errors}
#
# Each is run once, and we keep the first line of its message. `ep` is the `ExportedProgram`, `gm` is `ep.module()`:
program = export(model, (calibration[0],))
attempts = {
    "prepare_pt2e(ep, quantizer)": lambda: prepare_pt2e(program, quantizer),
    "prepare_pt2e(ep.graph_module, quantizer)": lambda: prepare_pt2e(program.graph_module, quantizer),
    "prepare_pt2e(gm, X86InductorQuantizer)": lambda: prepare_pt2e(copy.deepcopy(exported), X86InductorQuantizer),
    "convert_pt2e(gm)": lambda: convert_pt2e(copy.deepcopy(exported)),
    "prepared.eval()": lambda: prepared.eval(),
}
fixes = ["pass `ep.module()`", "pass `ep.module()`", "pass an instance", "prepare first", "`.eval()` before export"]
errors = []
for attempt in attempts.values():
    try:
        attempt()
    except Exception as error:
        errors.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
table(zip([f"`{call}`" for call in attempts], errors, fixes, strict=True), ["call", "message", "what to do"])
assert errors == [
    "AttributeError: 'ExportedProgram' object has no attribute 'meta'",
    "ValueError: Expected get_attr node, got placeholder. "
    "If working with an ExportedProgram, make sure you are using .module()",
    "TypeError: Quantizer.transform_for_annotation() missing 1 required positional argument: 'model'",
    "AssertionError: incoming model must be produced by prepare_fx",
    "NotImplementedError: Calling train() or eval() is not supported for exported models.",
]

idle = prepare_pt2e(copy.deepcopy(exported), X86InductorQuantizer())
print(f"quantizer without set_global: no message, observers: {len(observers(idle))}")
assert len(observers(idle)) == 0

# %% zh:12268ed3
# Only the second one says outright what to do. The fifth often comes from a calibration function; the mode, however,
# was settled at export ([M00-2](chapter:m00_2_eval_or_train)). And the case that was printed last has no message at
# all: a quantizer that nobody configured annotates nothing. So count the observers after prepare, before you go on
# ([M03-1](chapter:m03_1_a_quantizer_from_scratch)).
#
# ## Summary: four points {#summary}
#
# 1. Four steps: export with a dynamic batch, prepare inserts observers, calibration records ranges, convert puts q/dq
#    in their place. The last three work in place.
# 2. The scale and zero point of a per-tensor q/dq are in its args, those of a per-channel one are buffers. The weight
#    is int8 from convert on.
# 3. A forgotten calibration raises no error: scales of 1, weights of 0, an SQNR of 0 dB. Measure the SQNR once, or make
#    the warning an error.
# 4. What you get is a description, and still computes in float. To be faster, it must be lowered.
#
# Next, [M01-2](chapter:m01_2_annotations): what the quantizer wrote on the graph before there were any observers.
