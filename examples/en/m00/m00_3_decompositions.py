# zh:b3958308
"""
# M00-3 | Decompositions: what Core ATen is, and when not to decompose

An op of an exported graph can be replaced by simpler ones: by its decomposition. Many backends need that, and most
quantizers can't cope with it. After this page you can

- say what Core ATen is, and check whether a graph keeps to it;
- recognize a graph that was decomposed before it was quantized, by an error or, where there is none, by a number;
- decompose one op, such as attention, and leave conv and linear whole.

Messages, counts and faults are those of torch 2.13.0 and torchao 0.18.0 on a CPU. What an op is, and what a node's
target, is explained in [M00-1](chapter:m00_1_export_and_aten#b1-reading-op-names).
"""

# %% zh:cf19e661
# The set-up. `ops` is the helper from [M00-2](chapter:m00_2_eval_or_train).
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import default_decompositions, export

from common.graph_utils import short
from common.models import example_inputs, get_model
from common.pt2e import quiet, sqnr
from common.viz import draw_stages, table

quiet()
import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86
import torchao.testing.pt2e._xnnpack_quantizer as xnnpack
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

torch.set_num_threads(1)
_ = torch.manual_seed(0)
aten = torch.ops.aten


def ops(program):
    """The operations of a program or graph module by short name, in order."""
    return [short(node.target) for node in program.graph.nodes if node.op == "call_function"]


# %% zh:772233ca
# ## conv2d becomes convolution {#conv2d-to-convolution}
#
# `run_decompositions()` replaces ops by their decompositions. The model is conv → bn → relu in eval mode. Look for the
# nodes that are gone (−) and new (+), and for the one that stays.
ex, model = example_inputs(), get_model("conv_bn_relu").eval()
ep = export(model, ex)
core = ep.run_decompositions()
stages = [(ep.module(), "export"), (core.module(), "run_decompositions()")]
draw_stages(stages, title="conv2d and batch_norm make way for more general ops, relu stays")
with torch.no_grad():
    assert torch.equal(core.module()(*ex), model(*ex))
assert ops(ep) == ["conv2d", "batch_norm", "relu"]
assert ops(core) == ["convolution", "_native_batch_norm_legit_no_training", "getitem", "relu"]

# %% zh:59384b80
# The output is the same to the last bit. (`getitem` is Python's `x[0]`: the new op for batch normalization (BN) returns
# three tensors.) What is gained? Look at what four different layers become:
layers = [
    (nn.Conv1d(3, 8, 3), torch.randn(2, 3, 16)),
    (nn.Conv2d(3, 8, 3), torch.randn(2, 3, 16, 16)),
    (nn.Conv3d(3, 8, 3), torch.randn(2, 3, 8, 8, 8)),
    (nn.ConvTranspose2d(3, 8, 3), torch.randn(2, 3, 16, 16)),
]
exports = [export(layer, (x,)) for layer, x in layers]
splits = [ops(program.run_decompositions()) for program in exports]
rows = [[type(layers[i][0]).__name__, *ops(exports[i]), *splits[i]] for i in range(len(layers))]
table(rows, ["layer", "export", "decomposed"])
print(aten.convolution.default._schema)
assert len({op for program in exports for op in ops(program)}) == 4
assert splits == [["convolution"]] * 4
assert aten.conv2d.default in default_decompositions()
assert aten.convolution.default not in default_decompositions()

# %% zh:c554b106
# One op instead of four: `convolution` gets what distinguishes them as arguments (`transposed`, `output_padding`, lists
# of any length), and a backend has to implement it once. [M00-1](chapter:m00_1_export_and_aten#b4-dispatch) left open
# what conv2d, which has no kernel of its own, is written in: this is it. What is split, and how, is in a table,
# `default_decompositions()`: conv2d is in it, convolution isn't.
#
# ## run_decompositions returns a new program {#new-program}
#
# "It did nothing" usually means that the result was dropped
# ([pytorch#119439](https://github.com/pytorch/pytorch/issues/119439)). Nothing fails; only the ops tell:
ep.run_decompositions()  # wrong: the result is lost
print(f"ep: {ops(ep)}")
print(f"core: {ops(core)}")
assert ops(ep) == ["conv2d", "batch_norm", "relu"]
assert core is not ep

