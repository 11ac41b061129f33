# zh:cbfb61d9
"""
# M02-1 | From annotation to observer: where they go, and which are shared

`prepare_pt2e` turns annotations into observers. In [M01-2](chapter:m01_2_annotations) every edge that was asked for got
one, and sometimes two edges shared one. This page has the rules. Afterwards you will be able to

- predict from the annotations where the observers go, how many there are, and which of them are one object;
- say what prepare does to conv and BN before it annotates, and when that goes wrong;
- tell which wishes about one value share an observer, and which don't;
- notice when a wish was dropped.

Everything is as on a CPU with torch 2.13.0 and torchao 0.18.0.
"""

# %% zh:96be0c5f
# ## Four steps inside prepare {#four-steps}
#
# 1. **Fold.** BN that directly follows a conv goes into the weight and bias of the conv.
# 2. **Annotate.** The quantizer writes its wishes, the specs of inputs and outputs, into `meta`.
# 3. **Group.** Wishes that belong together make a group, and each group gets one observer object.
# 4. **Insert.** Node by node, in the order of the graph: first the observers of its inputs, then that of its output.
#
# We take them one by one, with the two quantizers of M01-2 (XNNPACKQuantizer is again the copy that torchao keeps for
# its tests). Our `prepare` calls `prepare_pt2e` and keeps a copy of the graph from between steps 2 and 3: when prepare
# calls `validate`, the annotations are there, and no observer is ([M01-2](chapter:m01_2_annotations#inside-prepare)).
import copy
from collections import namedtuple
from dataclasses import replace
from itertools import combinations
from unittest.mock import patch

import torch
import torch.nn as nn

from common.graph_utils import short
from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw, draw_stages, table

quiet()
from torchao.quantization.pt2e import HistogramObserver, MinMaxObserver, ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
_ = torch.manual_seed(0)
KEY = "quantization_annotation"
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
xnnpack = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))


def prepare(gm, quantizer):
    """The annotated graph (only to look at) and the prepared one. gm stays as it is."""
    kept = []
    with patch.object(quantizer, "validate", lambda model: kept.append(copy.deepcopy(model))):
        prepared = prepare_pt2e(copy.deepcopy(gm), quantizer)
    return kept[0], prepared


def ops(gm):
    """The operations of a graph, in order."""
    return [short(node.target) for node in gm.graph.nodes if node.op == "call_function"]


# %% zh:1a4cabbe
# ## First, BN is folded into the conv {#fold}
#
# You exported in eval mode, and BN is still there ([pytorch#141116](https://github.com/pytorch/pytorch/issues/141116))?
# It has to be: export writes down what `forward` does, and never folds. Prepare does. So that there is something to
# fold, we give BN other parameters and statistics than a new one has. Where is `batch_norm` in the three stages, and
# what did the quantizer get to see?
model, (x,) = get_model("conv_bn_relu"), example_inputs(8)
nn.init.uniform_(model.bn.weight, 0.5, 1.5)
nn.init.normal_(model.bn.bias)
with torch.no_grad():
    for _ in range(5):
        model(2 * torch.randn(8, 3, 16, 16) + 1)  # in train mode, which updates the statistics
exported = export_module(model.eval(), (x,))
annotated, prepared = prepare(exported, xnnpack)
stages = [(exported, "exported"), (annotated, "annotated"), (prepared, "prepared")]
draw_stages(stages, title="batch_norm is gone before anything is annotated; each dashed frame becomes an observer")
assert ops(exported) == ["conv2d", "batch_norm", "relu"]
assert ops(annotated) == ops(prepared) == ["conv2d", "relu"]

# %% zh:34a4a1f1
# It saw conv2d → relu, a pattern that it knows. In eval mode, BN multiplies each channel by one number and adds
# another, `(y - mean) / sqrt(var + eps) * weight + bias`, and the conv before it can do both by itself. By hand:
bn = model.bn
with torch.no_grad():
    rsqrt = torch.rsqrt(bn.running_var + bn.eps)
    weight = model.conv.weight * (bn.weight * rsqrt)[:, None, None, None]
    bias = (0 - bn.running_mean) * rsqrt * bn.weight + bn.bias  # 0: this conv has no bias
    reference = model(x)
    error = (prepared(x) - reference).abs().max() / reference.abs().max()
