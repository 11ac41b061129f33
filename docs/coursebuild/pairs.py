"""Whether the two languages tell the same: file by file, cell by cell, and output by output."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from coursebuild import code_pairs, invariants
from coursebuild.cells import Cell, Source, Text, read
from coursebuild.chinese import cjk
from coursebuild.code_pairs import Difference
from coursebuild.problems import BuildError, Problem, shown
from coursebuild.project import LANGUAGES
from coursebuild.prose import Item, Outline, outline

WRITTEN_BY_HAND = ("examples/*/*.py", "examples/*/README.md", "docs/**/*.md", "docs/labs/*.ipynb")
GENERATED = re.compile(r"m\d\d|appendix|downloads")  # folders of docs/<language> that no one writes by hand
LANGUAGE_TAG = re.compile(r"(?<=[/._-])(?:zh[-_](?:tw|hant)|en)(?![\w-])", re.I)  # in addresses
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
SIZE = re.compile(r'\b(?:width|height)="?[\d.]+"?')
SAME_SHAPE = "give both the same cells, headings, boxes, lists, tables and fences, in the same order"
SAME_OUTPUT = "the same code shows the same but for its words: look for what depends on the language"


def files(root: Path, language: str) -> dict[Path, Path]:
    """What people write in one language: chapters, overviews, pages, labs. Twins have the same key."""
    found = {}
    for pattern in WRITTEN_BY_HAND:
        room, _, inside = pattern.partition("/")
        home = root / room / language
        found |= {Path(room, path.relative_to(home)): path for path in home.glob(inside)}
    return {
        key: path
        for key, path in sorted(found.items())
        if not path.name.startswith("_") and not (key.parts[0] == "docs" and GENERATED.fullmatch(key.parts[1]))
    }


def find(examples: Path) -> list[Problem]:
    """Chapters and overviews that one language lacks."""
    return _alone(examples.parent, "examples")


def check_all(root: Path) -> list[Problem]:
    """`check` for every pair, and the pages and labs that one language lacks."""
    zh, en = (files(root, language) for language in LANGUAGES)
    return _alone(root, "docs") + [problem for key in zh if key in en for problem in check(zh[key], en[key])]


def _alone(root: Path, room: str) -> list[Problem]:
    found = {language: files(root, language) for language in LANGUAGES}
    problems = []
    for language, other in (LANGUAGES, LANGUAGES[::-1]):
        for key, path in found[language].items():
            if key.parts[0] == room and key not in found[other]:
                twin = Path(room, other, *key.parts[1:]).as_posix()
                problems.append(Problem(shown(path), 1, f"there is no {twin}", "write it, or take this one out"))
    return problems


def check(zh: Path, en: Path) -> list[Problem]:
    """All differences between a Chinese file and its English twin that aren't a matter of words."""
    try:
        there, here = read(zh), read(en)
    except BuildError as error:
        return error.problems
    return [
        here.problem(line, f"{message} ({there.place(zh_line)})", hint)
        for zh_line, line, message, hint in _differences(there, here)
    ]


def _differences(zh: Source, en: Source) -> Iterator[Difference]:
    yield from _front(zh.front, en.front)
    there, here = len(zh.cells), len(en.cells)
    for a, b in zip(zh.cells, en.cells, strict=False):
        found = list(_cells(a, b, whole_page=zh.path.suffix == ".md"))
        yield from found
        if found and there != here:
            yield a.line, b.line, f"from here on nothing fits: {here} cells, and {there} in the Chinese", SAME_SHAPE
            return
    if there != here:
        both = min(there, here)  # the first cell of the longer file that has no twin, or the last one of the shorter
        lines = (source.cells[min(both, len(source.cells) - 1)].line if source.cells else 1 for source in (zh, en))
        yield *lines, f"{here} cells, and {there} in the Chinese", SAME_SHAPE


def _cells(zh: Cell, en: Cell, whole_page: bool) -> Iterator[Difference]:
    lines = zh.line, en.line
    if zh.kind != en.kind:
        yield *lines, f"the cell holds {en.kind}, and {zh.kind} in the Chinese", SAME_SHAPE
        return
    if zh.id != en.id:
        yield *lines, f"the cell's id: {en.id}, and {zh.id} in the Chinese", "give both the same id"
    if zh.tags != en.tags:
        there, here = (" ".join(cell.tags) or "none" for cell in (zh, en))
        yield *lines, f"the cell's tags: {here}, and {there} in the Chinese", "give both the same tags"
    if zh.prose:
        yield from _prose(zh.prose, en.prose, whole_page)
    if zh.code:
        yield from _code(zh.code, en.code)


