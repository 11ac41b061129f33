# zh:6243ea4d
"""
# M00-1 | What a torch.export graph looks like, and what ATen is

Annotate, prepare, calibrate, convert: every step of PT2E quantization works on one graph, the one that `torch.export`
produces. So before we quantize anything, we learn to read that graph. This page answers two questions:

- **A. The exported graph.** What is in it, where did the weights go, and what does each node know about itself?
- **B. ATen.** What does a name like `aten.conv2d.default` mean, and why do quantizers and backends work on such names?

Names and messages are those of torch 2.13 on a CPU. If `Node` and `GraphModule` are new to you, start with
[FX basics](chapter:fx_basics); the official reference is [torch.export](https://docs.pytorch.org/docs/stable/export.html).
"""

# %% zh:ae2d4d48
# First, the set-up. Every table and figure below is made from the objects that the `assert` lines check: had one of
# them failed, you would not be reading this page.
import copy
import io
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import Dim, export

from common.graph_utils import node_rows, short
from common.models import example_inputs, get_model
from common.pt2e import quiet
from common.viz import draw_stages, table

quiet()  # hides known import noise; real warnings stay
_ = torch.manual_seed(0)

# %% zh:55231b1f
# ## A. The graph after export {#a}
#
# The model is `get_model("conv_bn_relu")`: conv (without bias) → bn → relu. `.eval()` comes first because export
# writes the mode into the graph; [M00-2](chapter:m00_2_eval_or_train) puts the two modes side by side.
model = get_model("conv_bn_relu").eval()
ex = example_inputs()  # a tuple with one tensor, [2, 3, 16, 16]

# %% zh:8ee58dc0
# ### A1 `torch.export.export()` returns an `ExportedProgram` {#a1-exported-program}
#
# We call it `ep`. Three things live on it:
#
# - `ep.graph`: the computation. Parameters, buffers and your input are all `placeholder` nodes in it, as if the model
#   were one function that receives everything it reads as an argument.
# - `ep.graph_signature`: which placeholders are model state, and which field of the original model each of them was.
# - `ep.state_dict`: the tensors, under the names of those fields.
#
# Here are the inputs as the signature records them. Look for the one row that is not model state.
ep = export(model, ex)
inputs = [[spec.arg.name, spec.kind.name, spec.target or ""] for spec in ep.graph_signature.input_specs]
fields = {target for *_, target in inputs if target}
table(inputs, ["placeholder", "kind", "target (field of the original model)"])
assert [name for name, *_ in inputs] == [node.name for node in ep.graph.find_nodes(op="placeholder")]
assert [name for name, kind, _ in inputs if kind == "USER_INPUT"] == ["x"]
assert [kind for _, kind, _ in inputs] == ["PARAMETER"] * 3 + ["BUFFER"] * 3 + ["USER_INPUT"]
assert fields == set(ep.state_dict)

# %% zh:26e8d6ff
# Only `x` is `USER_INPUT`. The prefixes `p_` and `b_` are a reading convention and no more: in [A5](#a5-constants) an
# input is called `p_x`. What you can rely on is `kind`.
#
# ### A2 `ep.module()` returns a `GraphModule` {#a2-graph-module}
#
# What `prepare_pt2e` takes ([M01-1](chapter:m01_1_end_to_end)) is not `ep` but `ep.module()`, which we call `gm`. The
# signature is used to bind the tensors of `state_dict` back to their places, and the result can be called like the
# model. In the figure, follow the parameters from the upper graph to the lower one.
gm = ep.module()
stages = [(ep.graph_module, "ep.graph (ExportedProgram)"), (gm, "ep.module() (GraphModule)")]
draw_stages(stages, show_params=True, per_row=1, title="Parameters go from placeholder to get_attr")
assert [node.name for node in gm.graph.find_nodes(op="placeholder")] == ["x"]