same = [torch.equal(prepared.conv.weight, weight), torch.equal(prepared.conv.weight_bias, bias)]
print(f"weight and bias equal bit for bit: {same}")
print(f"largest difference of the outputs: {error:.0e} of the largest output")
assert same == [True, True]
assert error < 1e-6  # one rounding in float32 is up to 6e-8; each output is a sum of 28 numbers
assert [node.target for node in prepared.graph.find_nodes(op="get_attr")] == ["conv.weight", "conv.weight_bias"]


# %% zh:a34cf1f1
# - The weight and bias of the folded conv are ours, bit for bit. The outputs differ by rounding only: the same is
#   computed in another order.
# - The conv had no bias, so folding made one, `conv.weight_bias`, with a `get_attr` of its own.
# - Mean and variance are the stored ones, even if the export was in train mode
#   ([M00-2](chapter:m00_2_eval_or_train#ptq-on-train)).
#
# ### Silently wrong: somebody else reads the conv, too {#fold-two-users}
#
# In this model, both BN and add read the conv. We prepare it with a quantizer that asks for nothing, so folding is all
# that happens. The second row has `torch.clone` between conv and BN. Which row is right?
class BnAndAdd(nn.Module):
    def __init__(self, between):
        super().__init__()
        self.conv, self.bn, self.between = model.conv, model.bn, between

    def forward(self, x):
        y = self.conv(x)
        return self.bn(self.between(y)) + y


with torch.no_grad():
    y = model.conv(x)
    right, twice = model.bn(y) + y, 2 * model.bn(y)
    folded = [
        prepare(export_module(BnAndAdd(between).eval(), (x,)), X86InductorQuantizer())[1]
        for between in (nn.Identity(), torch.clone)
    ]
    errors = [(gm(x) - right).abs().max() / right.abs().max() for gm in folded]
    assert torch.allclose(folded[0](x), twice, atol=1e-5)
rows = [
    [between, " → ".join(ops(gm)), f"{error:.4g}"]
    for between, gm, error in zip(("nothing", "`clone`"), folded, errors, strict=True)
]
table(rows, ["between conv and BN", "operations after prepare", "largest difference / largest output"])
assert [ops(gm) for gm in folded] == [["conv2d", "add"], ["conv2d", "clone", "batch_norm", "add"]]
assert errors[0] > 0.3 and errors[1] == 0

# %% zh:38464ea6
# The second one. When it folds, torchao 0.18.0 doesn't ask who else reads the conv. So add, too, gets the output *with*
# BN, and the graph computes `2 * bn(conv(x))` (the first assert). There is no error. We know of no report about
# torchao; [executorch#20601](https://github.com/pytorch/executorch/pull/20601) repairs the same mistake in a pass of
# its own. Two things help:
#
# - **Compare right after prepare.** Observers change nothing, so up to rounding `prepared` gives what the float model
#   gives. If it doesn't, no calibration will help. (Run a `deepcopy`: every run calibrates.)
# - **Put an op in between.** Only BN *directly* behind a conv is folded. Behind a `clone`, it stays in the graph, in
#   float.
#
# ## On an edge, or on an output {#edge-or-output}
#
# From here on, the model is `residual`, `relu(conv2(relu(conv1(x))) + x)`. To try one rule at a time, `Asks` writes the
# wishes that we give it and no others (a quantizer for real use is in [M03-1](chapter:m03_1_a_quantizer_from_scratch)).
# One and the same value, x, can be asked for as an *input* of conv2d, that is, on the edge x → conv2d, or as the
# *output* of x. Who reads the observer then, and who still reads x itself?
int8 = QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, torch.per_tensor_affine)
residual = export_module(get_model("residual").eval(), (x,))