def _code(zh: Text, en: Text) -> Iterator[Difference]:
    try:
        yield from code_pairs.compare(zh, en)
    except SyntaxError as error:
        message = f"can't be compared: {error.msg} (line {error.lineno} of one of the two)"
        yield zh.line, en.line, message, "correct the Python code"


def _front(zh: Text | None, en: Text | None) -> Iterator[Difference]:
    """Front matter: the same keys, and the same values where the Chinese one has no Chinese."""
    there, here = (text.text.rstrip("\n").split("\n") if text else [] for text in (zh, en))
    for line, (a, b) in enumerate(zip_longest(there, here, fillvalue=""), 1):
        if a != b and not (cjk(a) and a.partition(":")[0] == b.partition(":")[0]):
            yield line, line, f"front matter: `{b}`, and `{a}` in the Chinese", "give both the same keys"
            return


def _prose(zh: Text, en: Text, whole_page: bool) -> Iterator[Difference]:
    """In a cell the same code is named equally often; a whole page names the same code."""
    a, b = outline(zh), outline(en)
    lines = zh.line, en.line
    yield from _in_order("headings", a.headings, b.headings, lines, lambda h: f"{'#' * h.level} {{{h.attributes}}}")
    yield from _in_order("boxes", a.boxes, b.boxes, lines, lambda box: f"!!! {box}")
    yield from _in_order("lists", a.lists, b.lists, lines, lambda v: f"{v[2]} items, {v[1]}, depth {v[0]}")
    yield from _in_order("tables", a.tables, b.tables, lines, lambda v: f"{v[0]} columns, {v[1]} rows")
    yield from _in_order("fences", a.fences, b.fences, lines, lambda v: f"``` {v[0]}")
    for there, here in zip(a.fences, b.fences, strict=False):
        yield from _fenced(there, here)
    for what in ("links", "images"):
        there, here = ([Item(i.line, LANGUAGE_TAG.sub("…", i.value)) for i in getattr(o, what)] for o in (a, b))
        yield from _counted(what, there, here, lines)
    there, here = (list({i.value: i for i in reversed(o.code)}.values()) if whole_page else o.code for o in (a, b))
    yield from _counted("code", there, here, lines)
    yield from _numbers(a, b, lines)


def _in_order(
    what: str, zh: list[Item], en: list[Item], lines: tuple[int, int], show: Callable[[Any], str]
) -> Iterator[Difference]:
    """The first place where two sequences part."""
    for a, b in zip_longest(zh, en):
        there, here = (show(item.value) if item else "nothing" for item in (a, b))
        if there != here:
            places = a.line if a else lines[0], b.line if b else lines[1]
            yield *places, f"{what}: {here}, and {there} in the Chinese", SAME_SHAPE
            return


def _counted(what: str, zh: list[Item], en: list[Item], lines: tuple[int, int]) -> Iterator[Difference]:
    """What one has more often than the other, in whatever order. Chinese in a code span or an address is translated."""
    fixed = [item.value for item in zh if not cjk(item.value)]
    only_zh, only_en = invariants.counted(fixed, [item.value for item in en])
    if only_zh or len(only_en) != len(zh) - len(fixed):
        report = invariants.report(only_zh, only_en) or f"{len(en)}, and {len(zh)} in the Chinese"
        places = (
            next((i.line for i in items if i.value in only), line)
            for items, only, line in zip((zh, en), (only_zh, only_en), lines, strict=True)
        )
        yield *places, f"{what}: {report}", f"give both the same {what}"


def _numbers(zh: Outline, en: Outline, lines: tuple[int, int]) -> Iterator[Difference]:
    """Numbers and names with digits: label by label, because these have a place, then in all the text together."""
    hint = "say the same numbers in both languages"
    for a, b in zip(zh.labels, en.labels, strict=True) if len(zh.labels) == len(en.labels) else ():
        if report := invariants.report(*invariants.prose(a.value, b.value)):
            yield a.line, b.line, f"numbers or names: {report}", hint
            return
    only_zh, only_en = invariants.prose(*(" ".join(item.value for item in found.words) for found in (zh, en)))
    if report := invariants.report(only_zh, only_en):
        places = _with_token(zh.words, only_zh, lines[0]), _with_token(en.words, only_en, lines[1])
        yield *places, f"numbers or names: {report}", hint


def _with_token(words: list[Item], tokens: list[str], line: int) -> int:
    """The first line that holds one of these numbers or names, else `line`."""
    return next((item.line for item in words if {*tokens} & {*invariants.prose(item.value, "")[0]}), line)


