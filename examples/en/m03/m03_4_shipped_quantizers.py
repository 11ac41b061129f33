# zh:9acc1142
"""
# M03-4 | Shipped quantizers: choosing and configuring one

torchao comes with quantizers for several backends, and with one that joins others. After this page you can

- choose one by what it asks for, op by op, on your own model;
- configure it for one module, for one type of module, or leave a part in float;
- combine two of them, in the order that works;
- find a setting that came to nothing, by a count, because hardly any of these raises an error.

All of it is as on a CPU with torch 2.13.0 and torchao 0.18.0. What an annotation is and how it becomes an observer is
in [M01-2](chapter:m01_2_annotations); how a quantizer is written, in [M03-1](chapter:m03_1_a_quantizer_from_scratch).
"""

# %% zh:0dabdd9f
# ## Five quantizers, and which XNNPACKQuantizer {#shipped}
#
# | quantizer | for |
# | --- | --- |
# | `X86InductorQuantizer` | Inductor on x86 CPUs ([M06-2](chapter:m06_2_x86_inductor)) |
# | `ArmInductorQuantizer` | Inductor on Arm CPUs |
# | `XPUInductorQuantizer` | Inductor on Intel GPUs |
# | `XNNPACKQuantizer` | XNNPACK, by way of ExecuTorch ([M06-3](chapter:m06_3_executorch_xnnpack)) |
# | `EmbeddingQuantizer` | embedding tables, beside another quantizer |
#
# Of XNNPACKQuantizer there are two. The supported one is part of ExecuTorch, and is the one for a project of yours. It
# is not among the packages of this site: with it and what it needs, an environment grows beyond 1 GB. This page takes
# the copy that torchao keeps for its own tests, and whose docstring calls it deprecated. All that is said about
# XNNPACKQuantizer below was run with this copy, and not with the other.
import copy
import warnings

import torch
import torch.nn as nn