class Asks(Quantizer):
    """Writes the given wishes: `("x", "conv2d")` stands for that edge, `"x"` for the output of x, each with a spec."""

    def __init__(self, wishes, implicit=True):
        super().__init__()
        self.wishes, self.implicit = wishes, implicit

    def annotate(self, model):
        nodes = {node.name: node for node in model.graph.nodes}
        for place, spec in self.wishes.items():
            source, user = place if isinstance(place, tuple) else (None, place)
            new = QuantizationAnnotation(allow_implicit_sharing=self.implicit)
            annotation = nodes[user].meta.setdefault(KEY, new)
            if source:
                annotation.input_qspec_map[nodes[source]] = spec
            else:
                annotation.output_qspec = spec
        return model

    def validate(self, model):
        pass


_, as_input = prepare(residual, Asks({("x", "conv2d"): int8}))
_, as_output = prepare(residual, Asks({"x": int8}))
rows = []
for label, gm in (("input of conv2d", as_input), ("output of x", as_output)):
    value, observer = [node for node in gm.graph.nodes if node.name in ("x", "activation_post_process_0")]
    of_value = sorted(user.name for user in value.users if user is not observer)
    of_observer = sorted(user.name for user in observer.users)
    rows.append([label, ", ".join(of_value) or "—", ", ".join(of_observer)])
table(rows, ["asked for as", "still read x", "read the observer"])
draw_stages(
    [(as_input, "input of conv2d"), (as_output, "output of x")],
    title="An input's observer serves one user, an output's observer all users, add among them",
)
assert rows[0][1:] == ["_guards_fn, add", "conv2d"]
assert rows[1][1:] == ["—", "_guards_fn, add, conv2d"]


# %% zh:22d9c8ab
# The observer of an input stands on *one edge*: this user reads it, all others read x as before. The observer of an
# output stands behind the node, and all users move to it, as in [M00-4](chapter:m00_4_editing_graphs#step-2-fix); even
# `_guards_fn`, which figures leave out.
#
# ## Two wishes about one value {#implicit}
#
# The output of relu is asked for, and so is the edge relu → conv2d_1: two wishes about one value. Those of two users of
# x are another such pair. Prepare makes one observer of a pair *if the specs agree*; that is called implicit sharing.
# `look` goes through all edges and lists the observer objects that a value passes, numbered from 1. In which rows will
# there be one object, and in which two?
def numbered(paths):
    """Numbers in the place of objects: 1 for the first, 2 for the next."""
    numbers = {}
    return {edge: [numbers.setdefault(item, len(numbers) + 1) for item in path] for edge, path in paths.items()}


def look(gm):
    """For each edge (source, user) of the model: the observers that a value passes on it, in order."""
    calls = [(node, gm.get_submodule(node.target)) for node in gm.graph.find_nodes(op="call_module")]
    observers = {node: module for node, module in calls if isinstance(module, ObserverBase)}
    paths = {}
    for user in (node for node in gm.graph.nodes if node not in observers):
        for source in user.all_input_nodes:
            path = []
            while source in observers:
                path.insert(0, observers[source])
                source = source.args[0]
            if path:
                paths[source.name, user.name] = path
    return numbered(paths)


