"""The outline of each role, and the size it needs so that every line of text lies inside it. Lengths in px."""

from __future__ import annotations

from common.figures.cells import Cell
from common.figures.text import NAME_PX, NOTE_PX, break_lines, width

PAD = 10.0  # left and right of the text
TITLE_ROW, NOTE_ROW = 28.0, 13.0  # height of a node with a title alone, and of each further line
LETTER = 22.0  # room for the sharing letter
SLANT = 12.0  # how far the sides of hexagons and trapezoids lean
MIN_WIDTH = 64.0


def lines_of(cell: Cell) -> list[str]:
    """The lines below the title."""
    return break_lines(cell.notes)


def size_of(cell: Cell) -> tuple[float, float]:
    """Width and height of the cell's outline."""
    notes = lines_of(cell)
    text = max([width(cell.title, NAME_PX, mono=True), *(width(line, NOTE_PX) for line in notes)])
    height = TITLE_ROW + NOTE_ROW * len(notes)
    inner = text + 2 * PAD + (LETTER if cell.letter else 0)
    if cell.role == "io":
        # The corners of the text's box lie on the ellipse: (w/W)² + (h/H)² = 1.
        high = (height - 12) / height
        inner = max(inner, (text + 6) / (1 - high * high) ** 0.5)
    elif cell.role == "observer":
        inner += SLANT
    elif cell.role in ("quantize", "dequantize"):
        inner += SLANT * 1.5
    elif cell.role == "annotation":
        inner += 6
    return max(inner, MIN_WIDTH), height


def outline(role: str, x: float, y: float, w: float, h: float) -> str:
    """SVG elements of a role's outline, centred on (x, y)."""
    left, right, top, bottom = x - w / 2, x + w / 2, y - h / 2, y + h / 2
    if role == "io":
        return f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{w / 2:.1f}" ry="{h / 2:.1f}"/>'
    if role == "param":
        fold = min(9.0, h / 3)
        corner = f"M{right - fold:.1f} {top:.1f}v{fold:.1f}h{fold:.1f}"
        page = _polygon((left, top), (right - fold, top), (right, top + fold), (right, bottom), (left, bottom))
        return f'{page}<path class="fx-fold" d="{corner}"/>'
    if role == "observer":
        k = min(SLANT, w / 4)
        upper, lower = [(left + k, top), (right - k, top)], [(right - k, bottom), (left + k, bottom)]
        return _polygon(*upper, (right, y), *lower, (left, y))
    if role in ("quantize", "dequantize"):
        up, down = (0.0, min(SLANT, w / 4)) if role == "quantize" else (min(SLANT, w / 4), 0.0)
        return _polygon((left + up, top), (right - up, top), (right - down, bottom), (left + down, bottom))
    if role == "lowered":
        return _box(left, top, w, h, 4) + _box(left + 3, top + 3, w - 6, h - 6, 2)
    return _box(left, top, w, h, min(h / 2, 18) if role == "annotation" else 6)


def _polygon(*points: tuple[float, float]) -> str:
    return f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}Z"/>'


def _box(x: float, y: float, w: float, h: float, radius: float) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{radius:.1f}"/>'
