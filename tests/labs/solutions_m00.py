"""One solution of each puzzle of the M00 lab. The tests put them into the notebooks' cells in place of the stubs.

Written as in the notebooks: `find` and `aten` stand in their second code cell.
"""

import torch

aten = torch.ops.aten


def find(gm, name):
    return next(node for node in gm.graph.nodes if node.name == name)


def insert_module(gm, node_name, module_name, module):
    node = find(gm, node_name)
    gm.add_submodule(module_name, module)
    with gm.graph.inserting_after(node):
        new = gm.graph.call_module(module_name, (node,))
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
    gm.recompile()


def replace_by_op(gm, node_name, op, *extra):
    node = find(gm, node_name)
    with gm.graph.inserting_before(node):
        new = gm.graph.call_function(op, (node.args[0], *extra))
    node.replace_all_uses_with(new)
    gm.graph.erase_node(node)
    if all(other.op != "call_module" or other.target != node.target for other in gm.graph.nodes):
        gm.delete_submodule(node.target)
    gm.recompile()


def multiply_by(gm, node_name, buffer_name, tensor):
    node = find(gm, node_name)
    gm.register_buffer(buffer_name, tensor)
    with gm.graph.inserting_after(node):
        constant = gm.graph.get_attr(buffer_name)
    with gm.graph.inserting_after(constant):
        product = gm.graph.call_function(aten.mul.Tensor, (node, constant))
    node.replace_all_uses_with(product, delete_user_cb=lambda user: user is not product)
    gm.recompile()


def bypass(gm, node_name):
    before = [node.name for node in gm.graph.nodes]
    node = find(gm, node_name)
    node.replace_all_uses_with(node.args[0])
    gm.graph.erase_node(node)
    gm.graph.eliminate_dead_code()
    gm.graph.lint()
    gm.recompile()
    after = {node.name for node in gm.graph.nodes}
    return [name for name in before if name not in after]