# %% zh:ad030434
# So assign it: `core = ep.run_decompositions()`.
#
# ## Core ATen is a tag on ops {#core-tag}
#
# Core ATen is the core subset of ATen, made for backends to interface with
# ([IRs](https://docs.pytorch.org/docs/stable/torch.compiler_ir.html)). Which ops are in it can be asked of each op: it
# has the tag `torch.Tag.core`. How many of all overloads that the dispatcher knows have it?
names = [name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
parts = [name.partition(".") for name in names]  # "add.Tensor", or "relu" for relu.default
overloads = [getattr(getattr(aten, packet), overload or "default") for packet, _, overload in parts]
tagged = {op for op in overloads if torch.Tag.core in op.tags}
print(f"{len(tagged)} of {len(overloads)} overloads of ATen are core")
assert (len(tagged), len(overloads)) == (193, 3110)
assert {aten.convolution.default, aten.addmm.default, aten.relu.default, aten.bmm.default} <= tagged
assert not {aten.conv2d.default, aten.linear.default, aten.batch_norm.default, aten.matmul.default} & tagged


# %% zh:3d89cb1e
# Just what quantizers look for, conv2d and linear, is not core. `not_core` checks a whole program. Compare the columns,
# and find the program that doesn't get there.
def not_core(program):
    """The ops of a program that lack the core tag; `getitem` is Python's, not ATen's."""
    targets = {node.target for node in program.graph.nodes if isinstance(node.target, torch._ops.OpOverload)}
    return sorted(str(op) for op in targets if torch.Tag.core not in op.tags)


names = [("conv_bn_relu", False), ("residual", False), ("cnn", False), ("conv_bn_relu", True)]
programs = [export(get_model(name).train(training), ex) for name, training in names]
before, after = [[not_core(p) for p in ps] for ps in (programs, [p.run_decompositions() for p in programs])]
rows = [
    [f"{name}, {'train' if training else 'eval'}", ", ".join(before[i]), ", ".join(after[i]) or "none"]
    for i, (name, training) in enumerate(names)
]
table(rows, ["program", "not core after export", "after run_decompositions()"])
assert all(before)
assert after == [[], [], [], ["aten._native_batch_norm_legit_functional.default"]]

# %% zh:8247059b
# ## What is left of a train export {#train-leftovers}
#
# The three eval programs are core throughout. The train export keeps one op, for which the table has no decomposition.
# And what has become of `add_`, which writes into a buffer ([M00-2](chapter:m00_2_eval_or_train#num-batches-tracked))?
# Look at the outputs of the new program.
train = programs[3].run_decompositions()
outputs = [[spec.arg.name, spec.kind.name, spec.target or ""] for spec in train.graph_signature.output_specs]
table(outputs, ["output", "kind", "target (field of the original model)"])
print(" → ".join(ops(train)), " → ".join(ops(train.module())), sep="\n")
eager, gm = get_model("conv_bn_relu").train(), train.module()
with torch.no_grad():
    assert torch.equal(gm(*ex), eager(*ex))
assert aten._native_batch_norm_legit_functional.default not in default_decompositions()
assert [kind for _, kind, _ in outputs] == ["BUFFER_MUTATION"] * 3 + ["USER_OUTPUT"]
assert "add_" not in ops(train) and "add" in ops(train)
assert not any(node.target._schema.is_mutable for node in train.graph.nodes if hasattr(node.target, "_schema"))
assert ops(gm)[-3:] == ["copy_"] * 3
assert torch.equal(gm.get_buffer("bn.running_mean"), eager.bn.running_mean)


# %% zh:e10dae21
# Decomposing also makes a program functional: no op writes into its arguments any more. `add_` became `add`, and the
# new values of the three buffers are returned as further outputs; `module()` copies them back, so the result is the
# same. If a backend takes core ops only, give it an eval export.
#
# ## Quantizing a decomposed graph {#quantize-decomposed}
#
# Now the mistake: `prepare_pt2e` on a decomposed program. It inserts observers (they record the range of values) where
# the quantizer wants them, so their number says how much the quantizer found. Two quantizers, for x86 and for XNNPACK
# (torchao's test copy; [M03-4](chapter:m03_4_shipped_quantizers) has more on both), meet three models. Look for the
# errors in the last column, and then for what is worse.
def observers(gm):
    """The nodes that call an observer."""
    return [node for node in gm.graph.find_nodes(op="call_module") if "activation_post_process" in node.target]


def found(program, quantizer):
    """How many observers `prepare_pt2e` inserts, or the error that it raises."""
    try:
        return f"{len(observers(prepare_pt2e(program.module(), quantizer)))} observers"
    except ValueError as error:
        return f"ValueError: {error}"


def x86_quantizer():
    return x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())