uint8 = replace(int8, dtype=torch.uint8, quant_min=0, quant_max=255)
to_conv, to_add, after_relu = ("x", "conv2d"), ("x", "add"), ("relu", "conv2d_1")
disagree = {to_conv: int8, to_add: uint8, "relu": int8, after_relu: uint8}
cases = {
    "two users: both int8": Asks({to_conv: int8, to_add: int8}),
    "two users: int8, uint8": Asks({to_conv: int8, to_add: uint8}),
    "two users: both int8, `allow_implicit_sharing=False`": Asks({to_conv: int8, to_add: int8}, implicit=False),
    "output int8, its user int8": Asks({"relu": int8, after_relu: int8}),
    "output int8, its user uint8": Asks({"relu": int8, after_relu: uint8}),
}
by_case = [prepare(residual, asks) for asks in cases.values()]
found = [look(gm) for _, gm in by_case]
edges = [", ".join(f"{source} → {user}: {path}" for (source, user), path in paths.items()) for paths in found]
table(zip(cases, edges, strict=True), ["wishes", "observers on the edges"])
_, unequal = prepare(residual, Asks(disagree))
draw(unequal, title="Wishes that disagree: side by side for two users of x, in a row for relu and its user")
assert found[0] == {to_conv: [1], to_add: [1]}
assert found[1] == found[2] == {to_conv: [1], to_add: [2]}
assert found[3:] == [{after_relu: [1]}, {after_relu: [1, 2]}]
assert look(unequal) == {to_conv: [1], after_relu: [2, 3], to_add: [4]}

# %% zh:4705343a
# - **They agree:** one object, and one node. So if the source's output has an observer, the edge reads that one and
#   gets none of its own.
# - **They disagree, two users:** two observers side by side.
# - **They disagree, output and user:** two in a row. The value will be quantized twice, which is rarely what anyone
#   wants.
# - With `allow_implicit_sharing=False` in both annotations, there are two although the specs agree.
#
# Specs agree if they have the same dtype, `quant_min`, `quant_max`, qscheme, `ch_axis` and `is_dynamic`, and the same
# scale and zero point where these are fixed beforehand ([M03-2](chapter:m03_2_specs)).
#
# !!! question "What if only the kind of observer differs?"
#     conv2d asks for x with a `MinMaxObserver`, add with a `HistogramObserver`, and all else is the same. How many
#     observers will there be, and of which kind? Does it matter which wish is written first?

# %% answer zh:f2943742
# One, a `MinMaxObserver`. The kind is not among what must agree, and the group takes that of the wish which comes first
# in the *graph*, so the order of writing doesn't matter. That add asked for a histogram is forgotten, and no message
# says so. To get both, turn sharing off (the last row).
histogram = replace(int8, observer_or_fake_quant_ctr=HistogramObserver)
trials = {
    "conv2d first": Asks({to_conv: int8, to_add: histogram}),
    "add first": Asks({to_add: histogram, to_conv: int8}),
    "`allow_implicit_sharing=False`": Asks({to_conv: int8, to_add: histogram}, implicit=False),
}
kinds = []
for asks in trials.values():
    _, gm = prepare(residual, asks)
    kinds.append(sorted(type(module).__name__ for module in gm.modules() if isinstance(module, ObserverBase)))
table(zip(trials, map(", ".join, kinds), strict=True), ["wishes", "observer"])
assert kinds == [["MinMaxObserver"], ["MinMaxObserver"], ["HistogramObserver", "MinMaxObserver"]]


# %% zh:60c8309c
# ## One object in several places: SharedQuantizationSpec {#shared}
#
# Different values can share an observer, too, but only if the quantizer says so, with a `SharedQuantizationSpec`. Say a
# backend can add integers only when both inputs and the output have the same scale. Then two of the three specs of add
# point to the third, that of the edge x → add. How many observer nodes will there be, and how many objects?
class OneScaleForAdd(Quantizer):
    def annotate(self, model):
        (add,) = model.graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor)
        conv, skip = add.args
        same = SharedQuantizationSpec((skip, add))
        add.meta[KEY] = QuantizationAnnotation({skip: int8, conv: same}, output_qspec=same)
        return model

    def validate(self, model):
        pass


annotated, shared = prepare(residual, OneScaleForAdd())
stages = [(annotated, "annotated"), (shared, "prepared")]
draw_stages(stages, title="The letter A: three frames, three nodes, one object")
once, all_names = [
    [name for name, module in shared.named_modules(remove_duplicate=unique) if isinstance(module, ObserverBase)]
    for unique in (True, False)
]
print(f"named_modules(): {once}", f"named_modules(remove_duplicate=False): {all_names}", sep="\n")
observer = shared.get_submodule(once[0])
assert (len(once), len(all_names)) == (1, 3)
assert all(shared.get_submodule(name) is observer for name in all_names)
assert look(shared) == {("conv2d_1", "add"): [1], to_add: [1], ("add", "relu_1"): [1]}
assert look(copy.deepcopy(shared)) == look(shared)

