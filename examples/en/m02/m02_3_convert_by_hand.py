# zh:c212adc0
"""
# M02-3 | convert_pt2e by hand

A calibrated model holds observers that have seen their ranges. `convert_pt2e` puts quantize and dequantize (q/dq) in
their place and makes the weights int8. On this page we do it by hand, with steps 4 to 6 of
[M00-4](chapter:m00_4_editing_graphs). Afterwards you will be able to

- rebuild `convert_pt2e`, node for node and bit for bit, on a conv and on a model with a skip connection;
- say what each of its edits is for, and which name in its result misleads;
- leave the weights in float with `fold_quantize=False`, and recognize such a graph;
- say why the saved file has grown instead of shrunk, and make it shrink.

Everything is as on a CPU with torch 2.13.0 and torchao 0.18.0. How the observers got there is in
[M02-2](chapter:m02_2_prepare_by_hand), how they compute scale and zero point in [M01-3](chapter:m01_3_the_arithmetic).
"""

# %% zh:b8987feb
# ## A calibrated model, and what convert makes of it {#start}
#
# `calibrate` does the steps before: export, prepare, and one batch. The quantizer is the `X86InductorQuantizer` of
# [M01-1](chapter:m01_1_end_to_end); that of M02-2 has its turn [further down](#copy-dequantize). The q/dq ops come in
# two pairs, per tensor and per channel.
import copy
import itertools
import operator
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.fx import GraphModule, Node

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
_ = torch.set_grad_enabled(False)  # nothing is trained here
_ = torch.manual_seed(0)
ops = torch.ops.quantized_decomposed
PER_TENSOR = ops.quantize_per_tensor.default, ops.dequantize_per_tensor.default
PER_CHANNEL = ops.quantize_per_channel.default, ops.dequantize_per_channel.default
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
x = example_inputs(4)[0]


def calibrate(model: nn.Module, quantizer: Quantizer) -> GraphModule:
    """The model exported, prepared and calibrated with x."""
    prepared = prepare_pt2e(export_module(model.eval(), (x,)), quantizer)
    prepared(x)
    return prepared


# %% zh:8687bed1
# The model is `conv_relu`; its two observers are on `x` and on the weight. Convert works in place, so it gets a copy.
# Another copy, `gm`, is ours to edit.
calibrated = calibrate(get_model("conv_relu"), x86)
goal = convert_pt2e(copy.deepcopy(calibrated))
gm = copy.deepcopy(calibrated)
nodes = {node.name: node for node in gm.graph.nodes}
on_x, on_weight = nodes["activation_post_process_0"], nodes["activation_post_process_1"]
x_observer, weight_observer = gm.get_submodule(on_x.target), gm.get_submodule(on_weight.target)
assert (on_x.args, on_weight.args) == ((nodes["x"],), (nodes["conv_weight"],))
assert isinstance(x_observer, ObserverBase) and isinstance(weight_observer, ObserverBase)


# %% zh:b92dc3bd
# ## One observer becomes two nodes {#one-observer}
#
# [Step 4](chapter:m00_4_editing_graphs#step-4) of M00-4: put the new nodes before the observer, move its users over,
# erase it. Both new nodes take the same scale and zero point, which the observer computes. For `x`, quantized per
# tensor, these are two numbers.
def put_qdq(gm: GraphModule, node: Node, pair: tuple, qparams: tuple) -> tuple[Node, Node]:
    """Put quantize → dequantize in the place of an observer's node."""
    with gm.graph.inserting_before(node):
        q = gm.graph.call_function(pair[0], (node.args[0], *qparams))
        dq = gm.graph.call_function(pair[1], (q, *qparams))
    node.replace_all_uses_with(dq)
    gm.graph.erase_node(node)
    gm.delete_submodule(node.target)
    return q, dq


