"""Text, attributes, data and CSS for HTML that is put into a page."""

from __future__ import annotations

import hashlib
import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from common.figures.text import plain

_SCHEME = "[data-md-color-scheme="  # how Material for MkDocs says which scheme a page has


def esc(text: object) -> str:
    """Text for an element or a quoted attribute."""
    return html.escape(plain(text), quote=True)


def code_spans(text: str) -> str:
    """Escaped text in which `backticks` become ``<code>``."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", esc(text))


def bare(text: str) -> str:
    """Without the `backticks` that mark code."""
    return re.sub(r"`([^`]+)`", r"\1", plain(text))


def json_block(data: Any) -> str:
    """A ``<script type="application/json">``; no value can end it early."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" class="fx-data">{text}</script>'


def stand_alone(make: Any) -> str:
    """`make(id)` as HTML that needs nothing of the page: own id, own light style, no effect on the rest of the page."""
    uid = f"fx-{hashlib.sha256(make('').encode()).hexdigest()[:10]}"
    return f'<div class="fx-card" id="{uid}"><style>{_scoped(uid)}</style>{make(f"{uid}-0")}</div>'


@cache
def stylesheet() -> str:
    """The CSS of figures and tables, with the fallback for browsers that don't know ``light-dark()``."""
    css = (Path(__file__).parent / "figures.css").read_text(encoding="utf-8")
    pairs = re.findall(r"(--fx-[\w-]+): light-dark\((#\w+), (#\w+)\);", css)
    light = " ".join(f"{name}: {color};" for name, color, _ in pairs)
    dark = " ".join(f"{name}: {color};" for name, _, color in pairs)
    return (
        f"{css}\n/* Browsers without light-dark(): the same colours, derived from the declarations above. */\n"
        "@supports not (color: light-dark(#000, #fff)) {\n"
        f".fx, .fx-table {{ {light} }}\n"
        f"{_SCHEME}slate] .fx, {_SCHEME}slate] .fx-table {{ {dark} }}\n}}\n"
    )


@cache
def _scoped(uid: str) -> str:
    """The stylesheet for what lies inside ``#uid`` alone, without the rules for a page's colour scheme, compact."""
    css = re.sub(r"/\*.*?\*/", "", stylesheet(), flags=re.DOTALL)
    css = re.sub(r"[^{}]*\[data-md-color-scheme=[^{}]*\{[^{}]*\}", "", css)

    def scope(match: re.Match[str]) -> str:
        selectors = [s.strip() for s in match[1].split(",")]
        inner = [f"#{uid}" if s == ".fx-card" else f"#{uid} {s}" for s in selectors]
        return f"{','.join(inner)}{{"

    css = re.sub(r"(?<=[{};])\s*([^@{};][^{};]*)\{", scope, f";{css}")[1:]
    return re.sub(r"\s+", " ", css).strip()
