"""What a figure says of a node, its arguments and its values, as short text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import Node

from common.figures.text import TITLE_LIMIT, columns, plain, shorten

_NAMELESS_ARGS = frozenset({"other", "self", "input"})  # their value stands alone in a label
_UNSHOWN_ARGS = frozenset({"device", "layout", "pin_memory", "memory_format"})
_STATISTICS_ARGS = frozenset({"momentum", "eps", "cudnn_enabled", "training"})  # of batch norms


def is_guard(node: Node) -> bool:
    """Whether `node` is the input check that ``ExportedProgram.module()`` inserts; figures leave it out."""
    return node.op == "call_module" and node.target == "_guards_fn"


def nodes_in(value: Any) -> Iterator[Node]:
    """The nodes in an argument, in order and with repetitions."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from nodes_in(item)
    elif isinstance(value, dict):
        yield from nodes_in(list(value.values()))
    elif isinstance(value, slice):
        yield from nodes_in([value.start, value.stop, value.step])


def label_of_param(node: Node, in_full: bool = False) -> str:
    """``‹conv_weight›`` for a get_attr of ``conv.weight``: how it stands in the label of who reads it."""
    name = plain(str(node.target).replace(".", "_"))
    return f"‹{name if in_full else shorten(name, 20)}›"


def short_title(name: str, callee: str) -> str:
    """A name short enough for a node: of a long one that begins with its operation, the operation and the number."""
    if columns(name) > TITLE_LIMIT and name.startswith(f"{callee}_"):
        number = re.search(r"_\d+$", name)
        return shorten(f"{callee}…{number[0] if number else ''}")
    return shorten(name)


def target_text(node: Node) -> str:
    target = node.target
    if callable(target) and not hasattr(target, "_schema") and hasattr(target, "__qualname__"):
        return f"{getattr(target, '__module__', None) or ''}.{target.__qualname__}".strip(".")
    return plain(target)


def constants_of(node: Node) -> list[str]:
    """The constants that a label shows: those an operation cannot do without, at most two.

    ``2.0`` in ``mul(x, 2.0)``, ``dim=[2, 3]`` in a mean; a stride or padding is left to the details. A batch norm in
    training form says so, because its many other constants hide that.
    """
    if node.op in ("placeholder", "output", "get_attr"):
        return []
    if (schema := getattr(node.target, "_schema", None)) is None:
        values = [("", a) for a in node.args if not list(nodes_in(a)) and a is not None]
        values += [(key, a) for key, a in node.kwargs.items() if not list(nodes_in(a)) and a is not None]
    else:
        given = dict(zip((a.name for a in schema.arguments), node.args, strict=False)) | dict(node.kwargs)
        needed = {a.name for a in schema.arguments if not a.has_default_value()} | set(node.kwargs)
        values = [(key, given[key]) for key in given if key in needed - _UNSHOWN_ARGS and given[key] is not None]
        values = [(key, value) for key, value in values if not list(nodes_in(value))]
    values = [(k, v) for k, v in values if k not in _STATISTICS_ARGS or (k == "training" and v is True)]
    values = values if len(values) <= 2 else []
    return [
        shorten(argument_text(v) if k in _NAMELESS_ARGS or not k else f"{k}={argument_text(v)}", 22) for k, v in values
    ]


def argument_text(value: Any) -> str:
    """A Python argument, short: ``int8`` for a dtype, names for nodes."""
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(argument_text, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, Node):
        return plain(value.name)
    if isinstance(value, torch.Tensor):
        return tensor_text(value.dtype, value.shape)
    return plain(value if isinstance(value, (str, torch.dtype)) else repr(value)).removeprefix("torch.")


def tensor_text(dtype: torch.dtype, shape: Any, symbols: dict[str, str] | None = None) -> str:
    """``float32 [N, 8, 16, 16]``; the symbols of dynamic sizes are named N, N1, … in the order in which they appear."""

    def named(match: re.Match[str]) -> str:
        known = symbols if symbols is not None else {}
        return known.setdefault(match[0], f"N{len(known) or ''}")

    sizes = [re.sub(r"\b[su]\d+\b", named, str(size)) for size in shape]
    return f"{plain(dtype).removeprefix('torch.')} [{', '.join(sizes)}]"


def range_text(observer: Any) -> str:
    """What an observer has seen: ``[−4.09, 4.1]``, over all channels with their number, ``[—, —]`` for nothing yet."""
    low, high = getattr(observer, "min_val", None), getattr(observer, "max_val", None)
    if not isinstance(low, torch.Tensor) or not isinstance(high, torch.Tensor):
        return ""
    if not low.numel() or not (torch.isfinite(low).all() and torch.isfinite(high).all()):
        return "[—, —]"
    channels = f" ×{low.numel()}" if low.numel() > 1 else ""
    return f"[{number_text(low.min())}, {number_text(high.max())}]{channels}"


def numbers(value: Any) -> list[float]:
    if isinstance(value, torch.Tensor):
        return value.detach().flatten().tolist()
    return [value] if isinstance(value, (int, float)) else []


def number_text(value: Any) -> str:
    return f"{float(value):.3g}".replace("-", "−")


def cut(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
