"""The stylesheet: contrast in both schemes, one declaration a colour, and what follows from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import common
from common.viz import Figure, stylesheet

SOURCE = (Path(common.__file__).parent / "figures" / "figures.css").read_text(encoding="utf-8")
COLORS = {
    name: {"light": light, "dark": dark}
    for name, light, dark in re.findall(r"--fx-([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", SOURCE)
}
ROLES = ("io", "param", "op", "observer", "quantize", "lowered")
# (text, what lies behind it): every pair that a figure or table draws.
PAIRS = [
    *(("ink", role) for role in ROLES),
    *(("soft", role) for role in ROLES),
    *((text, "paper") for text in ("ink", "soft", "new", "gone", "changed")),
    ("ink", "rule"),  # the stage's number
    ("ink", "tint"),  # the text twin, code in tables
    ("on", "observer-edge"),  # a sharing letter
    *(("on", mark) for mark in ("new", "gone", "changed")),  # the sign in a badge
]
# Lines and outlines against what lies behind them.
LINES = [("line", "paper"), *((f"{role}-edge", "paper") for role in ROLES), *((f"{role}-edge", role) for role in ROLES)]
LINES += [(mark, "paper") for mark in ("new", "gone", "changed", "focus")]


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_computed_as_wcag_does():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_a_contrast_of_at_least_4_5(scheme):
    ratios = {pair: contrast(COLORS[pair[0]][scheme], COLORS[pair[1]][scheme]) for pair in PAIRS}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_have_a_contrast_of_at_least_3(scheme):
    ratios = {pair: contrast(COLORS[pair[0]][scheme], COLORS[pair[1]][scheme]) for pair in LINES}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 3} == {}


def test_every_text_color_is_among_the_pairs():
    """A rule that gives text another colour must be listed above."""
    texts = set(re.findall(r"(?<![\w-])color: var\(--fx-([\w-]+)\)", SOURCE))
    texts |= set(re.findall(r"text[^{}]*\{[^}]*fill: var\(--fx-([\w-]+)\)", SOURCE))
    assert texts == {text for text, _ in PAIRS}


def test_each_color_is_declared_once_and_used():
    # The card's two literals repeat paper and ink, because it sets the scheme itself.
    literals = re.findall(r"#[0-9a-f]{3,8}\b", re.sub(r"light-dark\([^)]*\)|/\*.*?\*/", "", SOURCE))
    assert literals == [COLORS["paper"]["light"], COLORS["ink"]["light"]]
    assert re.findall(r"rgba?\(|hsla?\(", SOURCE) == []
    declared = re.findall(r"--fx-([\w-]+): light-dark", SOURCE)
    assert len(declared) == len(set(declared)) == len(COLORS)
    assert {name for name in declared if f"var(--fx-{name})" not in SOURCE} == set()


def test_browsers_without_light_dark_get_the_same_colors():
    css = stylesheet()
    assert css.startswith(SOURCE)
    fallback = css[len(SOURCE) :]
    light, dark = re.findall(r"\{ (--fx-[^}]*) \}", fallback)
    for scheme, block in (("light", light), ("dark", dark)):
        found = dict(re.findall(r"--fx-([\w-]+): (#\w+);", block))
        assert found == {name: pair[scheme] for name, pair in COLORS.items()}
    assert "@supports not (color: light-dark(#000, #fff))" in fallback
    assert "[data-md-color-scheme=slate] .fx" in fallback


def test_every_class_in_a_figure_is_in_the_stylesheet(pt2e, program):
    classes = set()
    for figure in (
        Figure(pt2e("branches"), show_params=True, highlight=["cat"], title="t"),
        Figure([(program.graph_module, "a"), (program.module(), "b")], show_params=True),
    ):
        for value in re.findall(r'class="([^"]+)"', figure.html("f")):
            classes |= set(value.split())
    hooks = {"fx-node", "fx-data", "fx-very-wide", "fx-wide", "fx-tip", "fx-edge"}  # for scripts, or part of a selector
    assert {name for name in classes - hooks if f".{name}" not in SOURCE} == set()
