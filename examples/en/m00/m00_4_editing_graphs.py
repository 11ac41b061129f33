# zh:92b350f1
"""
# M00-4 | Editing a graph: the torch.fx operations used later

The three pages before this one only read graphs. Quantization edits them: `prepare_pt2e` inserts observers, modules
that record the range of values ([M02-2](chapter:m02_2_prepare_by_hand) does it by hand), and `convert_pt2e` replaces
them by quantize/dequantize (q/dq) ops and folds the weights to int8 ([M02-3](chapter:m02_3_convert_by_hand), by hand).
Here you learn to make such edits, and what the usual mistakes look like, in six steps on a small graph, conv → relu:

| step | what | API | used in |
|---|---|---|---|
| 1 | insert a new node | `add_submodule`, `inserting_after`, `call_module` | M02-2 |
| 2 | rewire the users | `replace_all_uses_with(delete_user_cb=...)` | M02-2 |
| 3 | regenerate forward | `recompile` | M02-2, M02-3 |
| 4 | replace it by a call_function | `inserting_before`, `call_function`, `erase_node` | M02-3 |
| 5 | put a constant in the graph | `register_buffer`, `get_attr` | M02-3 |
| 6 | clean up and check | `eliminate_dead_code`, `lint` | M02-3 |

If Graph and Node are new to you, start with [FX basics](chapter:fx_basics). Every method is in the official
[torch.fx](https://docs.pytorch.org/docs/stable/fx.html) documentation; the errors shown here are those of torch 2.13.

!!! note "Run the cells in order"
    All six steps edit the same `gm` in place. Run the cells from top to bottom; after a restart, begin at the top.
"""

# %% zh:2abbf7ca
# ## The graph before any edit {#start}
# Two helpers first: `first_line`, because FX appends the whole graph to some errors, and `Scale`, a module that can be
# called from the graph and whose effect is easy to see in the output.
import copy

import torch

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw

quiet()
_ = torch.manual_seed(0)


def first_line(e):
    return str(e).splitlines()[0]


