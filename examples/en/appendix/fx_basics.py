# zh:6f520f63
"""
# FX basics: Node, Graph and GraphModule

For readers who know PyTorch and have not used torch.fx. Afterwards you will be able to read any FX graph:

- know the six kinds of op, and what `name`, `target`, `args`, `kwargs`, `users` and `meta` are;
- know how a graph and its code correspond, and what may be edited in which way;
- say how tracing and export differ, and why PT2E (PyTorch 2 Export quantization) uses the graphs of export.

Messages are those of torch 2.13.0; the whole API is in the official
[torch.fx](https://docs.pytorch.org/docs/stable/fx.html) documentation.
"""

# %% zh:ceeb8bb0
# ## Three objects {#three-objects}
#
# An FX graph is a `forward` written down as data, with one Node for each step:
#
# - A **Node** is one step, such as "call linear" or "read a parameter".
# - A **Graph** is a list of Nodes in the order of execution.
# - A **GraphModule** is a Graph together with the parameters and submodules that it uses. It is an `nn.Module`, and can
#   be called like any other.
#
# The quickest way to a graph is `torch.fx.symbolic_trace`. This small model mixes styles on purpose, so that its graph
# has a bit of everything (what the shapes in a figure mean is in the [overview of M00](chapter:m00#figures)):
import copy
import operator

import torch
import torch.nn as nn
from torch.export import export
from torch.fx import Graph, GraphModule, Node, symbolic_trace

from common.graph_utils import short
from common.viz import draw, draw_stages, table

_ = torch.manual_seed(0)


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        y = self.linear(x) * self.scale
        return torch.add(y.relu(), x, alpha=0.5)


model, x = Mixed(), torch.randn(2, 4)
gm = symbolic_trace(model)
nodes = {node.name: node for node in gm.graph.nodes}
draw(gm, show_params=True, title="The graph of Mixed: a node for each step, and arrows for the flow of data")
assert isinstance(gm, GraphModule) and isinstance(gm, nn.Module)
assert isinstance(gm.graph, Graph) and all(isinstance(node, Node) for node in gm.graph.nodes)
assert list(nodes) == ["x", "linear", "scale", "mul", "relu", "add", "output"]
assert torch.equal(gm(x), model(x))

# %% zh:67c032df
# ## The graph as code: gm.code {#code}
#
# The `forward` of a GraphModule is generated from its graph. Print it and compare it with the figure: a line for each
# node.
print(gm.code.strip())
assert "mul = linear * scale" in gm.code
assert "add = torch.add(relu, x, alpha = 0.5)" in gm.code

# %% zh:1150b0f4
# What follows a semicolon, `= None`, drops values that nobody needs any more. After an edit of the graph, the code
# changes only when you call `gm.recompile()` ([M00-4](chapter:m00_4_editing_graphs#step-3)).
#
# ## Six kinds of op {#op-kinds}
#
# `node.op` says which kind of step it is, `node.target` what it calls, reads or takes. All six are in this table (an
# ATen op is something else: an operation, such as conv2d or relu):
rows = [[node.op, node.name, short(node.target), node.args, node.kwargs] for node in gm.graph.nodes]
table(rows, ["op", "name", "target", "args", "kwargs"])
kinds = [node.op for node in gm.graph.nodes]
assert kinds[:3] == ["placeholder", "call_module", "get_attr"]
assert kinds[3:] == ["call_function", "call_method", "call_function", "output"]
assert [type(node.target) for node in gm.graph.nodes if node.op != "call_function"] == [str] * 5
assert (nodes["mul"].target, nodes["add"].target) == (operator.mul, torch.add)

# %% zh:586d1889
# | op | what the step does | what target is |
# | --- | --- | --- |
# | `placeholder` | takes an argument of `forward` | the argument's name (a string) |
# | `get_attr` | reads a parameter, buffer or constant | its path in the module (a string) |
# | `call_module` | calls a submodule | its path (a string) |
# | `call_function` | calls a function on `args` | the function object itself |
# | `call_method` | calls a method of `args[0]` | the method's name (a string) |
# | `output` | returns `args[0]` | the string `output` |
#
# In a terminal, `gm.graph.print_tabular()` prints such a table, but it wants another package, `tabulate`, and is not
# run here. `print(gm.graph)` needs nothing else: a line for each node, and `%` marks what is a node.
print(gm.graph)
assert "%relu : [num_users=1] = call_method[target=relu](args = (%mul,), kwargs = {})" in str(gm.graph)

