# zh:132ffd9d
"""
# M02-2 | prepare_pt2e by hand

[M02-1](chapter:m02_1_from_annotation_to_observer) predicted where the observers go. On this page we put them there
ourselves, with steps 1 to 3 of [M00-4](chapter:m00_4_editing_graphs): insert, rewire, recompile. Afterwards you will be
able to

- make an observer from a spec, with all the settings that the spec asks for;
- insert it so that the right users read it, and notice when one too many does;
- rebuild `prepare_pt2e` in some thirty lines, equal node for node, and with equal scales and zero points after the same
  calibration;
- say what prepare leaves behind besides the graph.

Everything is as on a CPU with torch 2.13.0 and torchao 0.18.0.
"""

# %% zh:3fcc8891
# ## What we have, and what we want {#start}
#
# The model is `conv_relu`; it has no BN, so there is nothing to fold. The quantizer is XNNPACKQuantizer, the copy that
# torchao keeps for its tests ([M01-2](chapter:m01_2_annotations#start)): it asks for inputs and also for an output, and
# the two are rewired differently. `annotate` goes as far as prepare does before the observers. What we edit is `gm`
# itself: a copy of an annotated graph is good for looking at only ([M01-2](chapter:m01_2_annotations#silent)).
import copy

import torch

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
KEY = "quantization_annotation"
xnnpack = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
x = example_inputs(8)[0]


def annotate(gm):
    """A copy of gm with the annotations, and no observers yet."""
    annotated = xnnpack.transform_for_annotation(copy.deepcopy(gm))
    xnnpack.annotate(annotated)
    xnnpack.validate(annotated)
    return annotated


exported = export_module(get_model("conv_relu").eval(), (x,))
goal = prepare_pt2e(copy.deepcopy(exported), xnnpack)
gm = annotate(exported)  # this one is edited from here on
draw_stages(
    [(gm, "annotated"), (goal, "prepare_pt2e")],
    title="Three dashed frames and three observers: on two input edges of conv2d, and on the output of relu",
)
nodes = {node.name: node for node in gm.graph.nodes}
value, weight, conv, relu = (nodes[name] for name in ("x", "conv_weight", "conv2d", "relu"))
specs, output_spec = conv.meta[KEY].input_qspec_map, relu.meta[KEY].output_qspec
assert [source for source, spec in specs.items() if spec] == [value, weight]
assert output_spec and not conv.meta[KEY].output_qspec and not relu.meta[KEY].input_qspec_map


# %% zh:ab94dda3
# ## From spec to observer {#observer-from-spec}
#
# A spec has a constructor, `observer_or_fake_quant_ctr`. To call it is not enough, because the dtype and the rest are
# in other fields of the spec and have to be passed. What do we get if we don't?
def observer_from(spec):
    """A new observer, set as the spec asks."""
    settings = {name: getattr(spec, name) for name in ("dtype", "qscheme", "quant_min", "quant_max", "is_dynamic")}
    if spec.ch_axis is not None:  # per-channel observers only
        settings["ch_axis"] = spec.ch_axis
    return spec.observer_or_fake_quant_ctr(**settings)


made = {
    "the constructor alone": specs[weight].observer_or_fake_quant_ctr(),
    "with the settings": observer_from(specs[weight]),
    "by `prepare_pt2e`": goal.activation_post_process_1,
}
rows = [[label, str(o.dtype), str(o.qscheme), f"{o.quant_min} … {o.quant_max}"] for label, o in made.items()]
table(rows, ["observer of the weight", "dtype", "qscheme", "integers"])
assert {type(observer).__name__ for observer in made.values()} == {"PerChannelMinMaxObserver"}
assert rows[0][1:] == ["torch.quint8", "torch.per_channel_affine", "0 … 255"]
assert rows[1][1:] == rows[2][1:] == ["torch.int8", "torch.per_channel_symmetric", "-127 … 127"]


# %% zh:d43e1d7d
# An observer, but of another dtype and another range, and no error. So: always with the settings.
#
# ## An input: one user moves {#input}
#
# Step 1 of M00-4 is the same for every observer. `insert` registers the module and puts a node that calls it right
# behind the value; nobody reads it yet. Then comes step 2, to rewire. M00-4 moved all users but the new node. Is that
# right for `x`, too? We try it on a copy.
def insert(gm, source, spec, number):
    """A node that observes source; step 1 of M00-4."""
    name = f"activation_post_process_{number}"
    gm.add_submodule(name, observer_from(spec))
    with gm.graph.inserting_after(source):
        return gm.graph.call_module(name, (source,))


observer = insert(gm, value, specs[value], 0)
wrong = copy.deepcopy(gm)
wrong_value, wrong_observer = [node for node in wrong.graph.nodes if node.name in ("x", observer.name)]
wrong_value.replace_all_uses_with(wrong_observer, delete_user_cb=lambda user: user is not wrong_observer)
conv.replace_input_with(value, observer)
for edited in (wrong, gm):
    edited.graph.lint()
    edited.recompile()