# %% zh:51168911
# Three nodes call one object, under three names. `named_modules()` and `modules()` list an object only once, so who
# counts observers that way gets 1; with `remove_duplicate=False` it is 3. A `deepcopy` keeps the sharing (the last
# assert).
#
# What does it cost? We calibrate with one batch, and compare the range that the object has recorded with those of the
# three values:
eager = get_model("residual").eval()
with torch.no_grad():
    shared(x)
    conv2d_1 = eager.conv2(eager.relu1(eager.conv1(x)))
values = {"x": x, "conv2d_1": conv2d_1, "add": conv2d_1 + x}
low, high = observer.min_val, observer.max_val
rows = [[name, f"{value.min():.4g} … {value.max():.4g}"] for name, value in values.items()]
table([*rows, ["the shared observer", f"{low:.4g} … {high:.4g}"]], ["value", "range"])
coarser = (high - low) / (conv2d_1.max() - conv2d_1.min())
print(f"steps for conv2d_1, compared with an observer of its own: {coarser:.4g} times as wide")
assert low == min(value.min() for value in values.values())
assert high == max(value.max() for value in values.values())
assert 4.3 < coarser < 4.4


# %% zh:fa3dccbc
# The object sees all three, so its range spans all three, and the value with the smallest range pays for it.
#
# ## Predict, then look {#predict}
#
# Here are the rules of this page as a function that reads nothing but annotations. On an edge there are at most two
# observers, that of the source's output and that of the edge, and only one if both belong to the same group.
SAME = ("dtype", "quant_min", "quant_max", "qscheme", "ch_axis", "is_dynamic", "scale", "zero_point")
Wish = namedtuple("Wish", "spec value implicit")


def agree(spec, other):
    return all(getattr(spec, name, None) == getattr(other, name, None) for name in SAME)


def predict(annotated):
    """What `look` will find after prepare."""
    wishes = {}  # by place: an edge is written `(x, conv2d)`, an output `x`
    for node in annotated.graph.nodes:
        annotation = node.meta.get(KEY, QuantizationAnnotation())
        for source, spec in annotation.input_qspec_map.items():
            wishes[str((source, node))] = Wish(spec, source.name, annotation.allow_implicit_sharing)
        wishes[node.name] = Wish(annotation.output_qspec, node.name, False)
    wishes = {place: wish for place, wish in wishes.items() if wish.spec}
    group = {place: place for place in wishes}

    def join(place, other):
        old, new = group[place], group[other]
        group.update({member: new for member in group if group[member] == old})

    for place, wish in wishes.items():  # different values: if a spec says so
        if isinstance(wish.spec, SharedQuantizationSpec):
            join(place, str(wish.spec.edge_or_node))
    for (first, a), (second, b) in combinations(wishes.items(), 2):  # one value: if the specs agree
        may_share = a.value == b.value and (a.implicit or b.implicit)
        if may_share and agree(wishes[group[first]].spec, wishes[group[second]].spec):
            join(second, first)

    paths = {}
    for user in annotated.graph.nodes:
        for source in user.all_input_nodes:
            places = [place for place in (source.name, str((source, user))) if place in wishes]
            if places:
                paths[source.name, user.name] = list(dict.fromkeys(group[place] for place in places))
    return numbered(paths)


def counts(paths):
    """How many edges have observers, and how many nodes and objects these are."""
    nodes = {(source, *path[:i]) for (source, _), path in paths.items() for i in range(1, len(path) + 1)}
    objects = {number for path in paths.values() for number in path}
    return [len(paths), len(nodes), len(objects)]


