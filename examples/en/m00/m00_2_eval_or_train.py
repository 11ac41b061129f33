# zh:dee2be73
"""
# M00-2 | Decide before you export: eval or train

A model in eager mode can be switched between training and inference at any time. An exported graph can't: export runs
the model in the mode that it is in, and writes down what happened. After this page you can

- choose the mode before the export, by what the graph is for;
- tell from a graph in which mode it was exported;
- recognize what goes wrong otherwise, by an error message or, where there is none, by a number.

Messages and faults are those of torch 2.13.0 and torchao 0.18.0 on a CPU. How to read an exported graph is in
[M00-1](chapter:m00_1_export_and_aten).
"""

# %% zh:b4632c5b
# First the set-up. What comes from torchao is explained where it is used.
import copy

import torch
import torch.nn as nn
from torch.export import export

from common.graph_utils import short
from common.models import ConvBnReLU, example_inputs
from common.pt2e import quiet, sqnr
from common.viz import draw_stages, table

quiet()
import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86
from torchao.quantization import pt2e
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

torch.set_num_threads(1)
_ = torch.manual_seed(0)


# %% zh:07e4123d
# The model is the conv → bn → relu of M00-1 with a dropout behind it: batch normalization (BN) and dropout are the two
# common layers that depend on the mode. 50 batches in train mode stand in for a training, so that BN has statistics of
# its inputs. `reference` is what the eager model computes in eval mode: the output that inference should have.
class ConvBnReLUDropout(ConvBnReLU):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.25)

    def forward(self, x):
        return self.dropout(super().forward(x))


ex = example_inputs()  # a batch of 2 images
model = ConvBnReLUDropout()
with torch.no_grad():
    for _ in range(50):
        model(torch.randn(16, 3, 16, 16))
    reference = copy.deepcopy(model).eval()(*ex)


# %% zh:09f34c0c
# ## Two exports of one model {#two-exports}
#
# The model is exported in eval mode and in train mode, each time as a copy (the reason comes [below](#shared-buffers)).
# Look for what is marked in the second graph: one node is new (+), two have changed arguments (△).
def exported(training):
    """The export of a copy of the model, in train or eval mode."""
    return export(copy.deepcopy(model).train(training), ex).module()


eval_gm, train_gm = exported(training=False), exported(training=True)
stages = [(eval_gm, ".eval(), then export"), (train_gm, ".train(), then export")]
draw_stages(stages, title="The mode leaves one node and two arguments in the graph")


# %% zh:85784a3d
# Which arguments? The schema of an op ([M00-1](chapter:m00_1_export_and_aten#b1-reading-op-names)) names them: that of
# BN has `training`, that of dropout has `train`. `mode_args` looks both up in a graph.
def ops(gm):
    """The operations of a graph by short name, in order."""
    return [short(node.target) for node in gm.graph.nodes if node.op == "call_function"]


def mode_args(gm):
    """The value of each argument named `training` or `train`, by the short name of its op."""
    return {
        short(node.target): value
        for node in gm.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
        for argument, value in zip(node.target._schema.arguments, node.args, strict=False)
        if argument.name in ("training", "train")
    }


rows = [[label, " → ".join(ops(gm)), f"`{mode_args(gm)}`", gm.training] for gm, label in stages]
table(rows, ["graph", "operations", "mode arguments", "`gm.training`"])
assert ops(eval_gm) == ["conv2d", "batch_norm", "relu", "dropout"]
assert ops(train_gm) == ["conv2d", "add_", "batch_norm", "relu", "dropout"]
assert mode_args(eval_gm) == {"batch_norm": False, "dropout": False}
assert mode_args(train_gm) == {"batch_norm": True, "dropout": True}
assert torch.equal(torch.ops.aten.dropout.default(ex[0], 0.25, False), ex[0])
assert (eval_gm.training, train_gm.training) == (True, True)

# %% zh:ad18d320
# - **BN** with `training=False` computes with the stored `running_mean` and `running_var`. With True, it takes the mean
#   and variance of the batch at hand, and moves the stored ones towards them.
# - **Dropout** stays in the eval graph: with `train=False` it returns its input. Export simplifies nothing here.
# - **The flag `gm.training` says nothing.** It is True for both: a new module starts with it, and no node reads it. The
#   mode of a graph is written in its arguments, where `mode_args` reads it.
#
# ## Who uses num_batches_tracked {#num-batches-tracked}
#
# In M00-1, which exported in eval mode, nobody used this buffer. Who does in train mode, who uses *that* node, and is
# the buffer still read after `eliminate_dead_code()`, which removes nodes without users?
counters = [gm.graph.find_nodes(op="get_attr", target="bn.num_batches_tracked")[0] for gm in (eval_gm, train_gm)]
(add_,) = counters[1].users
cleaned = [copy.deepcopy(gm) for gm in (eval_gm, train_gm)]
for gm in cleaned:
    gm.graph.eliminate_dead_code()