# %% zh:9fa627c9
# ## args, kwargs and users: how nodes are connected {#edges}
#
# `args` and `kwargs` hold two kinds of things: Nodes, the results of other steps, and Python constants. The Nodes among
# them are the edges of the graph. FX keeps the other direction, `users`: who takes this node. Look at both ends, `x`
# and `add`:
add = nodes["add"]
print(f"add.args = {add.args}, add.kwargs = {add.kwargs}")
print(f"add.all_input_nodes = {add.all_input_nodes}")
print(f"x.users = {list(nodes['x'].users)}")
assert add.args == (nodes["relu"], nodes["x"]) and add.kwargs == {"alpha": 0.5}
assert add.all_input_nodes == [nodes["relu"], nodes["x"]]
assert list(nodes["x"].users) == [nodes["linear"], add]

# %% zh:a90ab9ee
# What stands in `args` is the Node *object*, not its name; `all_input_nodes` has the Nodes only, without constants.
#
# ### Replace them, don't change them in place {#immutable}
#
# `args` is a tuple, and `kwargs` is no ordinary dict either: FX must notice a change, or `users` would be wrong. First
# the wrong way, then the right one; watch `users` follow.
edited = copy.deepcopy(gm)
again = {node.name: node for node in edited.graph.nodes}
try:
    again["add"].kwargs["alpha"] = 1
except TypeError as error:
    refused = f"TypeError: {str(error).splitlines()[0]}"
print(refused)
again["add"].kwargs = {"alpha": 1}
again["add"].args = (again["mul"], again["x"])  # no longer takes relu
edited.recompile()
print(f"relu.users = {list(again['relu'].users)}, mul.users = {list(again['mul'].users)}")
assert refused == (
    "TypeError: 'immutable_dict' object does not support mutation. "
    "If you are attempting to modify the kwargs or args of a torch.fx.Node object,"
)
assert list(again["relu"].users) == [] and list(again["mul"].users) == [again["relu"], again["add"]]
with torch.no_grad():
    assert torch.equal(edited(x), model.linear(x) * 2 + x)

# %% zh:e8184e76
# How to insert, rewire and erase nodes, and what usually goes wrong, is in [M00-4](chapter:m00_4_editing_graphs).
#
# ## name is a label, target is what it is {#name-and-target}
#
# FX makes up the `name`. No two nodes of a graph share one, so it can serve as a variable; but it doesn't promise to
# say what the step does.
#
# !!! question "Three times relu: what are they called?"
#     This `forward` has an argument called `relu`, and calls `torch.relu` twice. If you look for relu operations by
#     `node.name == "relu"`, what do you find?
class Confusing(nn.Module):
    def forward(self, relu):
        return torch.relu(torch.relu(relu) - 1)


confusing = symbolic_trace(Confusing())

# %% answer zh:47dc4d26
# The argument. Whoever comes first gets the name, so the operations are `relu_1` and `relu_2`. Look for op and target,
# and you find them all:
by_name = [node for node in confusing.graph.nodes if node.name == "relu"]
by_target = confusing.graph.find_nodes(op="call_function", target=torch.relu)
print(f"by name: {[(n.name, n.op) for n in by_name]}")
print(f"by target: {[(n.name, n.op) for n in by_target]}")
assert [(n.name, n.op) for n in by_name] == [("relu", "placeholder")]
assert [(n.name, n.op) for n in by_target] == [("relu_1", "call_function"), ("relu_2", "call_function")]

# %% zh:71d34b1b
# ## meta: a dict for everybody {#meta}
#
# Every node has a `meta`. FX doesn't care what is in it, and merely takes it along when a graph is copied. Export keeps
# shape and dtype in `meta["val"]`; a quantizer, the object that decides what gets quantized, puts its wishes into
# `meta["quantization_annotation"]` ([M01-2](chapter:m01_2_annotations)). Here we put something in, and make a copy:
nodes["mul"].meta["note"] = "times scale"
copied = {node.name: node.meta.get("note") for node in copy.deepcopy(gm).graph.nodes}
print(copied)
assert copied["mul"] == "times scale" and set(copied.values()) == {"times scale", None}
assert not any("val" in node.meta for node in gm.graph.nodes)