scale, zero_point = x_observer.calculate_qparams()
qparams = (float(scale), int(zero_point), x_observer.quant_min, x_observer.quant_max, x_observer.dtype)
q, dq = put_qdq(gm, on_x, PER_TENSOR, qparams)
gm.graph.lint()
gm.recompile()
print(f"scale {qparams[0]:.4g}, zero point {qparams[1]}, from {qparams[2]} to {qparams[3]}, {qparams[4]}")
x_done = copy.deepcopy(gm)  # for the figures
draw_stages(
    [(calibrated, "calibrated"), (x_done, "x done")],
    title="The range has become s and z, the same in both nodes; the observer of the weight still waits",
)
wanted = {node.name: node for node in goal.graph.nodes}
assert (q.name, dq.name) == ("quantize_per_tensor_default", "dequantize_per_tensor_default")
assert wanted[q.name].args[1:] == wanted[dq.name].args[1:] == qparams == q.args[1:] == dq.args[1:]
assert nodes["conv2d"].args[0] is dq and not hasattr(gm, on_x.target)

# %% zh:953c1e85
# Nothing is left of the observer but its numbers, and these won't change any more. `delete_user_cb` was not needed: the
# new nodes take `x`, not the observer.
#
# ## Scales of a weight: tensors can't stand in args {#weight-observer}
#
# The weight is quantized per channel, with eight scales and eight zero points. The obvious thing is to write these two
# tensors into the args, like the numbers above. On a copy:
scales, zero_points = weight_observer.calculate_qparams()
rest = (weight_observer.ch_axis, weight_observer.quant_min, weight_observer.quant_max, weight_observer.dtype)
wrong = copy.deepcopy(gm)
(wrong_node,) = wrong.graph.find_nodes(op="call_module", target=on_weight.target)
put_qdq(wrong, wrong_node, PER_CHANNEL, (scales, zero_points, *rest))
wrong.graph.lint()  # no error here,
wrong.recompile()  # and none here
try:
    wrong(x)  # FX also prints a traceback to stderr, which this page leaves out
except NameError as error:
    refused = f"NameError: {error}"
print(refused)
assert refused == "NameError: name 'float32' is not defined"
assert "torch.Tensor(size=[8], dtype=float32)" in wrong.code


# %% zh:34637a8e
# `lint` and `recompile` accept it; the call fails. What runs is Python code made from the graph, and there each tensor
# was written as `torch.Tensor(size=[8], dtype=float32)`: a description, without the values. So a tensor has to live on
# the module, where a `get_attr` reads it: [step 5](chapter:m00_4_editing_graphs#step-5). Convert calls these buffers
# `_scale_0` and `_zero_point_0`, and so do we.
def add_buffers(gm: GraphModule, node: Node, scales: torch.Tensor, zero_points: torch.Tensor, number: int) -> tuple:
    """Keep both tensors on the module, and read them in two nodes before node."""
    gm.register_buffer(f"_scale_{number}", scales)
    gm.register_buffer(f"_zero_point_{number}", zero_points)
    with gm.graph.inserting_before(node):
        return gm.graph.get_attr(f"_scale_{number}"), gm.graph.get_attr(f"_zero_point_{number}")


buffers = add_buffers(gm, on_weight, scales, zero_points, 0)
q_weight, dq_weight = put_qdq(gm, on_weight, PER_CHANNEL, (*buffers, *rest))
gm.graph.lint()
gm.recompile()
weight_done = copy.deepcopy(gm)
print(f"args of {q_weight}: {q_weight.args}")
assert scales.shape == zero_points.shape == (8,) and not zero_points.any()
assert q_weight.all_input_nodes == [nodes["conv_weight"], *buffers]
assert dq_weight.all_input_nodes == [q_weight, *buffers]


# %% zh:3922852c
# ## Stop here, and it is `fold_quantize=False` {#fold-quantize}
#
# In our graph the weight is still float, and every run quantizes it anew. Convert makes just this graph if told to. We
# compare all that a graph says of its nodes, in their order: kind, name, target and arguments.
def listing(gm: GraphModule) -> list[tuple]:
    """All nodes in order, each with all that the graph says of it."""
    return [(node.op, node.name, node.target, str(node.args), str(node.kwargs)) for node in gm.graph.nodes]