def xnnpack_quantizer():
    return xnnpack.XNNPACKQuantizer().set_global(xnnpack.get_symmetric_quantization_config())


linear = export(nn.Sequential(nn.Linear(16, 8)).eval(), (torch.randn(2, 16),))
cases = {"conv_bn_relu": ep, "cnn": programs[2], "linear": linear}
rows = [
    [name, label, found(program, quantizer()), found(program.run_decompositions(), quantizer())]
    for label, quantizer in (("x86", x86_quantizer), ("XNNPACK", xnnpack_quantizer))
    for name, program in cases.items()
]
table(rows, ["model", "quantizer", "exported", "decomposed"])
results = [row[2:] for row in rows]
assert results == [
    ["2 observers", "ValueError: convolution is not an aten conv2d operator"],
    ["8 observers", "ValueError: convolution is not an aten conv2d operator"],
    ["2 observers", "ValueError: addmm is not an aten linear operator"],
    ["3 observers", "0 observers"],
    ["9 observers", "ValueError: mean is not an aten adaptive_avg_pool2d operator"],
    ["3 observers", "0 observers"],
]


# %% zh:90d1cce8
# The errors come where a quantizer looks a node up by the module that it came from, which `meta` keeps, and meets an op
# that it doesn't expect. Worse is "0 observers": conv and linear are found by `node.target` there, and a target that is
# gone is not found, that is all. So it will be with a quantizer of your own
# ([M03-1](chapter:m03_1_a_quantizer_from_scratch)).
#
# ### The silent variant goes through to the end {#silent}
#
# Let such a case run on: prepare, calibrate, convert, with `conv_relu` and the quantizer for XNNPACK. How many quantize
# and dequantize nodes (q/dq) come out, and what is the SQNR (signal against error in dB; larger is better) to the float
# model? The last line is another loss, seen in `conv_bn_relu`: is BN folded into conv, as `prepare_pt2e` does it?
def quantize(program, quantizer, inputs):
    """Prepare, calibrate with `inputs`, convert."""
    prepared = prepare_pt2e(program.module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def q_dq(program):
    """How many quantize and dequantize nodes a program has."""
    return sum("quantize" in op for op in ops(program))


conv_relu = get_model("conv_relu").eval()
exported = export(conv_relu, ex)
with torch.no_grad():
    right = quantize(exported, xnnpack_quantizer(), ex)
    wrong = quantize(exported.run_decompositions(), xnnpack_quantizer(), ex)
    quality = [sqnr(conv_relu(*ex), gm(*ex)) for gm in (right, wrong)]
rows = [["exported", q_dq(right), f"{quality[0]:.4g}"], ["decomposed", q_dq(wrong), f"{quality[1]:.4g}"]]
table(rows, ["quantized from", "q/dq nodes", "SQNR (dB)"])
prepared = [ops(prepare_pt2e(program.module(), xnnpack_quantizer())) for program in (ep, core)]
print(f"prepared from exported: {prepared[0]}, from decomposed: {prepared[1]}")
assert (q_dq(right), q_dq(wrong)) == (5, 0)
assert 38 < quality[0] < 42 and quality[1] == float("inf")
assert prepared == [["conv2d", "relu"], ops(core)]

# %% zh:e31e9fa6
# An SQNR of `inf` looks like perfection and is the proof of failure: the output equals that of the float model to the
# last bit, because nothing was quantized. (BN, too, stays if its conv is gone.) So write `assert observers(prepared)`
# after every prepare.
#
# ### The right order: quantize, then decompose {#right-order}
#
# A converted graph can be exported and decomposed like any other. Look at what stands between the q/dq afterwards.
lowered = export(right, ex).run_decompositions()
print(" → ".join(ops(lowered)))
with torch.no_grad():
    assert torch.equal(lowered.module()(*ex), right(*ex))
assert [op for op in ops(lowered) if "quantize" not in op] == ["convolution", "relu"]
assert q_dq(lowered) == q_dq(right)
assert not_core(lowered) == [
    "quantized_decomposed.dequantize_per_tensor.default",
    "quantized_decomposed.quantize_per_tensor.default",
]

# %% zh:8b09fae7
# The q/dq stay, and conv2d between them is convolution now; the output is the same. You seldom have to do this
# yourself: in ExecuTorch, `to_edge()` decomposes, after quantization
# ([executorch PR 7111](https://github.com/pytorch/executorch/pull/7111) describes it; not run here).
#
# !!! question "Decompose everything but conv and linear?"
#     The table is a dictionary: take conv2d and linear out of it, and they stay whole. Does the quantizer for x86 then
#     get as many observers into `cnn` as without decomposition, 8? And is BN folded?

# %% answer zh:498b0ee4
# BN is folded, in this form, too. But pool and flatten have become mean and view, which this quantizer leaves alone: 6
# observers remain of 8, without a message.
kept_whole = default_decompositions()
for op in (aten.conv2d.default, aten.linear.default):
    kept_whole.pop(op)
partly = cases["cnn"].run_decompositions(kept_whole)
prepared = prepare_pt2e(partly.module(), x86_quantizer())
print(" → ".join(ops(partly)), " → ".join(ops(prepared)), f"{len(observers(prepared))} observers", sep="\n")
assert ops(partly).count("_native_batch_norm_legit_no_training") == 2
assert ops(prepared) == ["conv2d", "relu", "conv2d", "relu", "mean", "view", "linear"]
assert len(observers(prepared)) == 6


# %% zh:71f3ddbc
# ## Attention: the op that may need it {#sdpa}
#
# `F.scaled_dot_product_attention` (SDPA) is *one* op after export. A quantizer that knows linear and matmul finds
# neither in it, so attention stays in float, and nothing says so. Here, decomposing before the quantizer is right, as
# long as conv and linear stay whole; PR 7111, above, does so for a backend of ExecuTorch. But with which table? Compare
#
# - none: the export as it is;
# - a table with SDPA alone;
# - the default table without linear;
# - SDPA and the two ops that it may lead to: one of them, depending on the shapes.
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        return self.out(F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x)))


