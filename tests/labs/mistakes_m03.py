"""Wrong answers to the puzzles of the M03 lab, each with the code of the message that it must get."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from solutions_m03 import KEY, annotate_add_relu, annotate_cat, annotate_conv
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, SharedQuantizationSpec

MISTAKES: list[tuple[str, str, Callable]] = []
aten = torch.ops.aten


def gets(puzzle: str, code: str) -> Callable:
    """Mark a function as a wrong answer to ``puzzle`` that the checker must call ``code``."""

    def mark(fn: Callable) -> Callable:
        MISTAKES.append((puzzle, code, fn))
        return fn

    return mark


def calls(gm, target):
    return [node for node in gm.graph.nodes if node.target is target]


# --- annotate_conv


@gets("annotate_conv", "not_written")
def writes_nothing(gm, act, weight):
    raise NotImplementedError


@gets("annotate_conv", "raised")
def asks_a_node_for_what_it_has_not(gm, act, weight):
    return gm.graph.nodes[0]


@gets("annotate_conv", "edited")
def inserts_an_observer_itself(gm, act, weight):
    annotate_conv(gm, act, weight)
    for conv in calls(gm, aten.conv2d.default):
        with gm.graph.inserting_after(conv):
            gm.graph.call_function(aten.relu.default, (conv,))


@gets("annotate_conv", "nothing")
def compares_with_the_packet(gm, act, weight):
    for node in gm.graph.nodes:
        if node.target == aten.conv2d:
            node.meta[KEY] = QuantizationAnnotation({node.args[0]: act, node.args[1]: weight})


@gets("annotate_conv", "nothing")
def misspells_the_key(gm, act, weight):
    for conv in calls(gm, aten.conv2d.default):
        conv.meta["quantisation_annotation"] = QuantizationAnnotation({conv.args[0]: act, conv.args[1]: weight})


@gets("annotate_conv", "other_graph")
def annotates_a_copy(gm, act, weight):
    other = copy.deepcopy(gm)
    annotate_conv(other, act, weight)
    return other


@gets("annotate_conv", "not_an_annotation")
def writes_a_dict(gm, act, weight):
    for conv in calls(gm, aten.conv2d.default):
        conv.meta[KEY] = {conv.args[0]: act, conv.args[1]: weight}


@gets("annotate_conv", "key_no_input")
def takes_the_weight_of_the_first_conv(gm, act, weight):
    convs = calls(gm, aten.conv2d.default)
    for conv in convs:
        conv.meta[KEY] = QuantizationAnnotation({conv.args[0]: act, convs[0].args[1]: weight})


@gets("annotate_conv", "no_weight")
def forgets_the_weight(gm, act, weight):
    for conv in calls(gm, aten.conv2d.default):
        conv.meta[KEY] = QuantizationAnnotation({conv.args[0]: act})


@gets("annotate_conv", "bias")
def asks_for_all_inputs(gm, act, weight):
    for conv in calls(gm, aten.conv2d.default):
        x, w, bias = conv.args[:3]
        conv.meta[KEY] = QuantizationAnnotation({x: act, w: weight, bias: act})


@gets("annotate_conv", "input_missed")
def stops_after_the_first(gm, act, weight):
    for node in gm.graph.nodes:
        if node.target is aten.conv2d.default:
            node.meta[KEY] = QuantizationAnnotation({node.args[0]: act, node.args[1]: weight})
            return


@gets("annotate_conv", "surplus")
def asks_for_the_output_as_well(gm, act, weight):
    annotate_conv(gm, act, weight)
    for conv in calls(gm, aten.conv2d.default):
        conv.meta[KEY].output_qspec = act


@gets("annotate_conv", "other_spec")
def takes_act_for_the_weight(gm, act, weight):
    annotate_conv(gm, act, act)


@gets("annotate_conv", "other_spec")
def mixes_the_specs_up(gm, act, weight):
    annotate_conv(gm, weight, act)


@gets("annotate_conv", "not_shared")
def turns_sharing_off(gm, act, weight):
    annotate_conv(gm, act, weight)
    for conv in calls(gm, aten.conv2d.default):
        conv.meta[KEY].allow_implicit_sharing = False


@gets("annotate_conv", "prepare_raised")
def gives_a_dtype_for_a_spec(gm, act, weight):
    annotate_conv(gm, torch.int8, weight)


# --- annotate_add_relu


@gets("annotate_add_relu", "key_not_node")
def takes_every_argument(gm, act):
    annotate_add_relu(gm, act)
    for add in calls(gm, aten.add.Tensor):
        add.meta[KEY].input_qspec_map = dict.fromkeys(add.args, act)


@gets("annotate_add_relu", "between")
def asks_for_every_output(gm, act):
    annotate_add_relu(gm, act)
    for add in calls(gm, aten.add.Tensor):
        add.meta[KEY].output_qspec = act


@gets("annotate_add_relu", "fused_with_users")
def looks_at_any_user(gm, act):
    for add in calls(gm, aten.add.Tensor):
        relus = [user for user in add.users if user.target in (aten.relu.default, aten.relu_.default)]
        inputs = {arg: act for arg in add.args if isinstance(arg, Node)}
        add.meta[KEY] = QuantizationAnnotation(inputs, None if relus else act)
        for relu in relus:
            relu.meta[KEY] = QuantizationAnnotation(output_qspec=act)


@gets("annotate_add_relu", "in_place")
def knows_one_relu(gm, act):
    for add in calls(gm, aten.add.Tensor):
        inputs = {arg: act for arg in add.args if isinstance(arg, Node)}
        (user, *others) = add.users
        fused = not others and user.target in (aten.relu.default, aten.relu_.default)
        add.meta[KEY] = QuantizationAnnotation(inputs, None if fused else act)
        if fused and user.target is aten.relu.default:
            user.meta[KEY] = QuantizationAnnotation(output_qspec=act)


@gets("annotate_add_relu", "between")
def takes_the_relu_in_place_for_another_op(gm, act):
    for add in calls(gm, aten.add.Tensor):
        inputs = {arg: act for arg in add.args if isinstance(arg, Node)}
        (user, *others) = add.users
        fused = not others and user.target is aten.relu.default
        add.meta[KEY] = QuantizationAnnotation(inputs, None if fused else act)
        if fused:
            user.meta[KEY] = QuantizationAnnotation(output_qspec=act)


@gets("annotate_add_relu", "unfused")
def asks_for_outputs_of_patterns_alone(gm, act):
    annotate_add_relu(gm, act)
    for add in calls(gm, aten.add.Tensor):
        add.meta[KEY].output_qspec = None


@gets("annotate_add_relu", "input_missed")
def replaces_the_first_annotation(gm, act):
    for add in calls(gm, aten.add.Tensor):
        (user, *others) = add.users
        fused = not others and user.target in (aten.relu.default, aten.relu_.default)
        add.meta[KEY] = QuantizationAnnotation({arg: act for arg in add.args if isinstance(arg, Node)})
        (user if fused else add).meta[KEY] = QuantizationAnnotation(output_qspec=act)


@gets("annotate_add_relu", "output_missed")
def stops_before_the_relu(gm, act):
    annotate_add_relu(gm, act)
    for relu in calls(gm, aten.relu.default):
        relu.meta.pop(KEY, None)


@gets("annotate_add_relu", "surplus")
def asks_for_every_relu(gm, act):
    annotate_add_relu(gm, act)
    for relu in calls(gm, aten.relu.default):
        if relu.args[0].target is not aten.add.Tensor:
            relu.meta[KEY] = QuantizationAnnotation(output_qspec=act)


# --- annotate_cat


@gets("annotate_cat", "key_not_node")
def takes_the_list(gm, act):
    for cat in calls(gm, aten.cat.default):
        cat.meta[KEY] = QuantizationAnnotation({tuple(cat.args[0]): act}, act)


@gets("annotate_cat", "not_shared")
def gives_everyone_a_spec(gm, act):
    for cat in calls(gm, aten.cat.default):
        cat.meta[KEY] = QuantizationAnnotation(dict.fromkeys(cat.args[0], act), act)


@gets("annotate_cat", "not_shared")
def leaves_the_output_out_of_the_group(gm, act):
    annotate_cat(gm, act)
    for cat in calls(gm, aten.cat.default):
        cat.meta[KEY].output_qspec = act


@gets("annotate_cat", "shared_too_much")
def shares_with_the_first_cat(gm, act):
    annotate_cat(gm, act)
    (first, *others) = calls(gm, aten.cat.default)
    shared = SharedQuantizationSpec((first.args[0][0], first))
    for cat in others:
        cat.meta[KEY].input_qspec_map[cat.args[0][0]] = shared


@gets("annotate_cat", "shared_nowhere")
def turns_the_edge_around(gm, act):
    for cat in calls(gm, aten.cat.default):
        first, *others = dict.fromkeys(cat.args[0])
        shared = SharedQuantizationSpec((cat, first))
        cat.meta[KEY] = QuantizationAnnotation({first: act} | dict.fromkeys(others, shared), shared)


@gets("annotate_cat", "shared_cycle")
def shares_the_first_with_itself(gm, act):
    for cat in calls(gm, aten.cat.default):
        shared = SharedQuantizationSpec((cat.args[0][0], cat))
        cat.meta[KEY] = QuantizationAnnotation(dict.fromkeys(cat.args[0], shared), shared)


@gets("annotate_cat", "output_missed")
def shares_inputs_alone(gm, act):
    annotate_cat(gm, act)
    for cat in calls(gm, aten.cat.default):
        cat.meta[KEY].output_qspec = None


@gets("annotate_cat", "input_missed")
def takes_the_first_alone(gm, act):
    for cat in calls(gm, aten.cat.default):
        first = cat.args[0][0]
        cat.meta[KEY] = QuantizationAnnotation({first: act}, SharedQuantizationSpec((first, cat)))


@gets("annotate_cat", "shared_early")
def puts_the_first_last(gm, act):
    for cat in calls(gm, aten.cat.default):
        first, *others = dict.fromkeys(cat.args[0])
        shared = SharedQuantizationSpec((first, cat))
        cat.meta[KEY] = QuantizationAnnotation(dict.fromkeys(others, shared) | {first: act}, shared)