# %% zh:b7f694b2
# Six trials: both models with both quantizers, then two sets of wishes from above. First `residual` with
# XNNPACKQuantizer, edge by edge, then all six as numbers. The last assert takes the five cases of the table above, too.
trials = [
    ("residual", residual, "XNNPACKQuantizer", xnnpack),
    ("residual", residual, "X86InductorQuantizer", x86),
    ("conv_bn_relu", exported, "XNNPACKQuantizer", xnnpack),
    ("conv_bn_relu", exported, "X86InductorQuantizer", x86),
    ("residual", residual, "OneScaleForAdd", OneScaleForAdd()),
    ("residual", residual, "Asks(disagree)", Asks(disagree)),
]
graphs = [prepare(gm, quantizer) for _, gm, _, quantizer in trials]
predicted = [predict(annotated) for annotated, _ in graphs]
found = [look(prepared) for _, prepared in graphs]
table([[" → ".join(edge), path, found[0][edge]] for edge, path in predicted[0].items()], ["edge", "predicted", "found"])
rows = [[model, name, *counts(paths)] for (model, _, name, _), paths in zip(trials, predicted, strict=True)]
table(rows, ["model", "quantizer", "edges", "nodes", "objects"])
assert predicted == found
assert [row[2:] for row in rows] == [[7, 6, 6], [5, 4, 4], [3, 3, 3], [2, 2, 2], [3, 3, 1], [3, 4, 4]]
assert all(predict(annotated) == look(prepared) for annotated, prepared in by_case)

# %% zh:154ca6a4
# Every edge is as predicted. `conv_bn_relu` only comes out right because we look after folding: the annotated graph has
# no BN any more.
#
# ## A wish that is dropped: no meta["val"] {#no-val}
#
# One thing `predict` doesn't know. [M00-4](chapter:m00_4_editing_graphs#no-meta) warned that nodes made by hand have no
# `meta["val"]`, and that a later pass may skip them. Prepare is such a pass. We append a `mul` by hand and ask for its
# output, first as it is, then with `meta["val"]` supplied:
doubled = copy.deepcopy(residual)
relu = {node.name: node for node in doubled.graph.nodes}["relu_1"]
with doubled.graph.inserting_after(relu):
    mul = doubled.graph.call_function(torch.ops.aten.mul.Tensor, (relu, 2.0))
relu.replace_all_uses_with(mul, delete_user_cb=lambda user: user is not mul)
doubled.recompile()
graphs = [prepare(doubled, Asks({mul.name: int8}))]
mul.meta["val"] = relu.meta["val"]  # the same shape and dtype
graphs.append(prepare(doubled, Asks({mul.name: int8})))
results = [[counts(predict(annotated))[1], counts(look(prepared))[1]] for annotated, prepared in graphs]
table(
    [['without `meta["val"]`', *results[0]], ['with `meta["val"]`', *results[1]]],
    ["mul", "observers predicted", "observers found"],
)
assert results == [[1, 0], [1, 1]]

# %% zh:63292920
# Prepare puts an observer on an output only if `meta["val"]` says that it is a tensor. Without it, the wish is dropped
# in silence, and a prediction that doesn't come true is what gives it away. So when you add nodes before prepare, or in
# `transform_for_annotation`, supply `meta["val"]`.
#
# ## Summary: four points {#summary}
#
# 1. Prepare folds BN into the conv before it, and annotates afterwards. If anybody else reads the conv, the result is
#    silently wrong, so compare with the float model right after prepare.
# 2. A wish for an input puts an observer on the edge of one user; a wish for an output puts it behind the node, for all
#    users.
# 3. Wishes about one value share an observer if the specs agree, whatever kind of observer they ask for. Different
#    values share one only by a `SharedQuantizationSpec`: several nodes, several names, one object.
# 4. Places and numbers can be predicted from annotations. Count, and compare.
#
# Next, [M02-2](chapter:m02_2_prepare_by_hand): we insert these observers ourselves, and get the very graph that
# `prepare_pt2e` makes.