# %% zh:d19dc27f
# Three things to see:
#
# 1. The placeholders of parameters and buffers (ellipses, marked as gone in the next stage) have become `get_attr`
#    nodes (notes with a folded corner, framed green as new). Only `x` is still a placeholder.
# 2. The modules are gone. Three operations are left, `conv2d`, `batch_norm` and `relu`, all on one level: the graph is
#    flat. A quantizer (the object that decides what gets quantized) can only match patterns of ops in it; there is no
#    `nn.Conv2d` to look for.
# 3. Nobody uses `b_bn_num_batches_tracked`, the counter of batches. That is so in eval mode; who uses it in train mode
#    is answered in [M00-2](chapter:m00_2_eval_or_train).
#
# Below, `gm` as a table, one row per node, in the order of execution. What the column `op` says:
#
# - `get_attr` reads a parameter or buffer of the module; `target` is its path.
# - `placeholder` is an argument of `forward`.
# - `call_module` calls a submodule. The only one here is `_guards_fn`, which figures leave out; we come to it next.
# - `call_function` calls an op. This table shortens its `target`; [B1](#b1-reading-op-names) has the full names.
# - `output` is what `forward` returns.
calls = [node for node in gm.graph.nodes if node.op == "call_function"]
table(node_rows(gm, show_args=False), ["#", "op", "name", "target"])
with torch.no_grad():
    difference = (model(*ex) - gm(*ex)).abs().max().item()
print(f"largest difference between model and gm: {difference}")
assert [node.name for node in calls] == ["conv2d", "batch_norm", "relu"]
assert [node.name for node in gm.graph.find_nodes(op="call_module")] == ["_guards_fn"]
kinds = ["get_attr"] * 6 + ["placeholder", "call_module"] + ["call_function"] * 3 + ["output"]
assert [node.op for node in gm.graph.nodes] == kinds
assert [str(node) for node in ep.graph.find_nodes(op="placeholder") if not node.users] == ["b_bn_num_batches_tracked"]
assert {node.target for node in gm.graph.find_nodes(op="get_attr")} == fields
assert difference == 0.0

# %% zh:aee2aa00
# Nothing was lost: the `get_attr` targets are exactly the fields that the signature lists, and `gm` computes what
# `model` computes, to the last bit.
#
# ### The input check `_guards_fn` {#a2-guards-fn}
#
# By default, `ep.module()` inserts a check that the input is as assumed at export: its shape and the like. This has
# nothing to do with quantization. If a pass of yours can't handle a `call_module`
# ([executorch#14466](https://github.com/pytorch/executorch/pull/14466) is such a case), leave the check out with
# `check_guards=False`. Look at what a batch of 3 meets: with the check, without it, and in a copy without it.
bare = ep.module(check_guards=False)
refused = []
for module in (gm, bare):
    try:
        module(*example_inputs(3))
    except (AssertionError, RuntimeError) as error:
        refused.append(f"{type(error).__name__}: {error}")
passed = copy.deepcopy(bare)(*example_inputs(3))
print(*refused, f"deepcopy: {list(passed.shape)}", sep="\n")
trimmed = ep.module().graph
trimmed.eliminate_dead_code()
assert [node.name for node in bare.graph.nodes] == [node.name for node in gm.graph.nodes if node.name != "_guards_fn"]
assert refused[0] == "AssertionError: Guard failed: x.size()[0] == 2"
assert refused[1].startswith("RuntimeError: Expected input at *args[0].shape[0] to be equal to 2, but got 3.")
assert list(passed.shape) == [3, 8, 16, 16]
assert {str(node) for node in gm.graph.nodes} - {str(node) for node in trimmed.nodes} == {"bn_num_batches_tracked"}
assert trimmed.find_nodes(op="call_module")[0].is_impure()

