"""What a translation keeps: numbers, names with digits, code spans, placeholders."""

import re
from collections import Counter

from coursebuild.chinese import cjk, without_code

Difference = tuple[list[str], list[str]]  # what only the Chinese text has, what only the English one has

CODE_SPAN = re.compile(r"`[^`\n]+`")
PLACEHOLDER = re.compile(r"\{\w*(?:![rsa])?(?::[^{}]*)?\}|%(?:\.\d+)?[sdrfegx]\b")
WORD = re.compile(r"(?P<sign>(?<![\w)\]])[-−])?(?P<word>\w+(?:\.\w+)*)(?P<unit>\s?(?:%|(?:dB|[KMG]i?B)\b))?", re.ASCII)
NUMBER = re.compile(r"(\d+(?:\.\d+)*)(?:st|nd|rd|th)?")
COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
LIKE_CODE = re.compile(r"\w*[a-z][A-Z]\w*|\w*_\w*|\w+(?:\.\w+)+|(?=\w*\d)(?=\w*[A-Za-z])\w+", re.ASCII)
ABBREVIATIONS = {"e.g", "i.e"}
SMALL = {
    "0": ("zero none", "零"), "1": ("one first once", "一"), "2": ("two second twice both", "二兩"),
    "3": ("three third", "三"), "4": ("four fourth", "四"), "5": ("five fifth", "五"), "6": ("six sixth", "六"),
    "7": ("seven seventh", "七"), "8": ("eight eighth", "八"), "9": ("nine ninth", "九"), "10": ("ten tenth", "十"),
}  # fmt: skip


def prose(zh: str, en: str) -> Difference:
    """Numbers that differ between two texts (without code), and names with digits (M00-1, int8) that only one has.

    A small number may be a digit here and a word there (2 個, two).
    """
    (zh_numbers, zh_names), (en_numbers, en_names) = _tokens(zh), _tokens(en)
    only_zh, only_en = zh_numbers - en_numbers, en_numbers - zh_numbers
    spelled = Counter(re.findall("[a-z]+", en.lower()))
    for number, (words, numerals) in SMALL.items() if only_zh or only_en else ():
        in_words = sum(spelled[word] for word in words.split()) - sum(map(zh.count, numerals))
        only_zh[number] -= max(in_words, 0)
        only_en[number] -= max(-in_words, 0)
    zh_set, en_set = ({n.lower() for n in names if any(c.isdigit() for c in n)} for names in (zh_names, en_names))
    return [*only_zh.elements(), *sorted(zh_set - en_set)], [*only_en.elements(), *sorted(en_set - zh_set)]


def string(zh: str, en: str) -> Difference:
    """Like `prose`, for strings in code: their code spans and placeholders count, too."""
    only_zh, only_en = prose(without_code(PLACEHOLDER.sub("", zh)), without_code(PLACEHOLDER.sub("", en)))
    for pattern in (CODE_SPAN, PLACEHOLDER):
        missing, surplus = counted(pattern.findall(zh), pattern.findall(en))
        only_zh, only_en = only_zh + missing, only_en + surplus
    return only_zh, only_en


def code(zh: str, en: str) -> Difference:
    """Like `string`, for lines of code: what stands before a comment is the same, unless it holds Chinese."""
    (zh_code, _, zh_comment), (en_code, _, en_comment) = zh.partition("#"), en.partition("#")
    if cjk(zh_code):
        return string(zh, en)
    return ([zh_code.strip()], [en_code.strip()]) if zh_code != en_code else string(zh_comment, en_comment)


def output(zh: str, en: str) -> Difference:
    """Numbers and names from code (conv2d, relu.args, FakeTensor) that differ between two lines of output."""
    (zh_numbers, zh_names), (en_numbers, en_names) = _tokens(zh), _tokens(en)
    return counted([*zh_numbers.elements(), *zh_names], [*en_numbers.elements(), *en_names])


def counted(zh: list[str], en: list[str]) -> Difference:
    """What one list has more often than the other."""
    return list((Counter(zh) - Counter(en)).elements()), list((Counter(en) - Counter(zh)).elements())


def _tokens(text: str) -> tuple[Counter[str], list[str]]:
    """Numbers (with sign, and %, dB or bytes), and the words that look like code."""
    numbers, names = Counter(), []
    for found in WORD.finditer(COMMA.sub("", text)):
        if number := NUMBER.fullmatch(found["word"]):
            sign = "-" if found["sign"] else ""
            numbers[sign + number[1] + (found["unit"] or "").strip()] += 1
        elif LIKE_CODE.fullmatch(found["word"]) and found["word"] not in ABBREVIATIONS:
            names.append(found["word"])
    return numbers, names


def report(only_zh: list[str], only_en: list[str]) -> str:
    """A difference in words, or ""."""
    parts = [f"only {where}: {', '.join(items)}" for where, items in (("here", only_en), ("there", only_zh)) if items]
    return "; ".join(parts)