left = [len(gm.graph.find_nodes(op="get_attr", target="bn.num_batches_tracked")) for gm in cleaned]
print(f"users of the buffer: eval {list(counters[0].users)}, train {list(counters[1].users)}")
print(f"{add_.target}: args {add_.args}, users {list(add_.users)}, impure: {add_.is_impure()}")
print(f"nodes that read the buffer afterwards: eval {left[0]}, train {left[1]}")
assert (list(counters[0].users), list(counters[1].users), left) == ([], [add_], [0, 1])
assert (add_.target, add_.args) == (torch.ops.aten.add_.Tensor, (counters[1], 1))
assert (list(add_.users), add_.is_impure(), ops(cleaned[1])) == ([], True, ops(train_gm))

# %% zh:3c95a520
# The one user is `add_`, which counts the batch by writing into the buffer. Nobody uses `add_` in turn, and yet it
# stays: it is impure, that is, run for its effect ([M00-4](chapter:m00_4_editing_graphs#impure-nodes) has the rule).
# The output doesn't depend on the count. (Only a BN with `momentum=None` reads it, to average over all batches:
# [BatchNorm2d](https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html).)
#
# ## Exporting changes nothing, calling does {#shared-buffers}
#
# Export runs the model. Does that move the statistics of its BN? And when the exported graph is called, whose
# statistics move? The last number is an SQNR: by how many dB the signal exceeds the error; larger is better, and equal
# outputs have `inf`. It compares the *eager* model in eval mode before and after its train export has seen 21 batches.
eager = copy.deepcopy(model).train()
before = copy.deepcopy(eager.state_dict())
gm = export(eager, ex).module()
by_export = [name for name, tensor in eager.state_dict().items() if not torch.equal(tensor, before[name])]
with torch.no_grad():
    gm(*ex)
    by_call = [name for name, tensor in eager.state_dict().items() if not torch.equal(tensor, before[name])]
    for _ in range(20):
        gm(3 * ex[0])
    drifted = sqnr(reference, eager.eval()(*ex))
print(f"changed in the eager model by the export: {by_export}", f"by one call of gm: {by_call}", sep="\n")
print(f"eager model, before against after: {drifted:.4g} dB")
assert by_export == []
assert by_call == ["bn.running_mean", "bn.running_var", "bn.num_batches_tracked"]
assert gm.get_buffer("bn.running_mean") is eager.bn.running_mean
assert gm.get_parameter("conv.weight") is eager.conv.weight
assert train_gm.get_buffer("bn.running_mean") is not model.bn.running_mean
assert drifted < 5

# %% zh:1f647021
# The exported module holds no copies but the very tensors of the eager model. So calling a train export trains BN
# further, and ruins a model that you believe safe in another variable. If the two must be independent, export a
# copy, as `exported` does: `export(copy.deepcopy(model), ex)`.
#
# ## Forgetting .eval(): no error, a wrong output {#forgot-eval}
#
# A new model is in train mode, so forgetting is easy. The output has the right shape, and nothing warns. Three numbers
# betray it; look at the second row:
#
# - the difference between two calls with the same input;
# - the difference for *one* image when only its neighbour in the batch is another (with the same dropout mask, so that
#   what remains is BN's);
# - how far the counter moves, which has to stand still in inference.
neighbour = torch.cat([ex[0][:1], torch.randn(1, 3, 16, 16)])  # the same first image
rows = []
with torch.no_grad():
    for gm, label in stages:
        counter = gm.get_buffer("bn.num_batches_tracked")
        start, outputs = counter.item(), [gm(*ex), gm(*ex)]
        for images in (*ex, neighbour):
            _ = torch.manual_seed(0)  # the same dropout mask
            outputs.append(gm(images))
        repeated = (outputs[0] - outputs[1]).abs().max().item()
        exchanged = (outputs[2][0] - outputs[3][0]).abs().max().item()
        rows.append([label, repeated, exchanged, counter.item() - start, sqnr(reference, outputs[0])])
shown = [[label, *(f"{number:.4g}" for number in numbers)] for label, *numbers in rows]
table(shown, ["graph", "same input twice", "other neighbour", "counted in 4 calls", "SQNR (dB)"])
assert rows[0][1:] == [0.0, 0.0, 0, float("inf")]
assert rows[1][1] > 1 and rows[1][2] > 0.1
assert rows[1][3] == 4
assert rows[1][4] < 10


