"""Chinese in text: where it is, and whether it is written as in Taiwan."""

import re
from collections.abc import Iterator
from functools import cache

import opencc

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
CODE = "\ue000"  # stands for a code span in text without its markup (a private-use character)

# Words that are right in Taiwan although OpenCC would write them otherwise, each with the reason. A test reports those
# that no file needs any more.
ALLOWED = {
    "台": "the everyday form of 臺",
    "發布": "to publish; the Ministry of Education lists it before 發佈",
    "分布": "distribution; at least as common as 分佈",
}

_HAN = re.compile(f"[{HAN}]")
_CJK = re.compile(f"[{HAN}\u3000-\u303f\u3040-\u312f\uff00-\uffef]+")
_CODE_SPAN = re.compile(r"(?P<ticks>`+)(?:(?!(?P=ticks)).)+(?P=ticks)")
_TIGHT = re.compile(rf"[{HAN}](?=[A-Za-z0-9{CODE}])|[A-Za-z0-9{CODE}](?=[{HAN}])")
_HALF_WIDTH = re.compile(
    rf"(?<=[{HAN}])(?:[,;:!?\"']|\.(?=[\s.{HAN}]|$)|[ ]?[()])|[,;:!?\"')](?=[{HAN}])|\((?=[ ]?[{HAN}])"
)


def has_han(text: str) -> bool:
    """Whether `text` holds a Chinese character."""
    return bool(_HAN.search(text))


def cjk(text: str) -> list[str]:
    """The runs of Chinese characters, kana and full-width punctuation in `text`."""
    return _CJK.findall(text)


def without_code(text: str) -> str:
    """`text` with each `code span` replaced by the one character `CODE`."""
    return _CODE_SPAN.sub(CODE, text)


def tight(text: str) -> Iterator[str]:
    """Each place where a Chinese character touches a Latin letter, a digit or code (see `without_code`)."""
    return (_around(text, m.start(), m.end() + 1) for m in _TIGHT.finditer(text))


def half_width(text: str) -> Iterator[str]:
    """Each place where half-width punctuation touches a Chinese character."""
    return (_around(text, m.start(), m.end()) for m in _HALF_WIDTH.finditer(text))


def forms(text: str) -> Iterator[tuple[str, str, str]]:
    """(character, the one written in Taiwan, the allowed word it stands in or "") for each that isn't Traditional or is
    another region's variant.

    Simplified is what stays the same on the way to Simplified and changes on the way back. Both ways are taken with the
    words around it, so 后 is wrong in 之后 and right in 皇后.
    """
    if not has_han(text):
        return
    simplified = _converter("tw2s").convert(text)
    back, regional = _converter("s2tw").convert(simplified), _converter("t2tw").convert(text)
    if back == text == regional:
        return
    for at, (old, same, new, variant) in enumerate(zip(text, simplified, back, regional, strict=True)):
        better = new if old == same else variant
        if better != old:
            yield old, better, _allowed(text, at)


def _allowed(text: str, at: int) -> str:
    """The word of `ALLOWED` that covers the character at `at`, or ""."""
    return next((w for w in ALLOWED if any(text.startswith(w, at - i) for i in range(min(at + 1, len(w))))), "")


def _around(text: str, start: int, end: int) -> str:
    """The piece of `text` to show, with a few characters on both sides."""
    return text[max(start - 4, 0) : end + 4].replace(CODE, "`…`").strip()


@cache
def _converter(configuration: str) -> opencc.OpenCC:
    return opencc.OpenCC(configuration)
