"""Right answers to the puzzles of the M00 lab that differ from the solutions: there is more than one way."""

from __future__ import annotations

from collections.abc import Callable

import torch
from solutions_m00 import bypass, find, insert_module, replace_by_op

aten = torch.ops.aten


def rewires_each_user(gm, node_name, module_name, module):
    node = find(gm, node_name)
    users = list(node.users)
    gm.add_submodule(module_name, module)
    with gm.graph.inserting_before(node.next):
        new = gm.graph.call_module(module_name, (node,))
    for user in users:
        user.replace_input_with(node, new)
    gm.graph.lint()
    gm.recompile()


def repairs_its_own_input(gm, node_name, module_name, module):
    node = find(gm, node_name)
    gm.add_submodule(module_name, module)
    with gm.graph.inserting_after(node):
        new = gm.graph.create_node("call_module", module_name, (node,), name="something_else")
    node.replace_all_uses_with(new)
    new.args = (node,)
    gm.recompile()
    return new


def assigns_the_graph_again(gm, *args):
    insert_module(gm, *args)
    gm.graph = gm.graph


def cleans_up_all_modules(gm, node_name, op, *extra):
    node = find(gm, node_name)
    with gm.graph.inserting_after(node):
        new = gm.graph.call_function(op, (*node.args, *extra))
    node.replace_all_uses_with(new)
    gm.graph.erase_node(node)
    gm.delete_all_unused_submodules()
    gm.recompile()


def erases_by_dead_code_elimination(gm, node_name, op, *extra):
    node = find(gm, node_name)
    with gm.graph.inserting_before(node):
        node.replace_all_uses_with(gm.graph.call_function(op, (node.args[0], *extra)))
    gm.graph.eliminate_dead_code()
    if not gm.graph.find_nodes(op="call_module", target=node.target):
        gm.delete_submodule(node.target)
    gm.recompile()


def reads_the_constant_first(gm, node_name, buffer_name, tensor):
    node = find(gm, node_name)
    gm.register_buffer(buffer_name, tensor.clone())
    with gm.graph.inserting_before(next(iter(gm.graph.nodes))):
        constant = gm.graph.get_attr(buffer_name)
    with gm.graph.inserting_after(node):
        product = gm.graph.call_function(aten.mul.Tensor, (node, constant))
    node.replace_all_uses_with(product, delete_user_cb=lambda user: user is not product)
    gm.recompile()


def erases_in_reverse_by_hand(gm, node_name):
    node, gone = find(gm, node_name), []
    node.replace_all_uses_with(node.args[0])
    for other in reversed(gm.graph.nodes):
        if other is node or not (other.users or other.is_impure()):
            gone.insert(0, other.name)
            gm.graph.erase_node(other)
    gm.recompile()
    return gone


def deletes_the_modules_as_well(gm, node_name):
    gone = bypass(gm, node_name)
    gm.delete_all_unused_submodules()
    return gone


def recompiles_twice(gm, node_name, op, *extra):
    replace_by_op(gm, node_name, op, *extra)
    gm.recompile()


RIGHT: list[tuple[str, Callable]] = [
    ("insert_module", rewires_each_user),
    ("insert_module", repairs_its_own_input),
    ("insert_module", assigns_the_graph_again),
    ("replace_by_op", cleans_up_all_modules),
    ("replace_by_op", erases_by_dead_code_elimination),
    ("replace_by_op", recompiles_twice),
    ("multiply_by", reads_the_constant_first),
    ("bypass", erases_in_reverse_by_hand),
    ("bypass", deletes_the_modules_as_well),
]