# %% zh:4e368eb3
# Without the node, a hook still checks the shape, but `copy.deepcopy` loses the hook, and then a wrong batch passes in
# silence. So keep the check unless something forces you to drop it. `eliminate_dead_code` won't do it: the unused
# `bn_num_batches_tracked` goes, `_guards_fn` stays, because it is marked as impure (it is run for its effect).
#
# ### A3 Every node carries `meta` {#a3-meta}
#
# In this dictionary, `meta["val"]` is a `FakeTensor`: shape, dtype and device, but no values. Export made it by running
# the model on such tensors. Look at the shapes, and at what is not yet among the keys.
rows = [[n.name, type(n.meta["val"]).__name__, list(n.meta["val"].shape), ", ".join(sorted(n.meta))] for n in calls]
table(rows, ["node", 'type of meta["val"]', "shape", "keys of meta"])
conv = calls[0]
print(conv.meta["val"], conv.meta["val"].dtype, conv.meta["val"].device)
assert [row[1:3] for row in rows] == [["FakeTensor", [2, 8, 16, 16]]] * 3
assert {row[3] for row in rows} == {"from_node, nn_module_stack, stack_trace, tensor_meta, torch_fn, val"}
assert str(conv.meta["val"]) == "FakeTensor(..., size=(2, 8, 16, 16))"
assert not any("quantization_annotation" in node.meta for node in gm.graph.nodes)

# %% zh:b1af8ddc
# - Dimension 0 is 2 because the example batch is 2: export fixes shapes by default ([A4](#a4-example-batch)).
# - Nothing about quantization is in `meta` yet. A quantizer will write its plan there, as `quantization_annotation`:
#   [M01-2](chapter:m01_2_annotations) reads it, [M03-1](chapter:m03_1_a_quantizer_from_scratch) writes it.
# - The hierarchy is not lost. `meta["nn_module_stack"]` keeps the modules that a node came from, innermost last, so a
#   quantizer can still select modules by name or by type ([M03-4](chapter:m03_4_shipped_quantizers)):
origins = [[node.name, *list(node.meta["nn_module_stack"].values())[-1]] for node in calls]
table(origins, ["node", "module", "type of the module"])
assert [path for _, path, _ in origins] == ["conv", "bn", "relu"]
assert [kind.rpartition(".")[2] for *_, kind in origins] == ["Conv2d", "BatchNorm2d", "ReLU"]

# %% zh:f1db2d9b
# !!! question "Which node does the weight of conv2d come from?"
#     Look in `conv.args`: at which position is it, and what kind of node is it? And if you were to annotate this weight
#     for quantization, on which node would you write the annotation?

# %% answer zh:3712c703
# From the `get_attr` node `conv_weight`, at position 1. The annotation of the weight, however, hangs on the `conv2d`
# node that uses it, as the spec of that input edge ([M01-2](chapter:m01_2_annotations)).
weight = conv.args[1]
print(f"conv2d.args[1] = {weight} (op={weight.op}, target={weight.target})")
assert (weight.name, weight.op, weight.target) == ("conv_weight", "get_attr", "conv.weight")

# %% zh:f2c38ccf
# ### A4 For a dynamic batch, export with at least two examples {#a4-example-batch}
#
# A named `Dim` leaves dimension 0 open. With an example batch of 1 this fails, because export treats sizes 0 and 1 as
# fixed. (Older versions of the message say "batch was inferred to be a constant":
# [pytorch#133653](https://github.com/pytorch/pytorch/issues/133653).) With a batch of 2 the same call succeeds, and the
# result takes any batch, 1 included.
one = example_inputs(1)
try:
    export(model, one, dynamic_shapes=({0: Dim("batch")},))
except Exception as error:
    first_line, reason, *_ = f"{type(error).__name__}: {error}".splitlines()
dynamic = export(model, ex, dynamic_shapes=({0: Dim("batch")},)).module()
batches = [list(dynamic(*example_inputs(batch)).shape) for batch in (1, 2, 5)]
print(first_line, batches, sep="\n")
assert first_line == 'UserError: Constraints violated (batch)! For more information, run with TORCH_LOGS="+dynamic".'
assert "your code specialized it to be a constant (1)" in reason
assert batches == [[1, 8, 16, 16], [2, 8, 16, 16], [5, 8, 16, 16]]

