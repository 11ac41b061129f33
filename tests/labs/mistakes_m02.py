"""Wrong answers to the puzzles of the M02 lab, each with the code of the message that it must get."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from solutions_m02 import convert, convert_activation, convert_weight, find, ops

MISTAKES: list[tuple[str, str, Callable]] = []


def gets(puzzle: str, code: str) -> Callable:
    """Mark a function as a wrong answer to ``puzzle`` that the checker must call ``code``."""

    def mark(fn: Callable) -> Callable:
        MISTAKES.append((puzzle, code, fn))
        return fn

    return mark


def parameters(gm, node):
    """What q/dq take, per tensor."""
    observer = gm.get_submodule(node.target)
    scale, zero_point = observer.calculate_qparams()
    return scale.item(), zero_point.item(), observer.quant_min, observer.quant_max, observer.dtype


def replaced(gm, node, args, dq_args=None):
    """q/dq with these arguments in place of the observer; nothing is removed yet."""
    with gm.graph.inserting_before(node):
        q = gm.graph.call_function(ops.quantize_per_tensor.default, (node.args[0], *args))
        dq = gm.graph.call_function(ops.dequantize_per_tensor.default, (q, *(dq_args or args)))
    node.replace_all_uses_with(dq)


def removed(gm, node):
    gm.graph.erase_node(node)
    gm.delete_submodule(node.target)
    gm.recompile()


# --- convert_activation


@gets("convert_activation", "not_written")
def writes_nothing(gm, node_name):
    raise NotImplementedError


@gets("convert_activation", "raised")
def asks_the_node_instead_of_the_module(gm, node_name):
    return find(gm, node_name).calculate_qparams()


@gets("convert_activation", "unchanged")
def only_computes(gm, node_name):
    parameters(gm, find(gm, node_name))


@gets("convert_activation", "new_graph")
def edits_a_copy(gm, node_name):
    other = copy.deepcopy(gm)
    convert_activation(other, node_name)
    return other


@gets("convert_activation", "tensor_in_args")
def leaves_tensors_in_the_arguments(gm, node_name):
    node = find(gm, node_name)
    scale, zero_point = gm.get_submodule(node.target).calculate_qparams()
    replaced(gm, node, (scale, zero_point, *parameters(gm, node)[2:]))
    removed(gm, node)


@gets("convert_activation", "wrong_args")
def swaps_scale_and_zero_point(gm, node_name):
    node = find(gm, node_name)
    scale, zero_point, *limits = parameters(gm, node)
    replaced(gm, node, (zero_point, scale, *limits))
    removed(gm, node)


@gets("convert_activation", "wrong_args")
def dequantizes_with_other_numbers(gm, node_name):
    node = find(gm, node_name)
    args = parameters(gm, node)
    replaced(gm, node, args, (1.0, 0, *args[2:]))
    removed(gm, node)


@gets("convert_activation", "missing")
def forgets_to_dequantize(gm, node_name):
    node = find(gm, node_name)
    with gm.graph.inserting_before(node):
        q = gm.graph.call_function(ops.quantize_per_tensor.default, (node.args[0], *parameters(gm, node)))
    node.replace_all_uses_with(q)
    removed(gm, node)


@gets("convert_activation", "not_wired")
def forgets_the_users(gm, node_name):
    node = find(gm, node_name)
    with gm.graph.inserting_before(node):
        q = gm.graph.call_function(ops.quantize_per_tensor.default, (node.args[0], *parameters(gm, node)))
        gm.graph.call_function(ops.dequantize_per_tensor.default, (q, *parameters(gm, node)))
    gm.recompile()


@gets("convert_activation", "left")
def leaves_the_observer(gm, node_name):
    node = find(gm, node_name)
    replaced(gm, node, parameters(gm, node))
    gm.recompile()


@gets("convert_activation", "left_module")
def leaves_the_module(gm, node_name):
    node = find(gm, node_name)
    replaced(gm, node, parameters(gm, node))
    gm.graph.erase_node(node)
    gm.recompile()


@gets("convert_activation", "erased_early")
def erases_first(gm, node_name):
    gm.graph.erase_node(find(gm, node_name))


@gets("convert_activation", "stale")
def forgets_to_recompile(gm, node_name):
    node = find(gm, node_name)
    replaced(gm, node, parameters(gm, node))
    gm.graph.erase_node(node)
    gm.delete_submodule(node.target)


# --- convert_weight


def folded(gm, node_name, quantized, store=torch.nn.Module.register_buffer):
    """The edit with other values, or stored otherwise."""
    tensor = quantized(gm, find(gm, node_name))
    convert_weight(gm, node_name)
    delattr(gm, f"{node_name}_q")
    store(gm, f"{node_name}_q", tensor)


@gets("convert_weight", "missing")
def quantizes_in_every_run(gm, node_name):
    node = find(gm, node_name)
    observer = gm.get_submodule(node.target)
    limits = (observer.ch_axis, observer.quant_min, observer.quant_max, observer.dtype)
    for part, tensor in zip(("scale", "zero_point"), observer.calculate_qparams(), strict=True):
        gm.register_buffer(f"{node_name}_{part}", tensor)
    with gm.graph.inserting_before(node):
        stored = [gm.graph.get_attr(f"{node_name}_{part}") for part in ("scale", "zero_point")]
        q = gm.graph.call_function(ops.quantize_per_channel.default, (node.args[0], *stored, *limits))
        dq = gm.graph.call_function(ops.dequantize_per_channel.default, (q, *stored, *limits))
    node.replace_all_uses_with(dq)
    removed(gm, node)


@gets("convert_weight", "tensor_in_args")
def puts_the_tensors_into_the_arguments(gm, node_name):
    node = find(gm, node_name)
    observer = gm.get_submodule(node.target)
    scale, zero_point = observer.calculate_qparams()
    limits = (observer.ch_axis, observer.quant_min, observer.quant_max, observer.dtype)
    weight = gm.get_parameter(node.args[0].target).detach()
    q = ops.quantize_per_channel(weight, scale, zero_point, *limits)
    with gm.graph.inserting_before(node):
        dq = gm.graph.call_function(ops.dequantize_per_channel.default, (q, scale, zero_point, *limits))
    node.replace_all_uses_with(dq)
    removed(gm, node)


@gets("convert_weight", "other_values")
def stores_the_float_weight(gm, node_name):
    folded(gm, node_name, lambda gm, node: gm.get_parameter(node.args[0].target).detach())


@gets("convert_weight", "other_values")
def quantizes_along_another_axis(gm, node_name):
    def quantized(gm, node):
        scale, _ = gm.get_submodule(node.target).calculate_qparams()
        weight = gm.get_parameter(node.args[0].target).detach()
        return torch.clamp(torch.round(weight / scale.max()), -127, 127).to(torch.int8)

    folded(gm, node_name, quantized)


@gets("convert_weight", "no_buffer")
def stores_an_attribute(gm, node_name):
    def right(gm, node):
        other = copy.deepcopy(gm)
        convert_weight(other, node.name)
        return other.get_buffer(f"{node.name}_q")

    folded(gm, node_name, right, store=setattr)


@gets("convert_weight", "left")
def leaves_the_float_weight(gm, node_name):
    node = find(gm, node_name)
    source = node.args[0]
    with gm.graph.inserting_before(node):
        again = gm.graph.get_attr(source.target)
    again.name, keeps = f"{source.name}_again", source.target
    node.args = (again,)
    convert_weight(gm, node_name)
    assert find(gm, source.name).target == keeps


@gets("convert_weight", "wrong_args")
def takes_another_axis(gm, node_name):
    convert_weight(gm, node_name)
    for node in gm.graph.nodes:
        if node.target is ops.dequantize_per_channel.default:
            node.update_arg(3, 1)
    gm.recompile()


# --- convert


@gets("convert", "observers_left")
def converts_the_first(gm):
    node = next(node for node in gm.graph.nodes if node.op == "call_module" and "activation_post" in node.target)
    per_channel = gm.get_submodule(node.target).qscheme == torch.per_channel_symmetric
    (convert_weight if per_channel else convert_activation)(gm, node.name)


@gets("convert", "observers_left")
def converts_activations_alone(gm):
    for node in list(gm.graph.nodes):
        observer = gm.get_submodule(node.target) if node.op == "call_module" else None
        if getattr(observer, "qscheme", None) == torch.per_tensor_affine:
            convert_activation(gm, node.name)


@gets("convert", "raised")
def takes_weights_for_activations(gm):
    for node in list(gm.graph.nodes):
        if node.op == "call_module" and "activation_post" in node.target:
            convert_activation(gm, node.name)


@gets("convert", "stale")
def converts_and_edits_without_recompiling(gm):
    convert(gm)
    for node in gm.graph.nodes:
        if node.target is ops.quantize_per_tensor.default:
            node.name = f"{node.name}_x"