def _fenced(zh: Item, en: Item) -> Iterator[Difference]:
    """Fenced code is the same line by line, but for the words of lines with Chinese in them."""
    for index, message in _texts(zh.value[1], en.value[1], invariants.code):
        yield zh.line + 1 + index, en.line + 1 + index, f"fenced code: {message}", "make it the same but for its words"


def _texts(zh: str, en: str, compare: Callable[[str, str], invariants.Difference]) -> Iterator[tuple[int, str]]:
    """(index, what differs) for the first line that differs in more than its words.

    `compare` says what two lines share whose Chinese one holds Chinese. Beside Chinese, columns may have other widths.
    """
    form = _narrow if cjk(zh) else str
    for index, (a, b) in enumerate(zip_longest(zh.split("\n"), en.split("\n"))):
        if a is None or b is None:
            yield index, f"{en.count(chr(10)) + 1} lines, and {zh.count(chr(10)) + 1} in the Chinese"
        elif not cjk(a) and form(a) != form(b):
            yield index, f"`{b.strip()[:80]}`, and `{a.strip()[:80]}` in the Chinese"
        elif cjk(a) and (report := invariants.report(*compare(a, b))):
            yield index, f"`{b.strip()[:80]}` doesn't say the same as the Chinese: {report}"
        else:
            continue
        return


def _narrow(line: str) -> str:
    """A line without what depends on the width of its columns."""
    return " ".join(re.sub(r"([-=─━═])\1+", r"\1", line).split())


def check_outputs(zh: Iterable[dict], en: Iterable[dict], where: tuple[str, str]) -> list[Problem]:
    """All differences between what the two scripts of a pair showed that aren't a matter of words.

    Each item is a dict with `kind` ("text", "table" or "figure"), `line` (of the code that showed it), and `text`, or
    `headers` and `rows`, or `dot` and `text`; tables and figures may have a `title`. `where`: the Chinese script and
    the English one.
    """
    problems = []
    for number, (a, b) in enumerate(zip_longest(zh, en), 1):
        there, here = (f"a {item['kind']}" if item else "nothing" for item in (a, b))
        messages = [f"{here}, and {there} in the Chinese"] if there != here else list(_output(a, b))
        lines = [item["line"] if item else 1 for item in (a, b)]
        problems += [
            Problem(where[1], lines[1], f"output {number}: {message} ({where[0]}:{lines[0]})", SAME_OUTPUT)
            for message in messages
        ]
        if there != here:
            break  # the rest is shifted
    return problems


def _output(zh: dict, en: dict) -> Iterator[str]:
    """What differs between two outputs of one kind."""
    for part in ("title", "text"):
        for index, message in _texts(zh.get(part, ""), en.get(part, ""), invariants.output):
            yield f"{part}, line {index + 1}: {message}"
    if zh["kind"] == "table":
        yield from _tables([zh["headers"], *zh["rows"]], [en["headers"], *en["rows"]])
    if zh["kind"] == "figure":
        yield from _dots(zh["dot"], en["dot"])


def _tables(zh: list[list], en: list[list]) -> Iterator[str]:
    if list(map(len, zh)) != list(map(len, en)):
        yield f"a table of {len(en) - 1} rows by {len(en[0])}, and {len(zh) - 1} by {len(zh[0])} in the Chinese"
        return
    for number, (a, b) in enumerate(zip(zh, en, strict=True)):
        for x, y in zip(a, b, strict=True):
            for _, message in _texts(str(x), str(y), invariants.output):
                yield f"{f'row {number}' if number else 'headers'}: {message}"


def _dots(zh: str, en: str) -> Iterator[str]:
    """The first statement of the DOT that differs in more than a label's words and the size that they give a node."""
    for number, (a, b) in enumerate(zip_longest(zh.split("\n"), en.split("\n"), fillvalue=""), 1):
        there, here = (QUOTED.split(SIZE.sub("", line) if cjk(a) else line) for line in (a, b))
        words = [(x, y) for x, y in zip(there, here, strict=False) if cjk(x)]
        if len(there) != len(here) or any(x != y for x, y in zip(there, here, strict=True) if not cjk(x)):
            yield f"the graph, line {number} of the DOT: `{b.strip()[:80]}`, and `{a.strip()[:80]}` in the Chinese"
            return
        for x, y in words:
            if report := invariants.report(*invariants.output(x, y)):
                yield f"the graph, line {number} of the DOT: `{y[:80]}` doesn't say the same as the Chinese: {report}"
                return