unfolded = convert_pt2e(copy.deepcopy(calibrated), fold_quantize=False)
print(f"same nodes: {listing(gm) == listing(unfolded)} ({len(listing(gm))})")
calls = [len(module.graph.find_nodes(op="call_function", target=PER_CHANNEL[0])) for module in (unfolded, goal)]
rows = [
    ["`fold_quantize=False`", calls[0], ", ".join(unfolded.state_dict())],
    ["default", calls[1], ", ".join(goal.state_dict())],
]
table(rows, ["", "calls of `quantize_per_channel`", "tensors in the module"])
assert listing(gm) == listing(unfolded) and len(listing(gm)) == 13
assert calls == [1, 0] and goal.state_dict().keys() - unfolded.state_dict().keys() == {"_frozen_param0"}
assert not any(tensor.dtype == torch.int8 for tensor in unfolded.state_dict().values())
assert torch.equal(gm(x), unfolded(x)) and torch.equal(unfolded(x), goal(x))


# %% zh:2074616b
# So if your weights are not int8 after convert, look for a call of `quantize_per_channel` in the graph. In torch 2.2
# this was the default; [pytorch#118701](https://github.com/pytorch/pytorch/pull/118701) changed it to folding, so that
# models would get smaller. The outputs of both are the same to the last bit.
#
# ## Fold the weight: compute it once, then read it {#fold}
#
# All inputs of this quantize are constants, so its result is one, too. We compute it once, with the op that the node
# calls, keep it as a buffer, and let a `get_attr` read it. The dequantize behind it stays: folding that, too, would
# make the weight float again, and a backend wants the int8 values and their scales.
def fold(gm: GraphModule, q: Node, number: int) -> Node:
    """Put an int8 constant in the place of a weight's quantize."""
    tensors = [operator.attrgetter(source.target)(gm) for source in q.args[:3]]
    gm.register_buffer(f"_frozen_param{number}", q.target(*tensors, *q.args[3:]))
    with gm.graph.inserting_before(q):
        constant = gm.graph.get_attr(f"_frozen_param{number}")
    q.replace_all_uses_with(constant)
    gm.graph.erase_node(q)
    constant.name = q.name  # convert does so, too
    return constant


constant = fold(gm, q_weight, 0)
folded = copy.deepcopy(gm)
print(f"{constant}: {constant.op} of {constant.target}, {gm._frozen_param0.dtype}")
draw_stages(
    [(weight_done, "weight done"), (folded, "weight folded")],
    show_params=True,
    title="The int8 constant takes the place of quantize, under its name; nobody reads conv_weight any more",
)
assert (constant.name, constant.op) == ("quantize_per_channel_default", "get_attr")
assert constant.target == "_frozen_param0" and gm._frozen_param0.dtype == torch.int8

# %% zh:02eb8977
# The new node takes the name of the old one, so a `get_attr` is called `quantize_per_channel_default`. It looks odd,
# but convert does so.
#
# !!! question "How many nodes of `goal` quantize?"
#     Count twice: the nodes whose name begins with `quantize_`, and the nodes that call a quantize op. Which count
#     should a pass of yours go by?

# %% answer zh:22e8e858
# By name 2, by target 1. The node named `quantize_per_channel_default` quantizes nothing, it reads the int8 weight. Go
# by `op` and `target`, never by name: [M00-4](chapter:m00_4_editing_graphs#rename-target) had another reason for it.
by_name = [node.name for node in goal.graph.nodes if node.name.startswith("quantize_")]
by_target = [node.name for node in goal.graph.nodes if node.target in (PER_TENSOR[0], PER_CHANNEL[0])]
print(f"by name: {by_name}", f"by target: {by_target}", sep="\n")
assert by_name == ["quantize_per_channel_default", "quantize_per_tensor_default"]
assert by_target == ["quantize_per_tensor_default"]


# %% zh:437ea6ed
# ## Clean up, and compare with `convert_pt2e` {#compare}
#
# [Step 6](chapter:m00_4_editing_graphs#step-6) removes `conv_weight`. Have we made what convert makes? We compare the
# nodes, the output, and every tensor bit for bit. The figure has all the steps again.
def clean_up(gm: GraphModule) -> None:
    """Remove what nobody uses, check, regenerate forward."""
    gm.graph.eliminate_dead_code()
    gm.graph.lint()
    gm.recompile()


