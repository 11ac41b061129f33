"""A cell: one drawn node of one stage."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

# Roles that sit on a line between two others: they come, go and take each other's place.
ON_EDGE = frozenset({"annotation", "observer", "quantize", "dequantize"})
INT8 = frozenset({"int8", "uint8"})
# How export names the placeholders of parameters, buffers and constants: a convention, good enough for a layout.
STATE_PREFIXES = ("p_", "b_", "c_")


@dataclass
class Cell:
    """One drawn node of one stage.

    Attributes:
        name: the node's name, unique in its stage.
        role: io, param, op, lowered, observer, quantize, dequantize or annotation.
        title, notes: first line, and the parts of the lines below it.
        call: what the text twin says after ``name =``.
        reads: (name of the cell that is read, its position among all nodes in the arguments).
        value: dtype and shape of what it gives, such as ``float32 [N, 8, 16, 16]``; empty if unknown.
        signature: operation, arguments and state; ``("node", name)`` stands for a node in the arguments.
        group: what observers that are one object, or annotations that will become one, have in common.
        details: further facts by key, for the data in a page.
        place, change, letter: set for the whole figure: index of its place, marks, sharing letter.
    """

    name: str
    role: str
    title: str
    notes: list[str] = field(default_factory=list)
    call: str = ""
    reads: list[tuple[str, int]] = field(default_factory=list)
    value: str = ""
    signature: tuple = ()
    group: Hashable = None
    details: dict[str, str] = field(default_factory=dict)
    place: int = -1
    change: tuple[str, ...] = ()
    letter: str = ""

    @property
    def dtype(self) -> str:
        return self.value.partition(" ")[0]


def is_state(cell: Cell) -> bool:
    """Whether the cell is a parameter, buffer or constant: a get_attr, or a placeholder that export named as such."""
    return cell.role == "param" or (cell.role == "io" and not cell.reads and cell.name.startswith(STATE_PREFIXES))