# %% zh:ffe0853d
# `Dim.AUTO` seems to get around the error: the export with a batch of 1 succeeds. But the shape is static again, and
# all that tells you so is one warning in the log. Here we catch it with a handler of our own and print it:
log, caught = logging.getLogger("torch._export.non_strict_utils"), io.StringIO()
usual, log.handlers = log.handlers, [logging.StreamHandler(caught)]
auto = export(model, one, dynamic_shapes=({0: Dim.AUTO},))
log.handlers = usual
auto_shape = auto.graph.find_nodes(op="placeholder")[-1].meta["val"].shape
print(f"x: {list(auto_shape)}", caught.getvalue().strip(), sep="\n")
assert [(type(size), size) for size in auto_shape] == [(int, 1), (int, 3), (int, 16), (int, 16)]
assert caught.getvalue().startswith("dimension inputs['x'].shape[0] 0/1 specialized; Dim.AUTO was specified")

# %% zh:63678e5a
# So take a named `Dim`, which fails loudly, and a batch of 2 or more. `common.pt2e.export_module()` makes the batch
# dynamic in this way; we use it in [M00-4](chapter:m00_4_editing_graphs) and from M01 on.
#
# ### A5 A tensor made in forward is burned in as a constant {#a5-constants}
#
# In `x + torch.tensor(0.1)`, the tensor is neither parameter nor buffer. Export lifts it out of the code, with the
# value it has then ([pytorch#110485](https://github.com/pytorch/pytorch/issues/110485)). Look at its `kind`, and at
# where it is kept.
class AddConstant(nn.Module):
    def forward(self, p_x):
        return p_x + torch.tensor(0.1)


lifted = export(AddConstant(), ex)
inputs = [[spec.arg.name, spec.kind.name, spec.target or ""] for spec in lifted.graph_signature.input_specs]
table(inputs, ["placeholder", "kind", "target"])
print(f"state_dict: {list(lifted.state_dict)}, constants: {list(lifted.constants)}")
assert inputs == [["c_lifted_tensor_0", "CONSTANT_TENSOR", "lifted_tensor_0"], ["p_x", "USER_INPUT", ""]]
assert [node.target for node in lifted.module().graph.find_nodes(op="get_attr")] == ["lifted_tensor_0"]
assert (list(lifted.state_dict), list(lifted.constants)) == ([], ["lifted_tensor_0"])

# %% zh:84a3e52c
# The `get_attr` targets still equal the signature's, but no longer the keys of `ep.state_dict`: the constant is kept in
# `ep.constants`. To have the value saved and loaded with the weights, make it a buffer of the module.
#
# ## B. What ATen is {#b}
#
# ### B1 How to read `aten.conv2d.default` {#b1-reading-op-names}
#
# Three parts: namespace . op . overload. An op is a packet of overloads, each with arguments of its own; its schema
# lists them. (A schema uses the C++ spelling, as in `aten::add.Tensor`, and leaves `default` out.)
packet = torch.ops.aten.conv2d
schemas = [str(packet.default._schema), str(torch.ops.aten.add.Tensor._schema)]
print(f"{packet}: {type(packet).__name__} {packet.overloads()}")
print(f"{packet.default}: {type(packet.default).__name__}", *schemas, sep="\n")
assert (type(packet).__name__, packet.overloads()) == ("OpOverloadPacket", ["default", "padding"])
assert type(packet.default).__name__ == "OpOverload"
assert schemas == [
    "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
    "SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
]
assert {"Tensor", "Scalar"} <= set(torch.ops.aten.add.overloads())
assert conv.target is torch.ops.aten.conv2d.default

# %% zh:1209087c
# `add` shows what overloads are for: `add.Tensor` takes two tensors, `add.Scalar` a tensor and a number, and there are
# more. And note the last assert: the target of our conv node *is* that object, not a string that names it.
#
# ATen is PyTorch's core tensor library; almost all other Python and C++ interfaces of PyTorch are built on it
# ([C++ docs](https://docs.pytorch.org/cppdocs/)). `torch.ops.aten.*` are its op names on the Python side.
#
# ### B2 Three ways to write it, one sequence of ops after export {#b2-three-styles}
#
# The same small model (conv → relu → mean over H and W → linear) in three styles: functions with parameters of its own,
# a nested custom module, and `nn.Sequential`. Each is traced twice: by `torch.fx.symbolic_trace`, which FX graph mode
# quantization used before PT2E, and by `torch.export.export(...).module()`. Compare the last two columns.
class FunctionalStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.fc_weight = nn.Parameter(torch.randn(8, 3, 3, 3)), nn.Parameter(torch.randn(4, 8))

    def forward(self, x):
        return F.linear(F.relu(F.conv2d(x, self.weight, padding=1)).mean((2, 3)), self.fc_weight)