clean_up(gm)
gone = {node.name for node in folded.graph.nodes} - {node.name for node in gm.graph.nodes}
mine, theirs = gm.state_dict(), goal.state_dict()
print(f"gone: {gone}")
print(f"same nodes: {listing(gm) == listing(goal)} ({len(listing(gm))}), same output: {torch.equal(gm(x), goal(x))}")
print("same tensors:", {name: torch.equal(tensor, theirs[name]) for name, tensor in mine.items()})
stages = [(calibrated, "calibrated"), (x_done, "x done"), (weight_done, "weight done")]
draw_stages(
    [*stages, (gm, "weight folded, cleaned up")],
    title="From calibrated to converted; the last stage is what `convert_pt2e` makes",
)
assert gone == {"conv_weight"}
assert listing(gm) == listing(goal) and len(listing(gm)) == 12
assert torch.equal(gm(x), goal(x)) and torch.equal(mine["_frozen_param0"], theirs["_frozen_param0"])
assert mine.keys() == theirs.keys() and all(torch.equal(tensor, theirs[name]) for name, tensor in mine.items())
assert ("from_node" in dq.meta, "from_node" in wanted[dq.name].meta) == (False, True)


# %% zh:2ad228dc
# All the same. What we didn't compare is `meta`: under `from_node`, convert notes which observer a q/dq node came from,
# and we didn't (the last assert).
#
# ## A skip connection needs one more edit {#residual}
#
# Now `residual`, with a skip connection: `relu(conv2(relu(conv1(x))) + x)`. It has more observers and a second weight,
# so what we did above goes into two loops. Then we compare again.
def replace_observers(gm: GraphModule) -> None:
    """Put q/dq in the place of every observer."""
    numbers = itertools.count()
    for node in gm.graph.find_nodes(op="call_module"):
        observer = gm.get_submodule(node.target)
        if isinstance(observer, ObserverBase):  # all but _guards_fn
            scale, zero_point = observer.calculate_qparams()
            rest = (observer.quant_min, observer.quant_max, observer.dtype)
            if observer.qscheme == torch.per_channel_symmetric:
                buffers = add_buffers(gm, node, scale, zero_point, next(numbers))
                put_qdq(gm, node, PER_CHANNEL, (*buffers, observer.ch_axis, *rest))
            else:
                put_qdq(gm, node, PER_TENSOR, (float(scale), int(zero_point), *rest))


def fold_weights(gm: GraphModule) -> None:
    """Put an int8 constant in the place of every per-channel quantize."""
    for number, q in enumerate(gm.graph.find_nodes(op="call_function", target=PER_CHANNEL[0])):
        fold(gm, q, number)


residual = calibrate(get_model("residual"), x86)
residual_goal = convert_pt2e(copy.deepcopy(residual))
almost = copy.deepcopy(residual)
replace_observers(almost)
fold_weights(almost)
clean_up(almost)
print(f"same output: {torch.equal(almost(x), residual_goal(x))}")
print(f"nodes: {len(listing(almost))} by hand, {len(listing(residual_goal))} by convert")
draw_stages(
    [(almost, "by hand, so far"), (residual_goal, "convert_pt2e")],
    title="By hand, conv2d and add read the same dequantize of x; after convert, each reads its own",
)
(shared,) = [dq for dq in almost.graph.nodes if dq.target in (PER_TENSOR[1], PER_CHANNEL[1]) and len(dq.users) > 1]
assert torch.equal(almost(x), residual_goal(x)) and (len(listing(almost)), len(listing(residual_goal))) == (22, 23)
assert shared.target is PER_TENSOR[1] and {user.name for user in shared.users} == {"conv2d", "add"}
assert all("quantization_annotation" in user.meta for user in shared.users)


# %% zh:959d38ab
# The outputs are the same to the last bit, the graphs aren't: running the model would never have told us. The observer
# of `x` had two users, so our dequantize has two. Convert makes a copy for each. Why? A backend looks for patterns such
# as dequantize → conv and replaces them; a dequantize with two users would belong to two patterns at once
# ([pytorch#107900](https://github.com/pytorch/pytorch/pull/107900)).
#
# ### One dequantize for each user {#copy-dequantize}
#
# `node_copy` copies a node together with its arguments, `replace_input_with` moves over a single user. Then nobody uses
# the original, and cleaning up removes it. (Convert makes copies only for users that are annotated; here both are.)
def copy_dequantizes(gm: GraphModule) -> None:
    """Give each user of a dequantize its own."""
    for dq in gm.graph.find_nodes(op="call_function", target=PER_TENSOR[1]):
        if len(dq.users) > 1:
            for user in list(dq.users):
                with gm.graph.inserting_after(dq):
                    own = gm.graph.node_copy(dq)
                user.replace_input_with(dq, own)


