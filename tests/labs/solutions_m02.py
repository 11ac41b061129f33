"""One solution of each puzzle of the M02 lab. The tests put them into the notebooks' cells in place of the stubs.

Written as in the notebooks: the names above the functions stand in their first code cells.
"""

import torch
from torchao.quantization.pt2e import ObserverBase

ops = torch.ops.quantized_decomposed


def find(gm, name):
    return next(node for node in gm.graph.nodes if node.name == name)


def convert_activation(gm, node_name):
    node = find(gm, node_name)
    observer = gm.get_submodule(node.target)
    scale, zero_point = observer.calculate_qparams()
    args = (scale.item(), zero_point.item(), observer.quant_min, observer.quant_max, observer.dtype)
    with gm.graph.inserting_before(node):
        q = gm.graph.call_function(ops.quantize_per_tensor.default, (node.args[0], *args))
        dq = gm.graph.call_function(ops.dequantize_per_tensor.default, (q, *args))
    node.replace_all_uses_with(dq)
    gm.graph.erase_node(node)
    gm.delete_submodule(node.target)
    gm.recompile()


def convert_weight(gm, node_name):
    node = find(gm, node_name)
    observer, source = gm.get_submodule(node.target), node.args[0]
    scale, zero_point = observer.calculate_qparams()
    limits = (observer.ch_axis, observer.quant_min, observer.quant_max, observer.dtype)
    weight = gm.get_parameter(source.target).detach()
    gm.register_buffer(f"{node_name}_q", ops.quantize_per_channel(weight, scale, zero_point, *limits))
    gm.register_buffer(f"{node_name}_scale", scale)
    gm.register_buffer(f"{node_name}_zero_point", zero_point)
    with gm.graph.inserting_before(node):
        stored = [gm.graph.get_attr(f"{node_name}_{part}") for part in ("q", "scale", "zero_point")]
        dq = gm.graph.call_function(ops.dequantize_per_channel.default, (*stored, *limits))
    node.replace_all_uses_with(dq)
    gm.graph.erase_node(node)
    if not source.users:
        gm.graph.erase_node(source)
    gm.delete_submodule(node.target)
    gm.recompile()


def convert(gm):
    for node in list(gm.graph.nodes):
        if node.op == "call_module" and isinstance(observer := gm.get_submodule(node.target), ObserverBase):
            per_channel = observer.qscheme == torch.per_channel_symmetric
            (convert_weight if per_channel else convert_activation)(gm, node.name)