# %% zh:8c84a63a
# A graph of `symbolic_trace` has no `meta["val"]`; the next section says why.
#
# ## Tracing and export: two ways to a graph {#tracing-or-export}
#
# Both run `forward` once and write down what happens. They differ in what they run it on.
#
# - `symbolic_trace` takes a `Proxy`, which notes that "somebody made this call on me" and knows neither shape nor
#   dtype. What it notes are calls at the level of Python: modules, functions, methods, each as it was written.
# - `torch.export.export` takes a `FakeTensor`, with shape and dtype but no values. What it notes are ATen ops, one
#   level down (the operations of PyTorch's core library, [M00-1](chapter:m00_1_export_and_aten#b)).
#
# Both graphs of the same model: which nodes have a different op?
exported = export(model, (x,)).module()
draw_stages(
    [(gm, "symbolic_trace"), (exported, "export")],
    show_params=True,
    title="Mixed twice: symbolic_trace keeps the style, export makes everything an ATen op",
)
names = ["linear", "mul", "relu", "add"]
others = {node.name: node for node in exported.graph.nodes}
rows = [[name, nodes[name].op, short(nodes[name].target), others[name].op, str(others[name].target)] for name in names]
table(rows, ["node", "symbolic_trace: op", "target", "export: op", "target"])
assert [row[1] for row in rows] == ["call_module", "call_function", "call_method", "call_function"]
assert [row[3] for row in rows] == ["call_function"] * 4
assert [row[4] for row in rows] == ["aten.linear.default", "aten.mul.Tensor", "aten.relu.default", "aten.add.Tensor"]
assert all(list(others[name].meta["val"].shape) == [2, 4] for name in names)
assert [node.target for node in exported.graph.find_nodes(op="get_attr")] == ["scale", "linear.weight", "linear.bias"]
with torch.no_grad():
    assert torch.equal(exported(x), model(x))

# %% zh:8d5653be
# In the graph of export, `linear` is no submodule any more, its parameters are `get_attr` nodes of their own, and every
# operation is a `call_function`. A quantizer that looks for an operation needs to know `node.target` and nothing about
# how the model was written. That is why PT2E uses this graph.
#
# ### Both see one path only {#one-path}
#
# Whoever runs a function once sees only the path that was taken. Loops are unrolled; with an `if`, it depends on the
# condition. Here, that is a shape:
class ByBatch(nn.Module):
    def forward(self, x):
        for step in range(2):
            x = x + step
        if x.shape[0] > 4:
            return x * 10
        return x


try:
    symbolic_trace(ByBatch())
except Exception as error:
    traced = f"{type(error).__name__}: {error}"
small = export(ByBatch(), (torch.ones(2, 4),)).module()
try:
    small(torch.ones(8, 4))
except AssertionError as error:
    guarded = f"AssertionError: {error}"
targets = [str(node.target) for node in small.graph.nodes if node.op == "call_function"]
print(traced, targets, guarded, sep="\n")
assert traced == "TraceError: symbolically traced variables cannot be used as inputs to control flow"
assert targets == ["aten.add.Tensor", "aten.add.Tensor"]
assert guarded == "AssertionError: Guard failed: x.size()[0] == 2"

# %% zh:4f774df7
# - `symbolic_trace` knows no shapes and stops at the `if`.
# - Export knows that the batch is 2, and takes the path without the 10. There is no `if` left in the graph, only two
#   additions, the unrolled loop. Fortunately [`_guards_fn`](chapter:m00_1_export_and_aten#a2-guards-fn) refuses a batch
#   of 8, which would otherwise take the wrong path in silence.
# - `if self.training` is settled in the same way: [M00-2](chapter:m00_2_eval_or_train).
#
# ## A graph written by hand {#by-hand}
#
# A graph can be made without a trace, node by node. All that a GraphModule needs is a module that holds the parameters,
# and a graph:
graph = Graph()
a = graph.placeholder("a")
b = graph.call_function(torch.ops.aten.relu.default, (a,))
graph.output(b)
graph.lint()  # raises if the graph is not well-formed
by_hand = GraphModule(nn.Module(), graph)
print(by_hand.code.strip())
assert torch.equal(by_hand(x), x.relu())
assert a.users == {b: None} and [node.op for node in graph.nodes] == ["placeholder", "call_function", "output"]

# %% zh:efeceeb4
# ## Summary: four points {#summary}
#
# 1. A Node is a step, a Graph is Nodes in order, and a GraphModule is a Graph that has parameters and can be called;
#    its `forward` is generated from the graph.
# 2. `args` and `kwargs` hold the Node objects upstream; `users` is the other direction, kept by FX. Replace them as a
#    whole.
# 3. To find a node, look at `op` and `target`, not at `name`.
# 4. `symbolic_trace` notes how the Python was written, export notes ATen ops and shapes; both see only the path that
#    was taken.
#
# Read on in [M00-1](chapter:m00_1_export_and_aten): what else there is in a graph of export. To edit graphs, see
# [M00-4](chapter:m00_4_editing_graphs).