x_done = copy.deepcopy(gm)  # for the figure

(wanted,) = goal.graph.find_nodes(op="call_module", target=observer.target)
graphs = {"all users moved": wrong_observer, "only conv2d moved": observer, "`prepare_pt2e`": wanted}
rows = [[label, ", ".join(user.name for user in node.users)] for label, node in graphs.items()]
table(rows, ["", "read the observer of x"])
with torch.no_grad():
    wrong_output, output = copy.deepcopy(wrong)(x), copy.deepcopy(gm)(x)  # copies, because each run calibrates
    assert torch.equal(wrong_output, output) and torch.equal(output, exported(x))
assert [row[1] for row in rows] == ["_guards_fn, conv2d", "conv2d", "conv2d"]

# %% zh:9b362ff2
# No: that way the input check `_guards_fn` reads the observer, too, and nothing tells you. `lint` is content, and the
# output is the same (the first assert). An input's spec is about one edge, so one user moves, and that is what
# `replace_input_with` is for.
#
# ## The weight likewise; an output: all users move {#output}
#
# The weight is another input of conv2d, so it is done like `x`. The spec of relu is about its output, and there M00-4's
# rewiring is the right one.
observer = insert(gm, weight, specs[weight], 1)
conv.replace_input_with(weight, observer)
weight_done = copy.deepcopy(gm)
observer = insert(gm, relu, output_spec, 2)
relu.replace_all_uses_with(observer, delete_user_cb=lambda user: user is not observer)
gm.graph.lint()
gm.recompile()
draw_stages(
    [
        (exported, "exported"),
        (x_done, "x → conv2d"),
        (weight_done, "conv_weight → conv2d"),
        (gm, "output of relu"),
        (goal, "prepare_pt2e"),
    ],
    title="Step by step by hand; from the last step to `prepare_pt2e`, nothing changes",
)
assert nodes["output"].args == ((observer,),)
assert conv.args[:2] == (value.next, weight.next)


# %% zh:cd976c66
# ## Node for node {#compare}
#
# The last stage bears no marks, so to the eye it is the same. Now we compare every node, in order: kind, name, target,
# type of the module, arguments and users.
def listing(gm):
    """Every node in order, with all that the graph says about it."""
    rows = []
    for node in gm.graph.nodes:
        module = type(gm.get_submodule(node.target)) if node.op == "call_module" else None
        users = [user.name for user in node.users]
        rows.append((node.op, node.name, node.target, module, str(node.args), str(node.kwargs), users))
    return rows


rows = [[number, name, args, ", ".join(users)] for number, (_, name, _, _, args, _, users) in enumerate(listing(gm))]
table(rows, ["#", "name", "args", "users"])
different = [pair for pair in zip(listing(wrong), listing(x_done), strict=True) if pair[0] != pair[1]]
print(f"equal to prepare_pt2e: {listing(gm) == listing(goal)}, {len(rows)} nodes")
print(f"the wrong copy, compared at its step: {[row[1] for row, _ in different]} differ")
assert listing(gm) == listing(goal) and len(rows) == 10
assert gm.code == goal.code
assert [row[1] for row, _ in different] == ["x", "activation_post_process_0", "_guards_fn"]

# %% zh:d43b6695
# All ten are equal, and the comparison also finds what neither `lint` nor the output showed. Three details had to be
# right:
#
# 1. **Who reads it.** The observer of `x` serves conv2d only, and `_guards_fn` still reads `x`.
# 2. **Names.** The module is a direct child of `gm`, called `activation_post_process_` and a number. FX named the node
#    after it.
# 3. **Numbers.** They count the observers in the order of insertion.
#
# !!! question "Why is the observer of the weight #1?"
#     In the table it comes first, before that of `x`. In which order does prepare insert, and by what does the table
#     go?

# %% answer zh:6d165f0e
# Prepare goes through the *users* in order, and through the args of each: conv2d has `x` first, then the weight. The
# place in the table is another matter: each observer stands right behind the value that it observes, and `conv_weight`
# comes before `x`.
observers = [node for node in goal.graph.nodes if node.name.startswith("activation_post_process_")]
by_place = [node.args[0].name for node in observers]
by_number = [node.args[0].name for node in sorted(observers, key=lambda node: node.name)]
print(f"observed, by place: {by_place}", f"observed, by number: {by_number}", sep="\n")
assert by_place == ["conv_weight", "x", "relu"]
assert by_number == ["x", "conv_weight", "relu"]


# %% zh:d0011382
# ## As a function, on a skip connection {#function}
#
# `residual` has two cases of sharing ([M02-1](chapter:m02_1_from_annotation_to_observer#implicit)). conv2d and add both
# read `x` and ask for the same, so the function remembers which observer there is for a value and its settings. And
# both the output of relu and the edge relu → conv2d_1 are asked for; relu comes first, its users move, and when it is
# the turn of conv2d_1, it reads the observer already.
SAME = ("dtype", "qscheme", "quant_min", "quant_max", "ch_axis", "is_dynamic")