sdpa = aten.scaled_dot_product_attention.default
inner = [aten._scaled_dot_product_attention_math.default, aten._scaled_dot_product_flash_attention_for_cpu.default]
full, without_linear = default_decompositions(), default_decompositions()
without_linear.pop(aten.linear.default)
_ = torch.manual_seed(0)
attention, x = Attention().eval(), (torch.randn(2, 5, 16),)  # [batch, sequence, features]
whole = export(attention, x)
tables = [{sdpa: full[sdpa]}, without_linear, {op: full[op] for op in (sdpa, *inner)}]
programs = [whole, *(whole.run_decompositions(decompositions) for decompositions in tables)]
labels = ["none", "SDPA alone", "default without linear", "SDPA and two more"]


# %% zh:5a1e5ada
# The quantizer for x86 can do matmul, but leaves it alone unless told otherwise
# ([pytorch PR 122776](https://github.com/pytorch/pytorch/pull/122776)); here it is told. On which program does it put
# observers on more than linear?
def matmul_quantizer():
    return x86_quantizer().set_function_type_qconfig(torch.matmul, x86.get_default_x86_inductor_quantization_config())


prepared = [prepare_pt2e(program.module(), matmul_quantizer()) for program in programs]
users = [[user for node in observers(gm) for user in node.users] for gm in prepared]
observed = [sorted({user.name for user in nodes if short(user.target) != "linear"}) for nodes in users]
products = [[op for op in ops(program) if op in ("matmul", "bmm") or "attention" in op] for program in programs]
extra = [len(ops(program)) - 4 for program in programs]
counts = [len(observers(gm)) for gm in prepared]
rows = [[labels[i], extra[i], ", ".join(products[i]), counts[i], ", ".join(observed[i]) or "none"] for i in range(4)]
table(rows, ["decomposed", "ops besides 4 linear", "matrix products in", "observers", "observed besides linear"])
assert products[:2] == [["scaled_dot_product_attention"], ["_scaled_dot_product_attention_math"]]
assert products[2:] == [["bmm"] * 2, ["matmul"] * 2]
assert counts == [6, 6, 6, 10]
assert observed == [[], [], [], ["matmul", "matmul_1"]]
assert all(ops(program).count("linear") == 4 for program in programs)

