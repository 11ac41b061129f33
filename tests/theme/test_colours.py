"""The site's colours are readable: every text colour on every background it stands on, light and dark."""

import re
from pathlib import Path

import pytest

CSS = (Path(__file__).parents[2] / "docs/theme/assets/site.css").read_text(encoding="utf-8")
SCHEMES = {"light": "[data-md-color-scheme] {", "dark": '[data-md-color-scheme="slate"] {'}
TEXT = {
    "--paper": [
        "--ink", "--soft", "--link", "--link-hover", "--ok", "--note", "--ask", "--warn",
        "--md-default-fg-color--lighter",
    ],
    "--tint": ["--soft", *(f"--md-code-hl-{kind}-color" for kind in (
        "comment", "generic", "variable", "operator", "punctuation", "name", "keyword", "constant", "string", "number",
        "function", "special",
    ))],
    "--mark": ["--ink"],
}


def colours(scheme: str) -> dict[str, str]:
    """The custom properties with a colour as their value; what dark leaves out, it has from light."""
    found = {} if scheme == "light" else colours("light")
    start = CSS.index(SCHEMES[scheme])
    return found | dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{3,6});", CSS[start:CSS.index("}", start)]))


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    return sum(w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
               for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contrast_is_at_least_4_5(scheme: str):
    palette = colours(scheme)
    faint = {}
    for background, texts in TEXT.items():
        for text in texts:
            light, dark = sorted((luminance(palette[text]), luminance(palette[background])), reverse=True)
            ratio = (light + 0.05) / (dark + 0.05)
            if ratio < 4.5:
                faint[f"{text} on {background}"] = round(ratio, 2)
    assert faint == {}