# %% zh:d6ecc0f8
# The eval export equals the eager model to the last bit, and an image has one output, whatever else is in its batch.
# The train export has neither. So compare every export with the eager model in eval mode before you go on.
#
# ## .eval() after the export: NotImplementedError {#eval-raises}
#
# Can the mode be changed afterwards? The last row is what a trainer meets that wraps the module and switches the
# wrapper.
def refusal(call):
    """The error that `call()` raises, with the first line of its text; None if it raises none."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"


refusals = [refusal(call) for call in (train_gm.eval, train_gm.train, nn.Sequential(train_gm).eval)]
calls = ["`gm.eval()`", "`gm.train()`", "`nn.Sequential(gm).eval()`"]
table(list(zip(calls, refusals, strict=True)), ["call", "error"])
assert refusals == [
    "NotImplementedError: Calling eval() is not supported yet.",
    "NotImplementedError: Calling train() is not supported yet.",
    "NotImplementedError: Calling train() is not supported yet.",
]

# %% zh:f33a11fd
# This is on purpose: a call that did nothing would only look as if it had switched. The advice in
# [pytorch#151726](https://github.com/pytorch/pytorch/issues/151726) is to export each mode that you need.
#
# ### Three ways around the error, none of which switches {#silent-noop}
#
# The first happens by accident, the third is a workaround from that issue. Look at the flag, then at the arguments.
copied, flagged, patched = copy.deepcopy(train_gm).eval(), exported(training=True), exported(training=True)
flagged.training = False
patched.eval = nn.Module().eval
patched.eval()
ways = ["`copy.deepcopy(gm).eval()`", "`gm.training = False`", "`gm.eval = nn.Module().eval; gm.eval()`"]
modules = [copied, flagged, patched]
rows = [[way, gm.training, f"`{mode_args(gm)}`"] for way, gm in zip(ways, modules, strict=True)]
table(rows, ["what was done", "`gm.training`", "mode arguments"])
assert [gm.training for gm in modules] == [False, False, True]
assert [mode_args(gm) for gm in modules] == [{"batch_norm": True, "dropout": True}] * 3
assert not torch.equal(copied(*ex), copied(*ex))

# %% zh:d0692062
# The methods that raise sit on that one object. `copy.deepcopy` makes a new one without them, and the `eval()` of
# `nn.Module` is back: it sets the flag that no node reads. The third way switches the module that the method was taken
# from. All three still compute in train mode, and now nothing says so.
#
# ## torchao's helpers: BN and dropout, no more {#helpers}
#
# `move_exported_model_to_eval`, made for cases such as
# [pytorch#103681](https://github.com/pytorch/pytorch/issues/103681), edits the graph in place: it replaces BN and
# dropout by their other mode. What of the moved graph is not as in the eval export?
moved = pt2e.move_exported_model_to_eval(exported(training=True))


def dropout_p(gm):
    """The probability `p` of the one dropout in a graph."""
    return gm.graph.find_nodes(op="call_function", target=torch.ops.aten.dropout.default)[0].args[1]


graphs = {"eval export": eval_gm, "train export": train_gm, "train export, moved": moved}
rows = [[label, f"`{mode_args(gm)}`", dropout_p(gm), "add_" in ops(gm)] for label, gm in graphs.items()]
table(rows, ["graph", "mode arguments", "`p` of dropout", "has `add_`"])
with torch.no_grad():
    assert torch.equal(moved(*ex), reference)
assert mode_args(moved) == mode_args(eval_gm)
assert [row[2:] for row in rows] == [[0.25, False], [0.25, True], [0.5, True]]
assert refusal(moved.eval) == "NotImplementedError: Calling eval() is not supported yet."


# %% zh:a8c2595b
# The output is right. But `add_` goes on counting, and `p` was reset from 0.25 to the helper's own 0.5, which matters
# once the graph is moved back to train. [ao#2980](https://github.com/pytorch/ao/issues/2980) and
# [ao#4107](https://github.com/pytorch/ao/issues/4107) report the same of `eps` and `momentum` of BN, and
# [M05-2](chapter:m05_2_qat_graphs) shows it. Whatever else depends on the mode stays as it was, without a word. Look at
# the second row:
class OtherModes(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout2d(0.25)

    def forward(self, x):
        x = self.dropout(x)
        return x + 1 if self.training else x


right = export(OtherModes().eval(), ex).module()
stuck = pt2e.move_exported_model_to_eval(export(OtherModes().train(), ex).module())
graphs = {"eval export": right, "train export, moved": stuck}
rows = [[label, " → ".join(ops(gm)), f"`{mode_args(gm)}`"] for label, gm in graphs.items()]
table(rows, ["graph of `OtherModes`", "operations", "mode arguments"])
assert torch.equal(right(*ex), ex[0])
assert (ops(stuck), mode_args(stuck)) == (["feature_dropout", "add"], {"feature_dropout": True})

# %% zh:752d5095
# `nn.Dropout2d` is another op and keeps dropping channels. Of `if self.training:` the graph has only the branch that
# was taken, and no helper can bring back the other.
#
# ### allow_exported_model_train_eval {#allow}
#
# It makes `.eval()` and `.train()` work again, from a wrapper, too, by calling the `move_…` helpers; so it has their
# limits. And a copy loses these methods as well:
allowed = pt2e.allow_exported_model_train_eval(exported(training=True))
lost = copy.deepcopy(allowed).eval()
switched = []
for switch in (allowed.eval, allowed.train, nn.Sequential(allowed).eval):
    switch()
    switched.append(mode_args(allowed))
print(f"eval, train, eval of a wrapper: {[arguments['dropout'] for arguments in switched]}; copy: {mode_args(lost)}")
assert [set(arguments.values()) for arguments in switched] == [{False}, {True}, {False}]
assert (lost.training, mode_args(lost)) == (False, mode_args(train_gm))

# %% zh:a0a62d86
# !!! question "From eval to train?"
#     You exported in eval mode and now want to train. Does `move_exported_model_to_train` give you the graph that an
#     export in train mode would have given?

# %% answer zh:4d1cb5e1
# No. The arguments are the same, but the eval export never had an `add_`, so the batches are not counted, and `p` is
# 0.5. If you want to train, export in train mode.
back = pt2e.move_exported_model_to_train(exported(training=False))
print(" → ".join(ops(back)), mode_args(back), f"p = {dropout_p(back)}", sep="\n")
assert mode_args(back) == mode_args(train_gm)
assert (ops(back), dropout_p(back)) == (ops(eval_gm), 0.5)


# %% zh:e7759a69
# ## PTQ of a train export: BN is folded, dropout stays on {#ptq-on-train}
#
# Post-training quantization (PTQ) has three steps: `prepare_pt2e` inserts observers, which record the range of values;
# calibration runs data through them; `convert_pt2e` replaces them by quantize and dequantize (q/dq).
# [M01-1](chapter:m01_1_end_to_end) takes them one by one; here, there is one question only: what if the export was in
# train mode? `ptq` does the three with the quantizer for x86. Look at what is left of BN and dropout, and at the SQNR.
def ptq(gm):
    """Quantize an exported graph, calibrated with `ex`."""
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(gm, quantizer)
    prepared(*ex)
    return convert_pt2e(prepared)


eval_gm, train_gm = exported(training=False), exported(training=True)
graphs = {"eval export": eval_gm, "train export": train_gm, "train export, moved": moved}
with torch.no_grad():
    quantized = {label: ptq(gm) for label, gm in graphs.items()}
    quality = [sqnr(reference, gm(*ex)) for gm in quantized.values()]
kept = [[op for op in ops(gm) if "quantize" not in op] for gm in quantized.values()]
rows = [[label, " → ".join(kept[i]), f"{quality[i]:.4g}"] for i, label in enumerate(quantized)]
table(rows, ["quantized from", "operations, without q/dq", "SQNR (dB)"])
message = refusal(quantized["train export"].eval)
print(message)
int8_weights = [gm.get_buffer("_frozen_param0") for gm in quantized.values()]
assert kept == [["conv2d", "relu", "dropout"]] + [["conv2d", "add_", "relu", "dropout"]] * 2
assert [mode_args(gm)["dropout"] for gm in quantized.values()] == [False, True, False]
assert torch.equal(int8_weights[0], int8_weights[1])
assert 40 < quality[0] < 42 and quality[1] < 10 and quality[2] == quality[0]
assert message == "NotImplementedError: Calling train() or eval() is not supported for exported models."

# %% zh:7ceff3fb
# BN is gone in every row: `prepare_pt2e` folds it into the conv, with the stored statistics, whatever `training` says;
# the int8 weights of the first two rows are equal ([M02-1](chapter:m02_1_from_annotation_to_observer)). But dropout
# stays random in the quantized model, and an SQNR of a few dB, where 40 was to be expected, is the only sign. After
# prepare and convert, `.eval()` has another message, whose next lines name the helpers. The remedy is the first row:
# export again, in eval mode.
#
# ## Summary {#summary}
#
# | what the graph is for | export after |
# | --- | --- |
# | inference, PTQ | `.eval()` |
# | training, quantization-aware training (M05) | `.train()` |
# | both | one export of each |
#
# 1. The mode is in the graph: in the arguments `training` and `train`, in `add_`, in the branch taken. It is not in
#    `gm.training`.
# 2. An export shares its tensors with the eager model; calling a train export changes both.
# 3. `.eval()` afterwards raises; after `copy.deepcopy` it does nothing and says nothing. So compare with the eager
#    model in eval mode, and see that `num_batches_tracked` stands still.
#
# Next, [M00-3](chapter:m00_3_decompositions): how ops are split further, and why not before quantization.