def convert_by_hand(gm: GraphModule) -> GraphModule:
    """A converted copy of a calibrated model."""
    gm = copy.deepcopy(gm)
    replace_observers(gm)
    copy_dequantizes(gm)
    fold_weights(gm)
    clean_up(gm)
    return gm


by_hand = convert_by_hand(residual)
mine, theirs = by_hand.state_dict(), residual_goal.state_dict()
int8 = [name for name, tensor in theirs.items() if tensor.dtype == torch.int8]
print(f"same nodes: {listing(by_hand) == listing(residual_goal)} ({len(listing(by_hand))})")
print(f"same output: {torch.equal(by_hand(x), residual_goal(x))}")
print("same int8 weights:", {name: torch.equal(mine[name], theirs[name]) for name in int8})
assert listing(by_hand) == listing(residual_goal) and len(listing(by_hand)) == 23
assert torch.equal(by_hand(x), residual_goal(x)) and int8 == ["_frozen_param0", "_frozen_param1"]
assert mine.keys() == theirs.keys() and all(torch.equal(tensor, theirs[name]) for name, tensor in mine.items())

# %% zh:f67a02c2
# That is `convert_pt2e`, in four edits. It can do more than these models need: dynamic quantization and float16
# ([source](https://github.com/pytorch/ao/blob/v0.18.0/torchao/quantization/pt2e/convert.py), not run here), and BN
# after QAT ([M05-2](chapter:m05_2_qat_graphs)).
#
# !!! question "Does `convert_by_hand` have to know the quantizer?"
#     So far it has met X86InductorQuantizer only. XNNPACKQuantizer, as in M02-2, asks for int8 activations, for another
#     range of the weights, and for the output to be quantized, too ([M01-2](chapter:m01_2_annotations#two-quantizers)).
#     What would you have to change?

# %% answer zh:be71d6cd
# Nothing: all that it reads is in the observers. With XNNPACKQuantizer (the copy that torchao keeps for its tests) it
# agrees with convert on three models, one of them with BN.
xnnpack = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
rows = []
for name in ("conv_relu", "residual", "cnn"):
    other = calibrate(get_model(name), xnnpack)
    mine, theirs = convert_by_hand(other), convert_pt2e(other)
    rows.append([name, len(listing(theirs)), listing(mine) == listing(theirs), torch.equal(mine(x), theirs(x))])
table(rows, ["model", "nodes", "same nodes", "same output"])
assert rows == [["conv_relu", 14, True, True], ["residual", 27, True, True], ["cnn", 37, True, True]]

# %% zh:bc030822
# ## The float weight: its node is gone, the parameter stays {#fp32-parameter}
#
# Back to `goal`, as convert made it. Whatever this graph reads, a `get_attr` reads. Which tensor does nobody read?
read = {node.target for node in goal.graph.find_nodes(op="get_attr")}
rows = [
    [name, str(tensor.dtype), list(tensor.shape), "`get_attr`" if name in read else "nobody"]
    for name, tensor in goal.state_dict().items()
]
table(rows, ["tensor", "dtype", "shape", "read by"])
assert [row[:2] for row in rows if row[3] == "nobody"] == [["conv.weight", "torch.float32"]]

# %% zh:b7c46267
# `conv.weight` is still there, in float32. Convert does mean to delete it, but only `if hasattr(gm, node.target)`
# ([source](https://github.com/pytorch/ao/blob/v0.18.0/torchao/quantization/pt2e/constant_fold.py)), and `hasattr` can't
# follow a dotted name such as `conv.weight`. That this is the reason can be tried: we convert the same kind of conv
# twice, as the whole model, where its weight is called `weight`, and inside another module, where it is `0.weight`.
alone = convert_pt2e(calibrate(nn.Conv2d(3, 8, 3), x86))
inside = convert_pt2e(calibrate(nn.Sequential(nn.Conv2d(3, 8, 3)), x86))
print("the whole model:", ", ".join(alone.state_dict()))
print("inside another module:", ", ".join(inside.state_dict()))
assert set(alone.state_dict()) == {"bias", "_scale_0", "_zero_point_0", "_frozen_param0"}
assert set(inside.state_dict()) == {"0.weight", "0.bias", "_scale_0", "_zero_point_0", "_frozen_param0"}
assert not hasattr(inside, "0.weight") and inside.get_parameter("0.weight").dtype == torch.float32

