"""Text in a figure: how wide it is at most, where it breaks, and how a long name is shortened.

A layout must not depend on the fonts of a machine, so widths are upper bounds: they are those of DejaVu Sans and DejaVu
Sans Mono, which are wider than the other fonts that the stylesheet names.
"""

from __future__ import annotations

import re
import unicodedata

NAME_PX, NOTE_PX = 13, 11  # font sizes: first line (monospace, semibold), further lines (sans)
TITLE_LIMIT = 24  # columns: a longer name is shortened
NOTE_LIMIT = 118  # px: a note line breaks where it would be wider

_MONO_EM = 0.61
_SANS_EM = {
    **dict.fromkeys("ijl'|", 0.29),
    **dict.fromkeys("f.,:;·/\\ \xa0", 0.36),
    **dict.fromkeys('rt()[]{}!I‹›-_"*`', 0.5),
    **dict.fromkeys("mMW@%—…→", 1.0),
    **dict.fromkeys("w−×=+<>#~^&CDGHNOQUA", 0.84),
}


def width(text: str, size: float, mono: bool = False) -> float:
    """Width of one line in px, an upper bound. CJK and full-width characters take 1 em, pictographs 1.4 em."""
    return size * sum(map(_em_mono if mono else _em_sans, text))


def columns(text: str) -> int:
    """Width in a terminal: CJK and full-width characters take two columns, combining ones none."""
    return sum(0 if _is_zero_width(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shorten(text: str, limit: int = TITLE_LIMIT) -> str:
    """At most `limit` columns: the middle of a longer text becomes an ellipsis, so a numbered end stays visible."""
    if columns(text) <= limit:
        return text
    tail = _prefix(text[::-1], (limit - 1) // 3)[::-1]
    return f"{_prefix(text, limit - 1 - columns(tail))}…{tail}"


def break_lines(parts: list[str], limit: float = NOTE_LIMIT) -> list[str]:
    """Put note `parts` into lines of at most `limit` px, ``" · "`` between two on one line. A part is never broken."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]} · {part}" if lines else part
        if lines and width(joined, NOTE_PX) <= limit:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


def plain(text: object) -> str:
    """One line without control characters and memory addresses: the same in every process."""
    clean = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") else c for c in str(text))
    return re.sub(r" at 0x[0-9a-fA-F]+", "", clean)


def _prefix(text: str, limit: int) -> str:
    """The longest beginning of `text` that takes at most `limit` columns."""
    used = 0
    for index, char in enumerate(text):
        used += columns(char)
        if used > limit:
            return text[:index]
    return text


def _is_zero_width(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me", "Cf")


def _em_mono(char: str) -> float:
    return _MONO_EM if char < "\u0250" or char in "‹›…−→×·" else _em_other(char)


def _em_sans(char: str) -> float:
    if char in _SANS_EM:
        return _SANS_EM[char]
    if char < "\u0250":
        return 0.78 if char.isupper() else 0.64
    return _em_other(char)


def _em_other(char: str) -> float:
    if _is_zero_width(char):
        return 0.0
    return 1.4 if char >= "\U0001f000" else 1.0