class Scale(torch.nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        return x * self.k


# %% zh:dae8f42c
# The model is a conv with bias, then relu. `export_module` exports it with a dynamic batch and returns a `GraphModule`
# ([M00-1](chapter:m00_1_export_and_aten)). `base` keeps its output, to compare every edit with. Look at both sides of
# relu: `args` is what it takes (upstream), `users` is who takes it (downstream).
x = example_inputs(4)[0]
gm = export_module(get_model("conv_relu").eval(), (x,))
base = gm(x)
nodes = {n.name: n for n in gm.graph.nodes}
relu, output = nodes["relu"], nodes["output"]
print(f"relu.args = {relu.args}")
print(f"relu.users = {list(relu.users)}")
assert (relu.args, list(relu.users)) == ((nodes["conv2d"],), [output])
draw(gm, title="Start: relu takes conv2d, output takes relu")

# %% zh:d349f555
# ## Step 1: insert a new node {#step-1}
# Every edit answers two questions: **after which node does the new one go, and who is to take the new one?** Here is
# the first. A `call_module` node holds only the name of a module, so the module is registered beforehand.
# `inserting_after` sets the place in the list of nodes, the order of execution. Does `output` take the new node now?
gm.add_submodule("scale_out", Scale(2.0))
with gm.graph.inserting_after(relu):
    scale = gm.graph.call_module("scale_out", (relu,))
print(f"scale.users = {list(scale.users)}")
assert relu.next is scale
assert (scale.target, scale.args, list(scale.users), output.args) == ("scale_out", (relu,), [], ((relu,),))
gm.graph.lint()  # raises if the graph is not well-formed
draw(gm, title="After step 1: scale_out takes relu, but nobody takes scale_out", highlight=["scale_out"])

# %% zh:5f78f6ce
# It doesn't: a new node is not wired in by being created. `lint()` doesn't mind: a node that nobody uses is legal.
#
# ## Step 2: rewire the users {#step-2}
# `output` is to take `scale_out` instead of relu, and `replace_all_uses_with` sounds like just that. Try it on a copy,
# and look at what `scale_out` itself takes afterwards.
wrong = copy.deepcopy(gm)
wrong_relu, wrong_scale = [n for n in wrong.graph.nodes if n.name in ("relu", "scale_out")]
wrong_relu.replace_all_uses_with(wrong_scale)
print(f"scale_out.args = {wrong_scale.args}")
assert (wrong_scale.args, list(wrong_relu.users)) == ((wrong_scale,), [])
try:
    wrong.graph.lint()
except RuntimeError as e:
    lint_error = first_line(e)
print(lint_error)
assert lint_error == (
    "Argument 'scale_out' of Node 'scale_out' was used before it has been defined! "
    "Please check that Nodes in the graph are topologically ordered"
)

# %% zh:7ebf9769
# `scale_out` was built with `args = (relu,)`, so it is a user of relu, too. *All* users were rewired, `scale_out` among
# them: it now takes itself, and relu has no user left.
#
# ### The right way: all users but the new node {#step-2-fix}
# FX asks `delete_user_cb` about every user. Leave out the new node. Below, the wrong graph and then the right one:
relu.replace_all_uses_with(scale, delete_user_cb=lambda user: user is not scale)
print(f"relu.users = {list(relu.users)}")
print(f"scale.args = {scale.args}")
assert (list(relu.users), scale.args, list(scale.users)) == ([scale], (relu,), [output])
gm.graph.lint()
draw(wrong, title="Step 2, wrong: scale_out takes itself, nobody takes relu", highlight=["scale_out"], like=[gm])
draw(gm, title="After step 2: relu → scale_out → output", highlight=["scale_out"], like=[wrong])

# %% zh:2df7a416
# Remember: **to insert B after A, B takes A, and all of A's other users take B.** `prepare_pt2e` works that way.
#
# ### Without lint: UnboundLocalError at the call {#self-loop-symptom}
# `recompile()` turns a graph into Python code (step 3) and doesn't check it. What happens when the wrong one runs?
wrong.recompile()  # no error here
assert "scale_out = self.scale_out(scale_out)" in wrong.code
try:
    wrong(x)  # FX also prints a traceback to stderr, which this page leaves out
except UnboundLocalError as e:
    call_error = first_line(e)
print(f"UnboundLocalError: {call_error}")
assert call_error == "cannot access local variable 'scale_out' where it is not associated with a value"

# %% zh:7523af60
# The generated line, `scale_out = self.scale_out(scale_out)`, reads the variable that it is about to assign. If this
# error brought you here: a node takes a value that doesn't exist yet, here its own, and `gm.graph.lint()` says which.
# (Python 3.10 and older, not run here, say `local variable 'scale_out' referenced before assignment`.) The example in
# the documentation ran into it, too: [pytorch#118626](https://github.com/pytorch/pytorch/issues/118626).
#
# ## Step 3: regenerate forward {#step-3}
# The graph of `gm` is right. Does `gm(x)` compute the old graph or the new one? And a copy of `gm`?
print(f"before recompile(), output equals base: {torch.equal(gm(x), base)}")
assert torch.equal(gm(x), base)
assert torch.allclose(copy.deepcopy(gm)(x), 2 * base)
gm.recompile()
print(f"after recompile(), output equals 2 × base: {torch.allclose(gm(x), 2 * base)}")
assert torch.allclose(gm(x), 2 * base)

# %% zh:f16292ef
# `gm` computes the old one until `recompile()`: `forward` is generated code, and editing the graph doesn't touch it. A
# copy generates its own at once. So a bug that is gone in a copy may be no more than a missing `recompile()`.
#
# ## Step 4: replace it by a call_function {#step-4}
# In convert an observer (`call_module`) makes way for q/dq (`call_function`). Here one `call_function` is enough:
# `aten.mul.Tensor(relu, 2.0)` does the work of `Scale(2.0)`. Put it before the old node, and erase that one at once:
with gm.graph.inserting_before(scale):
    mul = gm.graph.call_function(torch.ops.aten.mul.Tensor, (relu, 2.0))
try:
    gm.graph.erase_node(scale)
except RuntimeError as e:
    erase_error = first_line(e)
print(erase_error)
assert erase_error == "Tried to erase Node scale_out but it still had 1 users in the graph: {output: None}!"

# %% zh:a7fc9f44
# Too early: `output` still takes `scale_out`. It must take `mul` first.
#
# !!! question "Does this need a delete_user_cb, too?"
#     In step 2, plain `replace_all_uses_with` made a loop. Would `scale.replace_all_uses_with(mul)` make one here?

# %% answer zh:6048f01e
# No. `mul` was built with `args = (relu, 2.0)`: it takes relu and is no user of `scale`, so it is not rewired.
assert list(scale.users) == [output]

# %% zh:b053959d
# The right order: move the users, erase the node, and delete the module, which does not go with its node.
scale.replace_all_uses_with(mul)
gm.graph.erase_node(scale)
assert gm.delete_submodule("scale_out")  # False would mean: nothing there to delete
gm.graph.lint()
gm.recompile()
print(f"mul.args = {mul.args}")
assert (mul.args, mul.all_input_nodes, output.args) == ((relu, 2.0), [relu], ((mul,),))
assert torch.allclose(gm(x), 2 * base)
draw(gm, title="After step 4: mul stands where scale_out stood", highlight=[mul.name])

# %% zh:a3ea12f7
# `mul` has two arguments but one input node: the 2.0 is a Python constant inside its `args`, not a node.
#
# ## Step 5: put a constant in the graph {#step-5}
# A Python number can stand in `args`, as the scale and zero point of a per-tensor q/dq do
# ([M01-1](chapter:m01_1_end_to_end)). A tensor, such as the scales of a per-channel q/dq, lives on the module:
# `register_buffer` stores it, a `get_attr` node reads it. The rest is step 4 again.
gm.register_buffer("two", torch.tensor(2.0))
with gm.graph.inserting_before(mul):
    two = gm.graph.get_attr("two")
    mul_two = gm.graph.call_function(torch.ops.aten.mul.Tensor, (relu, two))
mul.replace_all_uses_with(mul_two)
gm.graph.erase_node(mul)
gm.graph.lint()
gm.recompile()
print(f"mul_two.args = {mul_two.args}")
assert (mul_two.args, mul_two.all_input_nodes) == ((relu, two), [relu, two])
assert torch.allclose(gm(x), 2 * base)
draw(gm, title="After step 5: the constant stands in the label of mul, as ‹two›", highlight=[mul_two.name])

# %% zh:dc1dcdb4
# Now both arguments are nodes. Figures write a parameter or constant into its user's label, here ‹two›.
#
# ## Step 6: clean up and check {#step-6}
# Edits leave unused nodes, such as convert's float weight (M02-3). Insert one and let `eliminate_dead_code()` find it:
with gm.graph.inserting_after(relu):
    neg = gm.graph.call_function(torch.ops.aten.neg.default, (relu,))
assert neg.name.startswith("neg")
before = len(gm.graph.nodes)
gm.graph.eliminate_dead_code()
gm.graph.lint()
gm.recompile()
print(f"nodes: {before} → {len(gm.graph.nodes)}")
assert (before, len(gm.graph.nodes)) == (10, 9)
assert not any(n.name.startswith("neg") for n in gm.graph.nodes)
assert torch.allclose(gm(x), 2 * base)

# %% zh:96ce47cb
# ### What it keeps, and what it wrongly removes {#impure-nodes}
# A node goes if it has no users *and* is pure, that is, if running it does nothing but compute its result. Which nodes
# without users survive in a train-mode export?
train = export_module(get_model("conv_bn_relu").train(), (x,))
train.graph.eliminate_dead_code()
kept = [n for n in train.graph.nodes if not n.users and n.op != "output"]
print(kept)
assert [(n.name, n.is_impure()) for n in kept] == [("_guards_fn", True), ("add_", True)]
assert (kept[1].target, kept[1].args[0].target) == (torch.ops.aten.add_.Tensor, "bn.num_batches_tracked")


# %% zh:5a3a7829
# `_guards_fn` checks the input, `add_` writes to BN's batch counter ([M00-2](chapter:m00_2_eval_or_train)). Both are
# impure and stay. FX knows an in-place op by its schema, which says that it writes. After `symbolic_trace` there is no
# schema, only the name of a method, and FX takes every method for pure. One module, both ways:
class DoubleFirstChannel(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 0].mul_(2.0)
        return y


in_place = DoubleFirstChannel()
traced, exported = torch.fx.symbolic_trace(in_place), export_module(in_place, (x,))
(method,) = traced.graph.find_nodes(op="call_method", target="mul_")
(op,) = exported.graph.find_nodes(op="call_function", target=torch.ops.aten.mul_.Tensor)
assert (len(method.users), method.is_impure()) == (0, False)
assert (len(op.users), op.is_impure(), op.target._schema.is_mutable) == (0, True, True)
for edited in (traced, exported):
    edited.graph.eliminate_dead_code()
    edited.recompile()
print("symbolic_trace:", list(traced.graph.nodes))
print("torch.export:", list(exported.graph.nodes))
assert (method in traced.graph.nodes, op in exported.graph.nodes) == (False, True)
assert [torch.equal(edited(x), in_place(x)) for edited in (traced, exported)] == [False, True]
assert torch.equal(traced(x), x)

# %% zh:2d3dadff
# After `symbolic_trace`, `mul_` is gone without a word, and the output is just `x`
# ([pytorch#68301](https://github.com/pytorch/pytorch/issues/68301)). In the exported graph it stays, and the output is
# right. So never call `eliminate_dead_code()` on a traced graph that has in-place ops.
#
# ## Nodes made by hand have no meta["val"] {#no-meta}
# Exported ops keep shape and dtype in `meta["val"]` ([M00-1](chapter:m00_1_export_and_aten#a3-meta)). Which don't?
without_val = [n for n in gm.graph.nodes if n.op == "call_function" and "val" not in n.meta]
print(without_val)
assert without_val == [mul_two]

# %% zh:f2be9620
# Only the one made here, so a later pass that filters by `meta["val"]` may silently skip it:
# [pytorch#187945](https://github.com/pytorch/pytorch/issues/187945) reports this of `replace_pattern` (not run here).
#
# ## Setting node.target: late, and under the old name {#rename-target}
# To turn `mul` into an addition, assigning `target` looks like a shortcut. What does a copy compute before and after
# `recompile()`, and what is the node called in the end?
renamed = copy.deepcopy(gm)
(node,) = renamed.graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor)
node.target = torch.ops.aten.add.Tensor
assert torch.allclose(renamed(x), 2 * base)
renamed.recompile()
assert torch.allclose(renamed(x), base + 2)
print(f"name = {node.name}, target = {node.target}")
assert (node.name, node.target) == ("mul_tensor_1", torch.ops.aten.add.Tensor)

# %% zh:5af2d0dd
# First `2 * base`, then `base + 2`; and the node that adds is still called `mul_tensor_1`, so whatever shows names
# misleads. Match nodes by `op` and `target`, never by name; and rather than assign `target`, make a new node and move
# the users, as in step 4. [pytorch#133250](https://github.com/pytorch/pytorch/issues/133250) proposes that as a rule.
#
# ## Summary {#summary}
# | what to do | which calls |
# |---|---|
# | insert an observer | `add_submodule + inserting_after + call_module + replace_all_uses_with(delete_user_cb=...)` |
# | observer → q/dq | `inserting_before + call_function + replace_all_uses_with + erase_node (+ delete_submodule)` |
# | store scale/zero point | a Python constant in the args, or `register_buffer + get_attr` |
# | finish | `eliminate_dead_code, lint, recompile` |
#
# [M02-2](chapter:m02_2_prepare_by_hand) is steps 1–3, [M02-3](chapter:m02_3_convert_by_hand) is steps 4–6. To edit a
# graph yourself and have it checked, take the [lab](chapter:lab_m00); next is [M01-1](chapter:m01_1_end_to_end).
