"""Wrong answers to the puzzles of the M00 lab, each with the code of the message that it must get."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from solutions_m00 import bypass, find, insert_module, multiply_by, replace_by_op
from torch.fx import Graph, GraphModule

MISTAKES: list[tuple[str, str, Callable]] = []
aten = torch.ops.aten


def gets(puzzle: str, code: str) -> Callable:
    """Mark a function as a wrong answer to ``puzzle`` that the checker must call ``code``."""

    def mark(fn: Callable) -> Callable:
        MISTAKES.append((puzzle, code, fn))
        return fn

    return mark


def inserted(gm, node_name, module_name, module):
    """The new node, registered and in its place, not yet wired in."""
    gm.add_submodule(module_name, module)
    with gm.graph.inserting_after(find(gm, node_name)):
        return gm.graph.call_module(module_name, (find(gm, node_name),))


# --- insert_module


@gets("insert_module", "not_written")
def _(gm, node_name, module_name, module):
    raise NotImplementedError


@gets("insert_module", "raised")
def _(gm, node_name, module_name, module):
    return gm.graph.nodes[node_name]


@gets("insert_module", "unchanged")
def only_registers_the_module(gm, node_name, module_name, module):
    gm.add_submodule(module_name, module)


@gets("insert_module", "new_graph")
def edits_a_copy(gm, node_name, module_name, module):
    other = copy.deepcopy(gm)
    insert_module(other, node_name, module_name, module)
    return other


@gets("insert_module", "not_wired")
def forgets_the_users(gm, *args):
    inserted(gm, *args)
    gm.recompile()


@gets("insert_module", "self_loop")
def moves_all_users(gm, node_name, *args):
    find(gm, node_name).replace_all_uses_with(inserted(gm, node_name, *args))
    gm.recompile()


@gets("insert_module", "self_loop")
def moves_all_users_and_lints(gm, *args):
    moves_all_users(gm, *args)
    gm.graph.lint()


@gets("insert_module", "stale")
def forgets_to_recompile(gm, node_name, *args):
    new = inserted(gm, node_name, *args)
    find(gm, node_name).replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)


@gets("insert_module", "no_module")
def forgets_the_module(gm, node_name, module_name, module):
    node = find(gm, node_name)
    with gm.graph.inserting_after(node):
        new = gm.graph.call_module(module_name, (node,))
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
    gm.recompile()


@gets("insert_module", "some_users")
def moves_the_first_user(gm, node_name, *args):
    node = find(gm, node_name)
    first = next(iter(node.users))
    first.replace_input_with(node, inserted(gm, node_name, *args))
    gm.recompile()


@gets("insert_module", "one_argument")
def moves_the_first_place_of_each_user(gm, node_name, *args):
    node = find(gm, node_name)
    users = list(node.users)
    new = inserted(gm, node_name, *args)
    left = set()

    def once(user, value):
        if value is not node or user in left:
            return value
        left.add(user)
        return new

    for user in users:
        user.args = torch.fx.node.map_arg(user.args, lambda value, user=user: once(user, value))
    gm.recompile()


@gets("insert_module", "after_output")
def gives_no_place(gm, node_name, module_name, module):
    node = find(gm, node_name)
    gm.add_submodule(module_name, module)
    new = gm.graph.call_module(module_name, (node,))
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)


@gets("insert_module", "too_early")
def puts_it_before(gm, node_name, module_name, module):
    node = find(gm, node_name)
    gm.add_submodule(module_name, module)
    with gm.graph.inserting_before(node):
        new = gm.graph.call_module(module_name, (node,))
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
    gm.graph.lint()


@gets("insert_module", "wrong_args")
def reads_the_input_instead(gm, node_name, *args):
    insert_module(gm, node_name, *args)
    new = next(iter(find(gm, node_name).users))
    new.args = (next(node for node in gm.graph.nodes if node.op == "placeholder"),)
    gm.recompile()


@gets("insert_module", "extra")
def inserts_it_twice(gm, *args):
    insert_module(gm, *args)
    inserted(gm, *args)
    gm.recompile()


@gets("insert_module", "missing")
def inserts_an_op(gm, node_name, module_name, module):
    gm.add_submodule(module_name, module)
    node = find(gm, node_name)
    with gm.graph.inserting_after(node):
        new = gm.graph.call_function(aten.mul.Tensor, (node, module.k))
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
    gm.recompile()


@gets("insert_module", "output_order")
def turns_the_outputs_around(gm, *args):
    insert_module(gm, *args)
    output = next(node for node in gm.graph.nodes if node.op == "output")
    output.args = (output.args[0][::-1],)
    gm.recompile()


@gets("insert_module", "changed")
def touches_another_node(gm, *args):
    insert_module(gm, *args)
    for node in gm.graph.nodes:
        if node.target is aten.add.Tensor:
            node.args = (*node.args, *node.args)
    gm.recompile()


@gets("insert_module", "broken")
def reads_a_node_of_another_graph(gm, node_name, module_name, module):
    stranger = find(copy.deepcopy(gm), node_name)
    insert_module(gm, node_name, module_name, module)
    new = next(iter(find(gm, node_name).users))
    new.args = (stranger,)
    gm.recompile()


@gets("insert_module", "other_output")
def changes_the_module(gm, node_name, module_name, module):
    module.k += 1
    insert_module(gm, node_name, module_name, module)


@gets("insert_module", "other_values")
def changes_a_weight(gm, *args):
    insert_module(gm, *args)
    for parameter in gm.parameters():
        parameter.data += 1


# --- replace_by_op


@gets("replace_by_op", "erased_early")
def erases_first(gm, node_name, op, *extra):
    node = find(gm, node_name)
    gm.graph.erase_node(node)
    with gm.graph.inserting_before(node):
        node.replace_all_uses_with(gm.graph.call_function(op, (node.args[0], *extra)))


@gets("replace_by_op", "self_loop")
def reads_the_node_that_it_replaces(gm, node_name, op, *extra):
    node = find(gm, node_name)
    with gm.graph.inserting_after(node):
        new = gm.graph.call_function(op, (node, *extra))
    node.replace_all_uses_with(new)
    gm.graph.erase_node(node)
    gm.delete_submodule(node.target)
    gm.recompile()


@gets("replace_by_op", "left_module")
def forgets_the_module_left(gm, node_name, op, *extra):
    node = find(gm, node_name)
    with gm.graph.inserting_before(node):
        node.replace_all_uses_with(gm.graph.call_function(op, (node.args[0], *extra)))
    gm.graph.erase_node(node)
    gm.recompile()


@gets("replace_by_op", "left_module")
def deletes_by_the_name_of_the_node(gm, node_name, op, *extra):
    forgets_the_module_left(gm, node_name, op, *extra)
    if all(node.target != node_name for node in gm.graph.nodes):
        gm.delete_submodule(node_name)


@gets("replace_by_op", "lost_module")
def deletes_a_module_that_is_still_called(gm, node_name, op, *extra):
    target = find(gm, node_name).target
    forgets_the_module_left(gm, node_name, op, *extra)
    gm.delete_submodule(target)


@gets("replace_by_op", "left")
def forgets_to_erase(gm, node_name, op, *extra):
    node = find(gm, node_name)
    with gm.graph.inserting_before(node):
        node.replace_all_uses_with(gm.graph.call_function(op, (node.args[0], *extra)))
    gm.recompile()


@gets("replace_by_op", "not_wired")
def forgets_the_users_of_the_module(gm, node_name, op, *extra):
    node = find(gm, node_name)
    with gm.graph.inserting_before(node):
        gm.graph.call_function(op, (node.args[0], *extra))
    gm.recompile()


@gets("replace_by_op", "wrong_args")
def forgets_the_extra_arguments(gm, node_name, op, *extra):
    replace_by_op(gm, node_name, op)


@gets("replace_by_op", "retargeted")
def turns_the_node_itself_into_the_op(gm, node_name, op, *extra):
    node = find(gm, node_name)
    node.op, node.target, node.args = "call_function", op, (*node.args, *extra)
    gm.recompile()


@gets("replace_by_op", "stale")
def forgets_to_recompile_the_op(gm, node_name, op, *extra):
    node = find(gm, node_name)
    with gm.graph.inserting_before(node):
        node.replace_all_uses_with(gm.graph.call_function(op, (node.args[0], *extra)))
    gm.graph.erase_node(node)
    gm.delete_all_unused_submodules()


# --- multiply_by


@gets("multiply_by", "tensor_in_args")
def puts_the_tensor_into_the_arguments(gm, node_name, buffer_name, tensor):
    node = find(gm, node_name)
    with gm.graph.inserting_after(node):
        new = gm.graph.call_function(aten.mul.Tensor, (node, tensor))
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
    gm.recompile()


def multiplied(gm, node_name, buffer_name):
    """The edit of the graph alone: nothing is stored."""
    node = find(gm, node_name)
    with gm.graph.inserting_before(node):
        constant = gm.graph.get_attr(buffer_name)
    with gm.graph.inserting_after(node):
        new = gm.graph.call_function(aten.mul.Tensor, (node, constant))
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
    gm.recompile()


@gets("multiply_by", "no_tensor")
def stores_nothing(gm, node_name, buffer_name, tensor):
    multiplied(gm, node_name, buffer_name)


@gets("multiply_by", "no_buffer")
def stores_an_attribute(gm, node_name, buffer_name, tensor):
    setattr(gm, buffer_name, tensor)
    multiplied(gm, node_name, buffer_name)


@gets("multiply_by", "no_buffer")
def stores_a_parameter(gm, node_name, buffer_name, tensor):
    gm.register_parameter(buffer_name, torch.nn.Parameter(tensor))
    multiplied(gm, node_name, buffer_name)


@gets("multiply_by", "no_buffer")
def stores_a_buffer_that_is_not_saved(gm, node_name, buffer_name, tensor):
    gm.register_buffer(buffer_name, tensor, persistent=False)
    multiplied(gm, node_name, buffer_name)


@gets("multiply_by", "other_values")
def stores_zeros(gm, node_name, buffer_name, tensor):
    multiply_by(gm, node_name, buffer_name, torch.zeros_like(tensor))


@gets("multiply_by", "missing")
def multiplies_by_a_number(gm, node_name, buffer_name, tensor):
    gm.register_buffer(buffer_name, tensor)
    node = find(gm, node_name)
    with gm.graph.inserting_after(node):
        new = gm.graph.call_function(aten.mul.Tensor, (node, float(tensor[0])))
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
    gm.recompile()


@gets("multiply_by", "too_early")
def reads_the_buffer_too_late(gm, node_name, buffer_name, tensor):
    multiply_by(gm, node_name, buffer_name, tensor)
    constant = next(node for node in gm.graph.nodes if node.target == buffer_name)
    next(iter(constant.users)).append(constant)


# --- bypass


@gets("bypass", "erased_early")
def erases_before_rewiring(gm, node_name):
    gm.graph.erase_node(find(gm, node_name))


@gets("bypass", "left")
def cleans_up_nothing_else(gm, node_name):
    node = find(gm, node_name)
    node.replace_all_uses_with(node.args[0])
    gm.graph.erase_node(node)
    gm.recompile()
    return [node_name]


@gets("bypass", "left")
def walks_forward_once(gm, node_name):
    before = [node.name for node in gm.graph.nodes]
    node = find(gm, node_name)
    node.replace_all_uses_with(node.args[0])
    gm.graph.erase_node(node)
    for other in list(gm.graph.nodes):
        if not other.users and not other.is_impure():
            gm.graph.erase_node(other)
    gm.recompile()
    after = {node.name for node in gm.graph.nodes}
    return [name for name in before if name not in after]


@gets("bypass", "left_impure")
def leaves_it_all_to_dead_code_elimination(gm, node_name):
    before = [node.name for node in gm.graph.nodes]
    node = find(gm, node_name)
    node.replace_all_uses_with(node.args[0])
    gm.graph.eliminate_dead_code()
    gm.recompile()
    after = {node.name for node in gm.graph.nodes}
    return [name for name in before if name not in after]


@gets("bypass", "lost_impure")
def erases_all_that_has_no_users(gm, node_name):
    gone = bypass(gm, node_name)
    for node in reversed(gm.graph.nodes):
        if not node.users and node.op != "output":
            gone.append(node.name)
            gm.graph.erase_node(node)
    gm.recompile()
    return gone


@gets("bypass", "lost")
def takes_out_the_input_as_well(gm, node_name):
    source = find(gm, node_name).args[0]
    gone = bypass(gm, node_name)
    if source.op == "call_function":
        gone += bypass(gm, source.name)
    return gone


@gets("bypass", "returned")
def returns_only_the_name_it_got(gm, node_name):
    bypass(gm, node_name)
    return [node_name]


@gets("bypass", "returned")
def returns_the_names_in_another_order(gm, node_name):
    return bypass(gm, node_name)[::-1]


@gets("bypass", "new_graph")
def builds_a_new_graph(gm, node_name):
    graph = Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    return GraphModule(gm, graph)