class ConvAct(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.act = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.ReLU()

    def forward(self, x):
        return self.act(self.conv(x))


class WrappedStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.fc = ConvAct(), nn.Linear(8, 4, bias=False)

    def forward(self, x):
        return self.fc(self.inner(x).mean((2, 3)))


class SequentialStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.ReLU())
        self.fc = nn.Linear(8, 4, bias=False)

    def forward(self, x):
        return self.fc(self.body(x).mean((2, 3)))


def fx_ops(gm: torch.fx.GraphModule) -> list[str]:
    """The operations of a symbolic_trace graph, each in the form in which it was written."""
    forms = {
        "call_module": lambda target: f"module {type(gm.get_submodule(target)).__name__}({target})",
        "call_function": lambda target: f"function {short(target)}",
        "call_method": lambda target: f"method {target}",
    }
    return [forms[node.op](node.target) for node in gm.graph.nodes if node.op in forms]


def export_ops(gm: torch.fx.GraphModule) -> list[torch._ops.OpOverload]:
    """The operations of an exported graph: the very objects in node.target."""
    return [node.target for node in gm.graph.nodes if node.op == "call_function"]


styles = [FunctionalStyle().eval(), WrappedStyle().eval(), SequentialStyle().eval()]
traced = [fx_ops(torch.fx.symbolic_trace(style)) for style in styles]
exported = [export_ops(export(style, (torch.randn(2, 3, 8, 8),)).module()) for style in styles]
columns = zip(styles, traced, exported, strict=True)
rows = [[type(style).__name__, " → ".join(forms), " → ".join(map(short, ops))] for style, forms, ops in columns]
table(rows, ["style", "symbolic_trace", "export"])
targets = [str(op) for op in exported[0]]
print(targets)
assert len(set(map(tuple, traced))) == 3
assert exported[0] == exported[1] == exported[2]
assert targets == ["aten.conv2d.default", "aten.relu.default", "aten.mean.dim", "aten.linear.default"]

# %% zh:99750871
# `symbolic_trace` follows the way the model was written: a module is a `call_module` with class and path, `F.conv2d` is
# a function, `.mean()` a method. Whoever reads such a graph must know every form. The exported graph is the same ops
# however they were written, and flat.
#
# Why it matters: a backend decides node by node whether it has a kernel, and with one vocabulary it has one list to
# check. PyTorch positions Core ATen, a core subset of these ops, as the functional IR to interface with backends
# ([IRs](https://docs.pytorch.org/docs/stable/torch.compiler_ir.html)). And a PT2E quantizer can find conv by
# `node.target` ([M03-1](chapter:m03_1_a_quantizer_from_scratch)). The [overview of M00](chapter:m00)
# says more about this.
#
# ### B3 The layers, from top to bottom {#b3-layers}
#
# | layer | what it is | in the exported graph |
# | --- | --- | --- |
# | `nn.Conv2d` or a module of your own | a Python class | gone |
# | `F.conv2d` | a Python function | gone |
# | `torch.ops.aten.conv2d.default` | the op's name | it *is* `node.target` |
# | C++ kernels, one per device | the code that computes | not there; chosen when the op runs ([B4](#b4-dispatch)) |
#
# An ATen op can be split further into other ops: [M00-3](chapter:m00_3_decompositions).
assert not any(isinstance(submodule, nn.Conv2d) for submodule in gm.modules())
assert F.conv2d not in export_ops(gm)
assert export_ops(gm)[0] is torch.ops.aten.conv2d.default