# %% zh:4f37550b
# As the whole model it is deleted, inside another module it stays. Most models have modules, so they keep all of their
# float weights, in memory and in the file: here, with torchao 0.18.0, and in
# [torch-xpu-ops#1684](https://github.com/intel/torch-xpu-ops/issues/1684).
#
# ## The file gets larger; how to make it smaller {#file-size}
#
# `conv_relu` is too small for measuring, so here is a wider model. From a copy of the converted one we delete what no
# `get_attr` reads. Then we save the `state_dict` of each. If the float file is 100%, how large are the others?
wide = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, padding=1), nn.ReLU())
to_convert = calibrate(wide, x86)
converted = convert_pt2e(copy.deepcopy(to_convert))

slim = copy.deepcopy(converted)
read = {node.target for node in slim.graph.find_nodes(op="get_attr")}
deleted = [name for name in slim.state_dict() if name not in read]
for name in deleted:
    owner, _, leaf = name.rpartition(".")
    delattr(slim.get_submodule(owner), leaf)
print(f"deleted: {deleted}")
assert torch.equal(slim(x), converted(x))
assert deleted == ["0.weight", "2.weight"]

models = {
    "float": export_module(wide, (x,)),
    "`fold_quantize=False`": convert_pt2e(to_convert, fold_quantize=False),
    "converted": converted,
    "converted, unread deleted": slim,
}
rows, sizes = [], []
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "state.pt")
    for label, model in models.items():
        state = model.state_dict()
        torch.save(state, path)
        sizes.append(path.stat().st_size)
        float32, int8 = (sum(t.nbytes for t in state.values() if t.dtype == d) for d in (torch.float32, torch.int8))
        rows.append([label, f"{float32:,}", f"{int8:,}", f"{sizes[-1] / sizes[0]:.0%}"])
table(rows, ["model", "bytes in float32", "bytes in int8", "file"])
assert [row[3] for row in rows] == ["100%", "101%", "126%", "27%"]
assert sizes[3] < sizes[0] < sizes[1] < sizes[2]

# %% zh:055dbed9
# The converted file is a quarter *larger*: the int8 weights have come, and the float ones haven't gone. Without those
# that nobody reads, it is about a quarter of the float file, and the output is the same to the last bit. `.pt2` files,
# and how to load them, are in [M06-4](chapter:m06_4_save_and_load).
#
# !!! question "Isn't there a method for this?"
#     A `GraphModule` has `delete_all_unused_submodules()`. Will it delete the float weights of `converted`? And that of
#     a conv without bias?

# %% answer zh:b3eaa0cf
# It deletes whole submodules, and only if no node reads anything in them. A conv with bias stays, weight and all,
# because a `get_attr` reads its bias. A conv without bias goes.
without_bias = convert_pt2e(calibrate(nn.Sequential(nn.Conv2d(3, 8, 3, bias=False)), x86))
converted.delete_all_unused_submodules()
without_bias.delete_all_unused_submodules()
kept = [[name for name in module.state_dict() if name.endswith("weight")] for module in (converted, without_bias)]
print(f"with bias: {kept[0]}", f"without bias: {kept[1]}", sep="\n")
assert kept == [["0.weight", "2.weight"], []]

# %% zh:9ae887be
# ## Summary: four points {#summary}
#
# 1. An observer becomes quantize → dequantize, both with its scale and zero point: per tensor as Python numbers in the
#    args, per channel as buffers that a `get_attr` reads.
# 2. The quantize of a weight is computed once, and an int8 constant takes its place and its name. `fold_quantize=False`
#    leaves this out.
# 3. A dequantize with several users gets a copy for each. The output doesn't show it, only the graph does.
# 4. The float weights stay in the module, so the file gets larger. Delete what no `get_attr` reads.
#
# To replace observers yourself and have it checked, take the [lab](chapter:lab_m02). Next, in
# [M03-1](chapter:m03_1_a_quantizer_from_scratch), you write the quantizer that decides where observers go at all.
