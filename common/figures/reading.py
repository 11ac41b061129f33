"""From a graph to the cells of one stage."""

from __future__ import annotations

import operator
import re
from collections.abc import Hashable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from common.figures.cells import INT8, Cell
from common.figures.facts import (
    argument_text,
    constants_of,
    cut,
    is_guard,
    label_of_param,
    nodes_in,
    number_text,
    numbers,
    range_text,
    short_title,
    target_text,
    tensor_text,
)
from common.figures.text import plain, shorten
from common.graph_utils import short

# Namespaces of operations that a backend brings; custom operations of others count as ordinary ones.
_LOWERED = frozenset(
    {"onednn", "mkldnn", "mkldnn_prepacked", "quantized", "xnnpack", "prepacked", "cadence", "cortex_m"}
)


def read_graph(gm: GraphModule, show_params: bool) -> list[Cell]:
    """The cells of `gm` in graph order. Without `show_params` a get_attr is part of its reader's label."""
    reader = _Reader(gm, show_params)
    return [reader.cell(node) for node in gm.graph.nodes if not is_guard(node) and node not in reader.folded]


class _Reader:
    def __init__(self, gm: GraphModule, show_params: bool) -> None:
        self.gm = gm
        self.folded = {node for node in gm.graph.nodes if node.op == "get_attr" and not show_params}
        self.symbols: dict[str, str] = {}  # s77 → N: the same text in every run
        self.names: dict[Node, str] = {}
        taken: set[str] = set()
        for node in gm.graph.nodes:  # fx keeps names unique, but an assignment to node.name does not
            if is_guard(node):
                continue
            plain_name = name = plain(node.name) or "?"
            number = 2
            while name in taken:
                name, number = f"{plain_name} ({number})", number + 1
            self.names[node] = name
            taken.add(name)

    def cell(self, node: Node) -> Cell:
        read = list(nodes_in((node.args, node.kwargs)))
        name = self.names[node]
        cell = Cell(
            name=name,
            role=self._role(node),
            title=short_title(name, self._callee(node)),
            reads=[(self.names[r], i) for i, r in enumerate(read) if r in self.names and r not in self.folded],
            value=self._value(node),
        )
        cell.details = {
            "op": node.op,
            "target": target_text(node),
            "args": cut(", ".join(argument_text(a) for a in node.args)),
            "kwargs": cut(", ".join(f"{k}={argument_text(a)}" for k, a in node.kwargs.items())),
            "users": ", ".join(self._name(u) for u in node.users if not is_guard(u)),
        }
        params = [label_of_param(r) for r in read if r in self.folded]
        getattr(self, f"_fill_{cell.role}")(node, cell, params)
        if not cell.call:
            arguments = [self._argument(r) for r in nodes_in(node.args) if not is_guard(r)]
            arguments += [f"{k}={self._argument(a)}" for k, v in node.kwargs.items() for a in nodes_in(v)]
            cell.call = f"{self._callee(node)}({', '.join(arguments + constants_of(node))})"
        state = (self._callee(node), cell.details.get("range", ""))
        cell.signature = (node.op, target_text(node), self._tokens(node.args), self._tokens(node.kwargs), state)
        cell.details = {key: text for key, text in (cell.details | {"value": cell.value}).items() if text}
        return cell

    # What each role shows.

    def _fill_io(self, node: Node, cell: Cell, params: list[str]) -> None:
        cell.notes = params
        cell.call = "placeholder" if node.op == "placeholder" else ""

    def _fill_param(self, node: Node, cell: Cell, params: list[str]) -> None:
        value = self._attribute(node)
        if isinstance(value, torch.Tensor):
            cell.value = cell.value or tensor_text(value.dtype, value.shape)
        if plain(str(node.target).replace(".", "_")) != cell.name:
            cell.title = shorten(cell.name, 18)
            cell.notes.append(label_of_param(node))
        if cell.dtype in INT8:
            cell.notes.append(cell.dtype)
        cell.call = f"get_attr {plain(node.target)}"

    def _fill_op(self, node: Node, cell: Cell, params: list[str]) -> None:
        callee = self._callee(node)
        named = callee.lower() not in cell.name.lower() and callee != "getitem"
        constants = constants_of(node)
        if node.target is operator.getitem:
            constants = [f"[{constant}]" for constant in constants]
        cell.notes = [*([shorten(callee)] if named else []), *params, *constants]

    def _fill_lowered(self, node: Node, cell: Cell, params: list[str]) -> None:
        cell.notes = [getattr(node.target, "namespace", "delegate"), *params]

    def _fill_observer(self, node: Node, cell: Cell, params: list[str]) -> None:
        module = self.gm.get_submodule(str(node.target))
        inner = getattr(module, "activation_post_process", module)  # a fake-quant holds its observer
        kind, fake = type(module).__name__, "FakeQuantize"
        cell.title = shorten(kind.removesuffix("Observer"))
        begin = kind.removesuffix(fake)
        if cell.title != kind and kind.endswith(fake):
            cell.title, params = fake, [*params, begin]
        seen = range_text(inner)
        number = re.fullmatch(r"activation_post_process_(\d+)", cell.name)
        cell.notes = [*params, f"#{number[1]}" if number else shorten(cell.name), *([seen] if seen else [])]
        limits = [getattr(inner, key, None) for key in ("quant_min", "quant_max")]
        cell.details |= {
            "module": kind if inner is module else f"{kind} ({type(inner).__name__})",
            "dtype": plain(getattr(inner, "dtype", "")).removeprefix("torch."),
            "qscheme": plain(getattr(inner, "qscheme", "")).removeprefix("torch."),
            "quant_range": "" if None in limits else f"[{limits[0]}, {limits[1]}]",
            "range": seen,
        }
        arguments = [self._argument(r) for r in nodes_in(node.args)]
        cell.call = f"{kind}({', '.join(arguments)})" + (f" {seen}" if seen else "")
        cell.group = id(module)

    def _fill_quantize(self, node: Node, cell: Cell, params: list[str]) -> None:
        cell.title = cell.role
        dtype = next((plain(a).removeprefix("torch.") for a in reversed(node.args) if isinstance(a, torch.dtype)), "")
        scale, zero = (self._constant(a) for a in (*node.args[1:3], None, None)[:2])
        params = params[:1] if node.args and node.args[0] in self.folded else []
        scales, zeros = numbers(scale), numbers(zero)
        if not scales:
            parts = [f"{dtype} · dynamic"]
        elif len(scales) > 1:
            parts = [f"{dtype} · {len(scales)} channels"]
        else:
            parts = [dtype, f"s {number_text(scales[0])}", *(f"z {number_text(z)}" for z in zeros[:1])]
        cell.notes = [*params, *parts]
        cell.details["scale"] = cut(", ".join(f"{value:.6g}" for value in scales))
        cell.details["zero_point"] = cut(", ".join(f"{value:.6g}" for value in zeros))
        if not cell.value:
            cell.value = dtype if cell.role == "quantize" else "float32"
        source = [self._argument(r) for r in nodes_in(node.args[:1])]
        cell.call = f"{short(node.target)}({', '.join([*source, *(p.replace(' · ', ', ') for p in parts)])})"

    _fill_dequantize = _fill_quantize

    # What is read off a node.

    def _argument(self, node: Node) -> str:
        """How a node in the arguments stands in the text twin: its name, or ``‹conv_weight›`` for a folded get_attr."""
        return label_of_param(node, in_full=True) if node in self.folded else self._name(node)

    def _name(self, node: Node) -> str:
        """The node's name in the figure; of a node that is not in this graph, which lint() would refuse, its own."""
        return self.names.get(node, plain(node.name))

    def _role(self, node: Node) -> str:
        if node.op in ("placeholder", "output"):
            return "io"
        if node.op == "get_attr":
            return "param"
        if node.op == "call_module":
            return "observer" if hasattr(self._attribute(node), "calculate_qparams") else "op"
        name, namespace = short(node.target), getattr(node.target, "namespace", "")
        if namespace == "quantized_decomposed" and name.startswith(("quantize_per", "dequantize_per")):
            return "quantize" if name.startswith("quantize") else "dequantize"
        return "lowered" if namespace in _LOWERED or name.endswith("call_delegate") else "op"

    def _callee(self, node: Node) -> str:
        """What the node calls, short; for a module the class of the module."""
        if node.op == "call_module" and (module := self._attribute(node)) is not None:
            return type(module).__name__
        return plain(node.op if node.op == "output" else short(node.target))

    def _attribute(self, node: Node) -> Any:
        try:
            return operator.attrgetter(str(node.target))(self.gm)
        except AttributeError:  # the graph is broken there; it is drawn all the same
            return None

    def _constant(self, argument: Any) -> Any:
        """The value of an argument: a Python number, or the tensor that a get_attr reads; None if it is computed."""
        if isinstance(argument, Node):
            return self._attribute(argument) if argument.op == "get_attr" else None
        return argument

    def _value(self, node: Node) -> str:
        value = node.meta.get("val")
        several = value if isinstance(value, (list, tuple)) else [value]
        texts = [tensor_text(v.dtype, v.shape, self.symbols) for v in several if isinstance(v, torch.Tensor)]
        return "; ".join(texts[:3]) + ("; …" if len(texts) > 3 else "")

    def _tokens(self, value: Any) -> Hashable:
        """An argument as a comparable value: nodes become ("node", name) or ("param", target)."""
        if isinstance(value, Node):
            return ("param", str(value.target)) if value in self.folded else ("node", self._name(value))
        if isinstance(value, dict):
            return tuple((key, self._tokens(item)) for key, item in value.items())
        if isinstance(value, (list, tuple)):
            return tuple(map(self._tokens, value))
        return ("constant", plain(repr(value)))