# %% zh:6b28f469
# Only the last. With SDPA alone, one closed op has become another. The default table without linear goes too deep, past
# matmul, which this quantizer knows, to bmm, which it doesn't. A decomposition helps if it stops at the ops that *your*
# quantizer looks for. Below are the split and its SQNR; and with several heads, the shapes lead to the other op.
split = programs[3]
stages = [(whole.module(), "export"), (split.module(), "SDPA and two more decomposed")]
draw_stages(stages, title="SDPA becomes six ops, two of them matmul; linear stays whole")
with torch.no_grad():
    reference, exact = attention(*x), split.module()(*x)
    quality = [sqnr(reference, quantize(program, matmul_quantizer(), x)(*x)) for program in (whole, split)]
print(f"SQNR with attention in float: {quality[0]:.4g} dB, with matmul quantized: {quality[1]:.4g} dB")


class Heads(nn.Module):
    def forward(self, q):
        return F.scaled_dot_product_attention(q, q, q)


heads = export(Heads(), (torch.randn(2, 4, 5, 8),))  # [batch, heads, sequence, features]
assert ops(heads.run_decompositions(tables[0])) == ["_scaled_dot_product_flash_attention_for_cpu", "getitem"]
assert ops(heads.run_decompositions(tables[2])).count("matmul") == 2
assert torch.equal(exact, reference)
assert ops(split) == ["linear"] * 3 + ["mul", "transpose", "mul", "matmul", "_safe_softmax", "matmul", "linear"]
assert 35 < quality[1] < quality[0] < 50

# %% zh:f8143d3e
# Whatever is quantized in addition adds its error; what it brings is to be measured
# ([M07-2](chapter:m07_2_is_it_faster)). There is more about attention in [M03-3](chapter:m03_3_patterns_that_bite).
#
# ## Summary: when not to decompose {#when-not}
#
# | where you are | decompose? |
# | --- | --- |
# | before a quantizer that looks for conv2d and linear | no: it raises, or it finds nothing |
# | before a quantizer, with an op such as SDPA in the way | that op only, down to the ops that it looks for |
# | after convert, for a backend that takes Core ATen | yes, unless the backend does it itself |
#
# 1. Core ATen is the overloads with the tag `torch.Tag.core`, 193 of them. An eval export gets there by
#    `run_decompositions()`, a train export with BN doesn't.
# 2. `run_decompositions()` returns a new program and leaves the old one as it was.
# 3. Quantize first, then decompose. No observers, or an SQNR of `inf`, are the signs of the wrong order.
#
# Next, [M00-4](chapter:m00_4_editing_graphs): editing a graph yourself.