def prepare_by_hand(gm):
    """Insert observers as annotated, in place."""
    observers = {}  # by what is observed, and how

    def observer_of(source, spec):
        key = (source, *(getattr(spec, name) for name in SAME))
        if key not in observers:
            observers[key] = insert(gm, source, spec, len(observers))
        return observers[key]

    def observe_output(node, spec):
        observer = observer_of(node, spec)
        node.replace_all_uses_with(observer, delete_user_cb=lambda user: user is not observer)

    for node in list(gm.graph.nodes):
        annotation = node.meta.get(KEY, QuantizationAnnotation())
        for source in node.all_input_nodes:
            if spec := annotation.input_qspec_map.get(source):
                node.replace_input_with(source, observer_of(source, spec))
        if annotation.output_qspec:
            observe_output(node, annotation.output_qspec)
    gm.graph.lint()
    gm.recompile()


residual = export_module(get_model("residual").eval(), (x,))
by_hand, annotated = annotate(residual), annotate(residual)
prepare_by_hand(by_hand)
official = prepare_pt2e(copy.deepcopy(residual), xnnpack)
again = annotate(exported)
prepare_by_hand(again)
print(f"residual: {listing(by_hand) == listing(official)}, {len(listing(by_hand))} nodes")
print(f"conv_relu: {listing(again) == listing(goal)}, {len(listing(again))} nodes")
draw_stages(
    [(annotated, "annotated"), (by_hand, "by hand"), (official, "prepare_pt2e")],
    title="conv2d and add share the observer of x, by hand as in `prepare_pt2e`",
)
assert listing(by_hand) == listing(official) and len(listing(by_hand)) == 18
assert listing(again) == listing(goal)
assert by_hand.code == official.code

# %% zh:c21fb0ac
# Equal, all 18 nodes, and the first model as well. What is left out here are rules of M02-1 that these models don't
# need: folding BN, specs that disagree or point to others, and outputs without `meta["val"]`.
#
# ## The same calibration, the same numbers {#calibrate}
#
# If the graphs are equal and the observers have equal settings, then the same data must give the same scales and zero
# points. Not nearly the same: the same bits.
with torch.no_grad():
    for seed in range(4):
        batch = torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
        by_hand(batch)
        official(batch)
    same_output = torch.equal(by_hand(x), official(x))
rows, same = [], []
for name, module in official.named_modules():
    if isinstance(module, ObserverBase):
        (mine, my_zero), (scale, zero) = by_hand.get_submodule(name).calculate_qparams(), module.calculate_qparams()
        same.append(torch.equal(mine, scale) and torch.equal(my_zero, zero))
        scales = " … ".join(f"{s:.4g}" for s in sorted({scale.min().item(), scale.max().item()}))
        rows.append([name.rpartition("_")[2], type(module).__name__, scales, zero.unique().tolist(), same[-1]])
rows.sort()
table(rows, ["#", "observer", "scale", "zero point", "equal bit for bit"])
assert same == [True] * 6 and same_output
assert [row[3] for row in rows if row[1] == "PerChannelMinMaxObserver"] == [[0], [0]]

# %% zh:9cc2b4ef
# ## What is not in the graph {#not-in-the-graph}
#
# So `convert_pt2e` should take our model as well as the other. Does it?
try:
    convert_pt2e(copy.deepcopy(by_hand))
except AssertionError as error:
    refused = f"AssertionError: {error}"
missing = official.meta.keys() - by_hand.meta.keys()
print(refused, f"missing in by_hand.meta: {missing}", sep="\n")
assert refused == "AssertionError: incoming model must be produced by prepare_fx"
assert missing == {"_observed_graph_module_attrs"}

# %% zh:4a373ab6
# It doesn't: prepare leaves a note in the `meta` of the whole model, and convert looks for that note. (The message
# names `prepare_fx`, an older function.) We put the same note into ours, and convert takes it. Is the result the same?
by_hand.meta |= {key: official.meta[key] for key in missing}
converted, reference = convert_pt2e(by_hand), convert_pt2e(official)
with torch.no_grad():
    same_output = torch.equal(converted(x), reference(x))
print(f"nodes: {listing(converted) == listing(reference)}, output: {same_output}")
assert listing(converted) == listing(reference) and same_output

# %% zh:15996b67
# ## Summary: four points {#summary}
#
# 1. An observer needs the constructor *and* the settings of its spec.
# 2. An input's observer: `replace_input_with`, one user. An output's: `replace_all_uses_with` and `delete_user_cb`, all
#    users.
# 3. Prepare visits user by user and arg by arg, numbers the observers as it goes, and puts each right behind its value.
#    One value with the same settings gets one observer.
# 4. Whether an edit is right, only a comparison node for node can tell. `lint` and the output may notice nothing.
#
# [M02-3](chapter:m02_3_convert_by_hand) goes on with steps 4 to 6, and the observers become quantize and dequantize.