# %% zh:d1be19d0
# ### B4 How an op finds its kernel {#b4-dispatch}
#
# Take `z = x + y` in eager mode on a CPU:
#
# 1. Python's `x + y` and `torch.add(x, y)` are two spellings; both arrive at the op `aten::add.Tensor`.
# 2. The dispatcher looks at the tensors' dispatch keys (backend, autograd, quantized, ...), by priority. Autograd comes
#    before the backend and records what a gradient needs, where one is needed.
# 3. The kernel registered for the backend computes, and the result comes back as a `Tensor`.
#
# Step 1 can be seen with `make_fx`, which runs a function and notes the ops that pass the dispatcher. For steps 2 and
# 3, `torch._C` (no public API, but good for a look) says which keys a tensor has, and for which keys an op has a
# kernel.
from torch.fx.experimental.proxy_tensor import make_fx

x, y, w = torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)
spellings = [str(op) for function in (lambda x, y: x + y, torch.add) for op in export_ops(make_fx(function)(x, y))]
tensors = {"x": x, "w (requires_grad=True)": w, "x.to(torch.int32)": x.to(torch.int32), 'x.to("meta")': x.to("meta")}
keys = [str(torch._C._dispatch_keys(tensor)) for tensor in tensors.values()]
kinds = ["CPU", "Meta", "Autograd", "CompositeImplicitAutograd"]
has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
found = {op: [has_kernel(op, kind) for kind in kinds] for op in ("aten::add.Tensor", "aten::conv2d")}
print(f"x + y: {spellings[0]}, torch.add(x, y): {spellings[1]}")
table(list(zip(tensors, keys, strict=True)), ["tensor", "dispatch keys"])
table([[op, *("yes" if kernel else "no" for kernel in row)] for op, row in found.items()], ["op", *kinds])
assert spellings == ["aten.add.Tensor", "aten.add.Tensor"]
assert keys[:3] == ["DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"] * 3
assert keys[3] == "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)"
assert [(x + y).requires_grad, (w + y).requires_grad] == [False, True]
assert found == {"aten::add.Tensor": [True, True, True, False], "aten::conv2d": [False, False, False, True]}

# %% zh:07887221
# - `AutogradCPU` is there with and without `requires_grad`: an ordinary tensor always passes that layer, and the layer
#   decides whether to record anything.
# - The dtype is not among the keys: float32 and int32 have the same ones. Telling them apart is left to the kernel.
# - `add` has kernels for `CPU`, for `Meta` (tensors with a shape and no data) and for autograd. `conv2d` has none of
#   these: it is composite, that is, written in terms of other ops. [M00-3](chapter:m00_3_decompositions) shows which.
#
# !!! note "General knowledge, not executed on this page"
#     - The order of keys: [How does the dispatcher work?](https://docs.pytorch.org/devlogs/dispatcher/2026-04-16-how-does-the-dispatcher-work/)
#     - CPU, CUDA and MPS have kernels of ATen's own; some of them call a library such as cuBLAS or
#       [cuDNN](https://github.com/pytorch/pytorch/tree/main/aten/src/ATen/native/cudnn).
#     - Inside a kernel, the dtype is usually switched by a macro from
#       [Dispatch.h](https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/Dispatch.h).
#     - After dispatch a kernel may still choose an implementation by its input: [M07-1](chapter:m07_1_which_kernel_ran)
#       shows conv doing so with the batch size.
#
# ## Summary: three points {#summary}
#
# 1. `torch.export.export()` gives an `ExportedProgram`: model state as placeholders, explained by a signature. PT2E
#    works on its `ep.module()`, a `GraphModule` that reads the state through `get_attr` and can be called.
# 2. The graph is flat. `meta` carries each node's shape and dtype, and later the annotations of a quantizer.
# 3. Different Python, same ATen ops: match on `node.target`, and how the model was written no longer matters.
#    (Some quantizers match on something else: [M03-3](chapter:m03_3_patterns_that_bite#functional).)
#
# Next, [M00-2](chapter:m00_2_eval_or_train): what `.eval()` before export changes in the graph.