from common.pt2e import export_module, quiet, sqnr
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    ComposableQuantizer,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.arm_inductor_quantizer import (
    ArmInductorQuantizer,
    get_default_arm_inductor_quantization_config,
)
from torchao.quantization.pt2e.quantizer.embedding_quantizer import EmbeddingQuantizer, get_embedding_operators_config
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.quantization.pt2e.quantizer.xpu_inductor_quantizer import (
    XPUInductorQuantizer,
    get_default_xpu_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
assert "!!! DEPRECATED !!!" in XNNPACKQuantizer.__doc__

# %% zh:4bf94c36
# A configuration holds the specs that the quantizer hands out: one for activations (the data between nodes), one for
# weights, one for biases. Here the backends first differ. Are there two with the same row? (XNNPACK's own default is
# one scale for a whole weight; `is_per_channel=True` asks for one a channel.)
configs = {
    "x86": get_default_x86_inductor_quantization_config(),
    "Arm": get_default_arm_inductor_quantization_config(),
    "XPU": get_default_xpu_inductor_quantization_config(),
    "XNNPACK": get_symmetric_quantization_config(is_per_channel=True),
    "Embedding": get_embedding_operators_config().config,
}


def brief(spec: QuantizationSpec | None) -> str:
    """The dtype, the range of the integers if the spec has one, and the qscheme."""
    if spec is None:
        return "—"
    limits = f" [{spec.quant_min}, {spec.quant_max}]" if spec.quant_min is not None else ""
    return f"{spec.dtype}{limits} {spec.qscheme}".replace("torch.", "")


rows = [[name, *map(brief, (config.input_activation, config.weight, config.bias))] for name, config in configs.items()]
table(rows, ["quantizer", "activation", "weight", "bias"])
assert [row[1:] for row in rows] == [
    ["uint8 [0, 255] per_tensor_affine", "int8 [-128, 127] per_channel_symmetric", "—"],
    ["int8 [-128, 127] per_tensor_affine", "int8 [-128, 127] per_tensor_symmetric", "—"],
    ["int8 [-128, 127] per_tensor_affine", "int8 [-128, 127] per_channel_symmetric", "—"],
    ["int8 [-128, 127] per_tensor_affine", "int8 [-127, 127] per_channel_symmetric", "—"],
    ["—", "uint8 per_channel_affine_float_qparams", "—"],
]
assert get_symmetric_quantization_config().weight.qscheme == torch.per_tensor_symmetric


# %% zh:06ebffd6
# No two are the same. Biases stay in float everywhere ([M03-2](chapter:m03_2_specs) does otherwise), and an embedding
# has no activation to quantize: its input is a list of row numbers. (`float_qparams` keeps the zero points as floats.)
#
# ## What each of them asks for, on one model {#table}
#
# The model has twelve ops, and modules to configure by name: `stem` (conv, relu, max pool), `block` (a conv with a skip
# connection), an average pool, an embedding beside them, a linear. There is no BN, so that the graph we annotate is the
# one that prepare annotates ([why](chapter:m01_2_annotations#inside-prepare)). The two functions are those of M01-2.
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.relu = nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()

    def forward(self, x):
        return self.relu(self.conv(x) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.block, self.pool = Block(), nn.AdaptiveAvgPool2d(1)
        self.emb, self.fc = nn.Embedding(10, 8), nn.Linear(16, 4)

    def forward(self, x, ids):
        features = torch.flatten(self.pool(self.block(self.stem(x))), 1)
        return torch.sigmoid(self.fc(torch.cat([features, self.emb(ids)], 1)))


def annotate(gm: torch.fx.GraphModule, quantizer: Quantizer) -> torch.fx.GraphModule:
    """A copy of gm with the annotations of the quantizer."""
    annotated = quantizer.transform_for_annotation(copy.deepcopy(gm))
    quantizer.annotate(annotated)
    quantizer.validate(annotated)
    return annotated


def observed(gm: torch.fx.GraphModule) -> dict[tuple[str, str], ObserverBase]:
    """The edges (source, user) with an observer between, and that observer."""
    calls = [(node, gm.get_submodule(node.target)) for node in gm.graph.find_nodes(op="call_module")]
    observers = [(node, module) for node, module in calls if isinstance(module, ObserverBase)]
    return {(node.args[0].name, user.name): module for node, module in observers for user in node.users}


_ = torch.manual_seed(0)
model = Net().eval()
inputs = (torch.randn(4, 3, 16, 16), torch.randint(10, (4,)))
gm = export_module(model, inputs)
quantizers = {
    "x86": X86InductorQuantizer().set_global(configs["x86"]),
    "Arm": ArmInductorQuantizer().set_global(configs["Arm"]),
    "XPU": XPUInductorQuantizer().set_global(configs["XPU"]),
    "XNNPACK": XNNPACKQuantizer().set_global(configs["XNNPACK"]),
    "Embedding": EmbeddingQuantizer(),
}
graphs = {name: annotate(gm, quantizer) for name, quantizer in quantizers.items()}
assert sum(node.op == "call_function" for node in gm.graph.nodes) == 12


# %% zh:db304362
# Annotating only writes on a graph, so all five run on any CPU. Each cell is read from `meta`: how many inputs are to
# be quantized, and whether the output is, too ("same": with the observer of the input). "In a pattern" is an annotation
# without a wish: the op is computed together with the one before it, and nothing is to stand between them.
def wishes(graph: torch.fx.GraphModule) -> dict[str, str]:
    """For each op of an annotated graph, what its annotation asks for."""
    found = {}
    for node in [node for node in graph.graph.nodes if node.op == "call_function"]:
        annotation = node.meta.get("quantization_annotation")
        inputs = sum(bool(spec) for spec in annotation.input_qspec_map.values()) if annotation else 0
        output = annotation.output_qspec if annotation else None
        words = [f"{inputs} in"] if inputs else []
        words += ["out = same" if isinstance(output, SharedQuantizationSpec) else "out"] if output else []
        found[node.name] = ", ".join(words) or ("in a pattern" if annotation else "—")
    return found


found = {name: wishes(graph) for name, graph in graphs.items()}
table([[op, *(column[op] for column in found.values())] for op in found["x86"]], ["op", *found])
both, same, pattern, none = "2 in, out", "1 in, out = same", "in a pattern", "—"
ops = ["conv2d", "relu", "max_pool2d", "conv2d_1", "add", "relu_1", "adaptive_avg_pool2d", "flatten"]
ops += ["embedding", "cat", "linear", "sigmoid"]
expected = {
    "x86": ["2 in", pattern, same, "2 in", "1 in", pattern, same, same, none, none, "2 in", none],
    "Arm": ["2 in", none, none, "2 in", "1 in", none, none, none, none, none, "2 in", none],
    "XPU": ["2 in", pattern, none, "2 in", "1 in", pattern, same, same, none, none, "2 in", none],
    "XNNPACK": ["2 in", "out", same, both, "2 in", "out", same, same, none, none, both, none],
    "Embedding": [none] * 8 + ["1 in", none, none, none],
}
assert found == {name: dict(zip(ops, column, strict=True)) for name, column in expected.items()}

# %% zh:036d9ea3
# How to read it:
#
# - **conv2d, linear**: all but Embedding ask for activation and weight as integers. XNNPACK asks for the output, too;
#   the three for Inductor leave that to the op that comes next.
# - **conv2d_1 → add → relu_1** is one pattern for x86 and XPU, and conv2d_1 → add is one for Arm. Hence a single input
#   of add: the skip connection. XNNPACK takes conv2d_1 by itself, and add with relu_1.
# - **Pools and flatten** can keep the scale of their input, and are worth an int8 kernel only if what comes in is
#   quantized anyway. Arm has none of them, XPU no max pool.
# - **cat** gets nothing from x86 because the embedding beside it is float, and nothing at all from this XNNPACK
#   ([M03-3](chapter:m03_3_patterns_that_bite)). **sigmoid** has no rule in any of them.
#
# A wish is not an observer yet. So we prepare with each and count the edges that have one; what belongs to one group
# counts once in the last column.
results = {name: observed(prepare_pt2e(copy.deepcopy(gm), quantizer)) for name, quantizer in quantizers.items()}
rows = [[name, len(edges), len(set(edges.values()))] for name, edges in results.items()]
table(rows, ["quantizer", "edges with an observer", "observers"])
draw_stages(
    [(graphs["x86"], "X86InductorQuantizer"), (graphs["XNNPACK"], "XNNPACKQuantizer")],
    title="Dashed frames are wishes; XNNPACK also asks for the outputs of conv2d_1 and linear",
)
assert rows == [["x86", 11, 7], ["Arm", 7, 6], ["XPU", 10, 7], ["XNNPACK", 13, 9], ["Embedding", 1, 1]]
assert results["XNNPACK"].keys() - results["x86"].keys() == {("conv2d_1", "add"), ("linear", "sigmoid")}
assert results["x86"].keys() < results["XNNPACK"].keys() and results["Arm"].keys() < results["x86"].keys()


# %% zh:5b6c59f7
# So the choice follows the backend; the table says what you get from it. Make it for your own model before you
# calibrate anything: the op that you care about may be a "—".
#
# ## Configuring X86InductorQuantizer {#x86}
#
# Instead of `set_global`, or together with it, three methods choose a part: `set_module_name_qconfig`,
# `set_module_type_qconfig` and `set_function_type_qconfig`. A configuration quantizes that part; `None` leaves it in
# float. The narrowest wins: first names, then types and functions, then `set_global`. The table lists the weights that
# got an observer; look for the two rows that changed nothing against the first.
def outcome(quantizer: Quantizer) -> list[int | str]:
    """The number of edges with an observer after prepare, and which weights are among their sources."""
    edges = observed(prepare_pt2e(copy.deepcopy(gm), quantizer))
    return [len(edges), ", ".join(source for source, _ in edges if source.endswith("_weight")) or "none"]


def x86() -> X86InductorQuantizer:
    """Without any configuration."""
    return X86InductorQuantizer()


config = configs["x86"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    attempts = {
        "global": x86().set_global(config),
        'name "block"': x86().set_module_name_qconfig("block", config),
        'global, name "block" None': x86().set_global(config).set_module_name_qconfig("block", None),
        'global, name "blok" None': x86().set_global(config).set_module_name_qconfig("blok", None),
        "type nn.Linear": x86().set_module_type_qconfig(nn.Linear, config),
        "global, type Block None": x86().set_global(config).set_module_type_qconfig(Block, None),
        "function torch.cat": x86().set_function_type_qconfig(torch.cat, config),
    }
rows = [[label, *outcome(quantizer)] for label, quantizer in attempts.items()]
table(rows, ["configuration", "edges", "weights with an observer"])
messages = [str(warning.message).partition(" for ")[0] for warning in caught]
print(*messages, sep="\n")
everything = "stem_0_weight, block_conv_weight, fc_weight"
assert rows[0][1:] == rows[3][1:] == rows[5][1:] == [11, everything]
assert rows[1][1:] == [3, "block_conv_weight"]
assert rows[2][1:] == [7, "stem_0_weight, fc_weight"]
assert rows[4][1:] == [2, "fc_weight"]
assert rows[6][1:] == [0, "none"]
assert messages == ["Module: Unable to customize quantization config"]
assert nn.Conv1d not in X86InductorQuantizer.module_function_to_aten_operator_type

# %% zh:68c77d12
# - **A name** is a path in the model, `"block"` or `"block.conv"`, and includes what is below it. A name that matches
#   nothing ("blok") is no error and no warning: 11 edges, as if it weren't there.
# - **A type** here stands for an op, so only those of a fixed list are known, such as `nn.Conv2d` and `nn.Linear`
#   (`nn.Conv1d` is not among them). For any other, such as our `Block`, the one sign is a warning, printed above.
# - **cat alone** gets nothing: like the pools, it is annotated only after something that is.
#
# Nor can one quantizer mix static configurations and dynamic ones (whose range is found at run time): the later one is
# dropped, again with no more than warnings.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    dynamic = get_default_x86_inductor_quantization_config(is_dynamic=True)
    mixed = x86().set_global(config).set_module_name_qconfig("fc", dynamic)
messages = [str(warning.message) for warning in caught]
print(*messages, sep="\n")
assert messages == [
    "Mixed dynamic and static quantization config is not supported.",
    "Skip the quantization config for fc.",
]
assert mixed.module_name_qconfig == {}

# %% zh:58083832
# In your own code, make these warnings errors, as in [M01-1](chapter:m01_1_end_to_end#warning-as-error). To catch
# typos, call `model.get_submodule(name)` first: it raises if there is no such module.
try:
    model.get_submodule("blok")
except AttributeError as error:
    unknown = f"AttributeError: {error}"
print(unknown)
assert unknown == "AttributeError: Net has no attribute `blok`"

# %% zh:7a31c424
# !!! question "Leave the convs in float: how many of the 11 edges remain?"
#     `set_global(config)` and then `set_module_type_qconfig(nn.Conv2d, None)`. Go through the column x86 of the
#     [table](#table): which ops keep their wishes once the two convs have none? One warning will come, too.

# %% answer zh:e0783d53
# Two: those of linear. add and the relus are parts of a conv's pattern, and a pool is annotated only after something
# that is quantized, so all these go as well. The one warning is about the max pool; the average pool and flatten are
# passed over without a word.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    without_conv = outcome(x86().set_global(config).set_module_type_qconfig(nn.Conv2d, None))
messages = [str(warning.message).partition(" with config ")[0] for warning in caught]
print(without_conv, *messages, sep="\n")
assert without_conv == [2, "fc_weight"]
assert messages == ["The input of maxpool2d is not quantized, skip annotate maxpool2d"]


# %% zh:2fa2dbf3
# ## Configuring XNNPACKQuantizer: check for convs {#xnnpack}
#
# The methods are called `set_module_name`, `set_module_type` and `set_operator_type` here. A type may be any class of
# module. Look at the last column: which weight is missing although it was asked for?
def xnnpack() -> XNNPACKQuantizer:
    """Without any configuration."""
    return XNNPACKQuantizer()


config = configs["XNNPACK"]
attempts = {
    "global": xnnpack().set_global(config),
    'name "block"': xnnpack().set_module_name("block", config),
    "type nn.Conv2d": xnnpack().set_module_type(nn.Conv2d, config),
    "type nn.Linear": xnnpack().set_module_type(nn.Linear, config),
    "global, type Block None": xnnpack().set_global(config).set_module_type(Block, None),
    "op aten.linear": xnnpack().set_operator_type(torch.ops.aten.linear, config),
    "global, op aten.linear None": xnnpack().set_global(config).set_operator_type(torch.ops.aten.linear, None),
}
rows = [[label, *outcome(quantizer)] for label, quantizer in attempts.items()]
table(rows, ["configuration", "edges", "weights with an observer"])
try:
    xnnpack().set_module_name("block", None)
except AssertionError as error:
    refused = f"AssertionError:{error}"
print(refused)
assert rows[0][1:] == rows[6][1:] == [13, everything]
assert rows[1][1:] == [5, "none"] and rows[2][1:] == [0, "none"]
assert rows[3][1:] == [3, "fc_weight"]
assert rows[4][1:] == [11, "stem_0_weight, fc_weight"]
assert rows[5][1:] == [0, "none"]
assert refused == "AssertionError: quantization_config == None is not supported yet"

# %% zh:d436cccb
# - `set_module_name("block", …)` has 5 edges, and yet the conv of the block is not among them; with
#   `set_module_type(nn.Conv2d, …)` there are none at all. Both are silent.
# - `set_operator_type` does nothing, neither with a configuration nor with `None`: the value is stored and never read
#   ([pytorch#131055](https://github.com/pytorch/pytorch/issues/131055)).
# - To leave a module in float, give its *type* `None`; for a *name*, `None` is refused, by an error that says so.
#
# ### Why convs are missed {#why-convs}
#
# Both quantizers look up where a node comes from in `meta["nn_module_stack"]`
# ([M00-1](chapter:m00_1_export_and_aten#a3-meta)). For a conv, XNNPACKQuantizer asks this of the weight and the bias,
# too. But these are `get_attr` nodes, and they have no stack; so the conv is never from the right module. For a linear
# it asks the node alone, which is why that works.
nodes = {node.name: node for node in gm.graph.nodes}
stacks = {name: [path for path, _ in nodes[name].meta.get("nn_module_stack", {}).values()] for name in nodes}
table([[name, str(stacks[name])] for name in ("conv2d_1", "block_conv_weight", "linear")], ["node", "modules"])
assert stacks["conv2d_1"] == ["", "block", "block.conv"] and stacks["block_conv_weight"] == []
assert {node.op for node in gm.graph.nodes if not stacks[node.name]} == {"get_attr", "placeholder", "output"}


# %% zh:54537dac
# The fix is to give each weight the stack of the op that reads it. `transform_for_annotation` is the place for it:
# prepare calls it right before `annotate`.
class FindsConvs(XNNPACKQuantizer):
    def transform_for_annotation(self, model):
        model = super().transform_for_annotation(model)
        for node in model.graph.find_nodes(op="get_attr"):
            reader = next(iter(node.users))
            node.meta["nn_module_stack"] = reader.meta["nn_module_stack"]
        return model


warnings.filterwarnings("ignore", message="FindsConvs is deprecated!")  # what the copy says of every subclass

rows = [
    ['name "block"', *outcome(FindsConvs().set_module_name("block", config))],
    ["type nn.Conv2d", *outcome(FindsConvs().set_module_type(nn.Conv2d, config))],
]
table(rows, ["configuration", "edges", "weights with an observer"])
assert rows[0][1:] == [7, "block_conv_weight"]
assert rows[1][2] == "stem_0_weight, block_conv_weight"

# %% zh:4b966840
# Now the weights are there. Whatever the quantizer, then: after a partial configuration, count what you meant to have,
# and what you meant not to have.
#
# ## Composing two quantizers {#composing}
#
# `ComposableQuantizer` calls several quantizers in turn on the same graph. A node that one has annotated is taken, and
# the next passes it over; so the order is the order of precedence. Which pairs add up, and which don't?
pairs = {
    "Embedding, x86": ["Embedding", "x86"],
    "x86, Embedding": ["x86", "Embedding"],
    "x86, XNNPACK": ["x86", "XNNPACK"],
    "XNNPACK, x86": ["XNNPACK", "x86"],
    "Embedding, Embedding": ["Embedding", "Embedding"],
}
rows = []
for label, names in pairs.items():
    try:
        result = str(outcome(ComposableQuantizer([quantizers[name] for name in names]))[0])
    except (AssertionError, RuntimeError) as error:
        result = f"{type(error).__name__}: {error}"
    rows.append([label, " + ".join(str(len(results[name])) for name in names), result])
table(rows, ["quantizers, in order", "edges, each alone", "edges together"])
assert [row[2] for row in rows] == [
    "12",
    "12",
    "11",
    "AssertionError: ",
    "RuntimeError: Quantizer EmbeddingQuantizer has changed annotations on node embedding",
]


# %% zh:1798dc28
# - **Embedding and x86** add up, in either order, since they deal with different ops.
# - **x86, then XNNPACK** gives 11, just as x86 alone does: what XNNPACK wants is taken. Nothing is said.
# - **XNNPACK, then x86** fails with an AssertionError without a message: x86 looks at what stands before a pool and
#   accepts only annotations of its own class there. So put x86 first.
# - **Overwriting** is refused, with a message. EmbeddingQuantizer does it, as it doesn't check whether a node is taken.
#
# ### validate isn't called {#validate}
#
# A quantizer can refuse a graph in `validate` ([M03-1](chapter:m03_1_a_quantizer_from_scratch#validate)). In a
# composition this check is lost, because `ComposableQuantizer.validate` is empty:
class Strict(EmbeddingQuantizer):
    def validate(self, model):
        raise ValueError("refused by validate")


try:
    prepare_pt2e(copy.deepcopy(gm), Strict())
except ValueError as error:
    alone = str(error)
composed = outcome(ComposableQuantizer([Strict(), quantizers["x86"]]))
print(f"alone: {alone}; composed: {composed[0]} edges")
assert (alone, composed[0]) == ("refused by validate", 12)


class Composed(ComposableQuantizer):
    def validate(self, model):
        for quantizer in self.quantizers:
            quantizer.validate(model)


try:
    prepare_pt2e(copy.deepcopy(gm), Composed([Strict(), quantizers["x86"]]))
except ValueError as error:
    fixed = str(error)
assert fixed == alone

# %% zh:75191d44
# The four lines of `Composed` bring it back.
#
# ### The composition at work {#composition}
#
# Calibrate and convert the first pair. Does the embedding read integers now?
prepared = prepare_pt2e(copy.deepcopy(gm), ComposableQuantizer([quantizers["Embedding"], quantizers["x86"]]))
with torch.no_grad():
    prepared(*inputs)
    converted = convert_pt2e(prepared)
    quality = sqnr(model(*inputs), converted(*inputs))
(embedding,) = converted.graph.find_nodes(op="call_function", target=torch.ops.aten.embedding.default)
frozen = converted.get_buffer(embedding.args[0].args[0].target)
print(f"embedding table: {frozen.dtype} {list(frozen.shape)}, SQNR: {quality:.4g} dB")
assert (frozen.dtype, list(frozen.shape)) == (torch.uint8, [10, 8])
assert 49 < quality < 51

# %% zh:7b376009
# Not directly: its table is uint8 now, but a dequantize stands between the two. All the rest is as x86 alone would
# have it.
#
# ## Summary: four points {#summary}
#
# 1. The backend decides which quantizer; a table of its wishes, read from `meta`, says what your model gets from it.
# 2. x86 takes names, functions and a fixed list of types; `None` leaves a part in float. XNNPACK (torchao's copy) takes
#    any type, but finds convs by name or type only with a fix, and `set_operator_type` does nothing.
# 3. Compose in order of precedence, with x86 before XNNPACK, and see to `validate` yourself.
# 4. A typo, an unknown type, a taken node: nothing stops you. After prepare, count the edges and look for the weights.
#
# With this M03 is complete: try the [lab](chapter:lab_m03). [M04-1](chapter:m04_1_observers) goes on with the observers
# that all these specs bring along.
