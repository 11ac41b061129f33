"""Rules for one file: what would break its page, its downloads or its promises, found without running it.

A rule yields (line, message, hint) for each place that breaks it.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

from jupytext.magics import comment_magic, is_magic, uncomment_magic

from coursebuild import asserts, chinese, humantext, pairs
from coursebuild.cells import Source, Text, parse_code, read
from coursebuild.problems import BuildError, Problem
from coursebuild.project import LANGUAGES
from coursebuild.prose import outline

Found = Iterator[tuple[int, str, str]]

TAGS = {"answer"}  # what a cell's header may hold, besides a stamp
HEADER = re.compile(r"# %%(?: \S+)*[ ]*")
SWALLOWED = re.compile(r"\s*%%|#{19}")  # a cell's header that has become prose: its first # is gone
TITLE = re.compile(r"m(?P<module>\d\d)_(?P<number>\d+)_")
ID = re.compile(r"#[a-z][a-z0-9-]*")
CONFIG = re.compile(r"[\s#]*mkdocs_gallery_\w+\s*(?:=|$)")
MACHINE = re.compile(
    r"(?<![\w.:/~-])(?:/(?:home|Users|root|tmp|usr|opt|mnt|var|private|workspace)/|[A-Z]:\\)[^\s\"'`)]*"
)
ASSIGNED = re.compile(r"(?P<name>[a-z]+)\s*=(?!=)")
MATH = re.compile(r"\$\$|(?<![\w\\$])\$[^$\s](?:[^$]*[^$\s])?\$(?!\w)")
QUOTED_CHINESE = re.compile(r'<(\w+)[^>]*\blang="zh-TW"[^>]*>.*?</\1>')
FIRST_WORD = re.compile(r"[#\s]*(\w+)")
MAYBE_CODE = re.compile(r"=|\)$|\):$|^(?:import|from|assert|del|return|raise)\b")
COMPOUND = re.compile(r"(?:def|class|for|with|if|while) .*\(.*\).*:$")
STATEMENTS = (ast.Assign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.Assert, ast.Return, ast.Delete, ast.Raise)
SENTENCE_ENDS = tuple(".:;?!。：；？！…)）*`|")
UNAVAILABLE = {
    "__file__": "a chapter runs without a file name; use a relative path, or tempfile",
    "input": "nobody answers during a build; write the value into the code",
    "getsource": "what a chapter defines has no source to be found; show the code itself",
    "getsourcelines": "what a chapter defines has no source to be found; show the code itself",
}


def check(path: Path) -> list[Problem]:
    """Everything wrong in one chapter, page or lab, in the order of its lines."""
    try:
        source = read(path)
    except BuildError as error:
        return error.problems
    rules = CHAPTER_RULES + RULES if source.is_chapter else RULES
    return [source.problem(*found) for found in sorted(set(chain.from_iterable(rule(source) for rule in rules)))]


def check_all(root: Path, languages: Iterable[str] = LANGUAGES) -> list[Problem]:
    """`check` for every chapter, overview, hand-written page and lab."""
    paths = chain.from_iterable(sorted(pairs.files(root, language).values()) for language in languages)
    return [problem for path in paths for problem in check(path)]


def title(source: Source) -> Found:
    """The docstring begins with the page's title, which has no id."""
    label = TITLE.match(source.path.stem)
    start = f"M{label['module']}-{label['number']} | " if label else ""
    hint = f"begin the docstring with `# {start}title`"
    prose = source.cells[0].prose
    first = next(iter(outline(prose).headings), None) if prose else None
    if first is None or first.line != prose.line or first.value.level != 1:
        yield source.cells[0].line, "the docstring doesn't begin with a title", hint
    elif not first.value.title.startswith(start) or not first.value.title.removeprefix(start).strip():
        yield first.line, f"the title is `{first.value.title}`", hint
    if first and first.value.level == 1 and first.value.attributes is not None:
        yield first.line, "the title has an id", "leave the braces out: they would show in titles and in the navigation"


def headings(source: Source) -> Found:
    """Every other heading has an id of its own, and no level is skipped."""
    level, ids = 1, {}
    items = [item for cell in source.cells if cell.prose for item in outline(cell.prose).headings]
    for index, item in enumerate(items):
        heading = item.value
        if heading.level == 1:
            if index:
                yield item.line, f"a second title: `# {heading.title}`", "use ## or ###: a page has one title"
            continue
        if heading.level > level + 1:
            yield item.line, f"an h{heading.level} follows an h{level}", f"use {'#' * (level + 1)}, skip no level"
        level = heading.level
        if heading.attributes is None:
            if source.path.suffix != ".ipynb":  # links lead to the ids of its cells
                yield item.line, f"the heading `{heading.title}` has no id", "end it with {#some-id}"
        elif not ID.fullmatch(heading.attributes):
            yield item.line, f"{{{heading.attributes}}} is no id", "write {#some-id}: a-z, 0-9 and -, a letter first"
        elif heading.attributes in ids:
            first = ids[heading.attributes]
            yield item.line, f"{{{heading.attributes}}} is also the id of line {first}", "give one of them another id"
        else:
            ids[heading.attributes] = item.line


def headers(source: Source) -> Found:
    """Cells begin as cells should, and an answer follows its question."""
    for cell in source.cells[1:]:
        if not HEADER.fullmatch(cell.header):
            yield cell.line, f"`{cell.header[:24]}` begins a cell in mkdocs-gallery", "write `# %%`, or take it out"
            continue
        for tag in cell.tags:
            if tag not in TAGS:
                known = ", ".join(sorted(TAGS))
                yield cell.line, f"`{tag}` is no tag of a cell", f"known: {known}; a title goes into the prose below"
        if cell.kind == "nothing":
            yield cell.line, "the cell is empty", "fill it, or leave it out"
        for line, text in cell.prose.lines() if cell.prose else ():
            if SWALLOWED.match(text):
                yield line, "this header is part of the prose above", "put a blank line above it to begin a cell"
    for before, cell in pairwise(source.cells):
        boxes = [item.value.split()[0] for item in outline(before.prose).boxes] if before.prose else []
        if "answer" in cell.tags and "question" not in boxes:
            yield cell.line, "an answer without a question", 'put `!!! question "…"` into the cell before it'


def stamps(source: Source) -> Found:
    """Only a translation is stamped."""
    for cell in source.cells if source.language == LANGUAGES[0] else ():
        if cell.stamp:
            yield cell.stamp_line, f"the stamp zh:{cell.stamp} in a Chinese file", "take it out"


def code(source: Source) -> Found:
    """Every cell is Python by itself, and uses nothing that isn't there when a chapter runs."""
    for cell, after in zip(source.cells, (*source.cells[1:], None), strict=True):
        if not cell.code:
            continue
        try:
            tree = parse_code(cell.code)
        except SyntaxError as error:
            if source.is_chapter and after:  # the file as a whole is Python
                yield after.line, "this header cuts a statement or a string in two", "begin the cell elsewhere"
                return
            yield error.lineno or cell.code.line, f"this cell is no Python: {error.msg}", "correct the code"
            continue
        suspect = source.is_chapter and any(name in cell.code.text for name in UNAVAILABLE)
        for node in ast.walk(tree) if suspect else ():
            name = _used(node)
            if name in UNAVAILABLE:
                yield node.lineno, f"{name} doesn't work in a chapter", UNAVAILABLE[name]


def _used(node: ast.AST) -> str:
    """The name that is read or called here, of those that `UNAVAILABLE` may hold."""
    match node:
        case ast.Name(id="__file__"):
            return node.id
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(value=ast.Name(id="inspect"), attr=name)):
            return name
    return ""


def claims(source: Source) -> Found:
    """There are asserts, all of them run, and all of them can fail."""
    asserting = (cell.code for cell in source.cells if cell.code and "assert" in cell.code.text)
    trees = [tree for code in asserting if (tree := _tree(code))]
    for tree in trees:
        yield from asserts.check(tree)
    if not any(map(asserts.count, trees)):
        yield 1, "there is no assert", "assert what the page claims; a page that asserts nothing isn't published"


def _tree(text: Text) -> ast.Module | None:
    try:
        return parse_code(text)
    except SyntaxError:
        return None  # `code` reports it


def notebook_round_trip(source: Source) -> Found:
    """jupytext, which opens scripts as notebooks, leaves every line as it is."""
    for cell in source.cells:
        lines = cell.code.text.split("\n") if cell.code else []
        if not any(map(_may_be_magic, lines)):
            continue
        changed = zip(lines, comment_magic(list(lines)), uncomment_magic(list(lines)), strict=True)
        for number, (line, escaped, bared) in enumerate(changed, cell.code.line):
            message = f"jupytext takes `{line.strip()}` for a shell command"
            name = ASSIGNED.match(line)
            if line != bared and line.lstrip().startswith("#"):
                yield number, message, "begin the comment with another word"
            elif line != escaped:
                yield number, message, "write it otherwise"
            elif name and _is_command(name["name"]):
                yield number, f"older versions of jupytext take `{name[0]}` for a shell command", "rename the variable"


def _may_be_magic(line: str) -> bool:
    """Cheap, and true of every line that jupytext's own functions, which are slow, would change."""
    first = FIRST_WORD.match(line)
    return any(sign in line for sign in "%!?") or (first is not None and _is_command(first[1]))


@cache
def _is_command(name: str) -> bool:
    """Whether jupytext knows a shell command of this name."""
    return bool(is_magic(name, "python"))


def markdown(source: Source) -> Found:
    """Only what the page, the notebook and the script all show alike."""
    for text in (cell.prose for cell in source.cells if cell.prose):
        found = outline(text)
        for item in (item for item in found.html if not item.value.startswith("</")):
            tag = item.value.partition("\n")[0]
            yield item.line, f"raw HTML: {tag[:40]}", "use Markdown; what is meant literally goes into backticks"
        for item in found.images:
            yield item.line, f"an image: {item.value}", "draw it with common.viz, so that it is computed"
        for item in found.words:
            if MATH.search(item.value):
                yield item.line, f"math markup: {item.value.strip()}", "write it as plain text or code"


def lists(source: Source) -> Found:
    """Lists and tables are such for Python-Markdown, too, which needs a blank line and four spaces."""
    for text in (cell.prose for cell in source.cells if cell.prose):
        hint = "put a blank line above it, else it shows as text"
        yield from ((item.line, f"a {item.value} right below text", hint) for item in outline(text).joined)
        hint = "indent it by four spaces, else it shows as a flat list"
        yield from ((item.line, f"a nested list indented by {item.value}", hint) for item in outline(text).shallow)


def comments_as_prose(source: Source) -> Found:
    """What stands right below a header is prose, so it must not be a comment on the code."""
    hint = "it shows as prose: put a blank line below the header to make it a comment, or write a sentence"
    for cell in source.cells[1:]:
        if not cell.prose:
            continue
        fences = outline(cell.prose).fences
        fenced = {item.line + i for item in fences for i in range(item.value[1].count("\n") + 2)}
        lines = [(line, text) for line, text in cell.prose.lines() if text.strip() and line not in fenced]
        for line, text in lines:
            if _is_statement(text.strip()):
                yield line, f"`{text.strip()}` looks like code", hint
        if len(lines) == 1 and cell.code and not fenced:
            line, text = lines[0]
            label = re.match(r"[\w`]", text) and not text.rstrip().endswith(SENTENCE_ENDS)
            if label and cell.code.line == line + 1 and not cell.code.text.startswith("\n"):
                yield line, f"`{text.strip()}` looks like a comment on the code below", hint


def _is_statement(text: str) -> bool:
    """Whether a line of prose is Python that does something."""
    if not MAYBE_CODE.search(text):
        return False
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return bool(COMPOUND.match(text))
    return any(isinstance(s, STATEMENTS) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)) for s in body)


def foreign_lines(source: Source) -> Found:
    """Nothing of the machine it was written on, and nothing that sets up mkdocs-gallery."""
    for line, text in _lines(source):
        for found in MACHINE.finditer(text):
            yield line, f"a path of one machine: {found[0]}", "use a relative path, or tempfile"
        if CONFIG.match(text):
            yield line, f"a setting of mkdocs-gallery: {text.strip()}", "take it out; a chapter has no settings"


def chinese_as_in_taiwan(source: Source) -> Found:
    """Traditional characters in the forms of Taiwan, spaces around Latin text, full-width punctuation."""
    if source.language != "zh-TW":
        return
    for line, text in _lines(source):
        for old, new, allowed in chinese.forms(text):
            if not allowed:
                hint = f"write {new}; a word that {old} is right in can go into ALLOWED in docs/coursebuild/chinese.py"
                yield line, f"{old} isn't written in Taiwan: {text.strip()[:60]}", hint
    for line, text in _human_lines(source):
        for place in chinese.tight(text):
            yield line, f"no space between Chinese and Latin: {place}", "put a space between them"
        for place in chinese.half_width(text):
            yield line, f"half-width punctuation in Chinese: {place}", "use ，。：；？！（）「」"


def english_only(source: Source) -> Found:
    """No Chinese in English files, except in code spans, and on pages in an element that says lang="zh-TW"."""
    for line, text in _lines(source) if source.language == "en" else ():
        if found := chinese.cjk(QUOTED_CHINESE.sub("", chinese.without_code(text))):
            yield line, f"Chinese in an English file: {' '.join(found)[:40]}", "translate it"


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """Every line of prose and code."""
    texts = [source.front, *chain.from_iterable((cell.prose, cell.code) for cell in source.cells)]
    return chain.from_iterable(text.lines() for text in texts if text)


def _human_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Every line that people read, without markup: prose, and the comments and strings of code."""
    for cell in source.cells:
        if cell.prose:
            yield from ((item.line, item.value) for item in outline(cell.prose).words)
        if cell.code and _tree(cell.code):
            yield from ((comment.line, chinese.without_code(comment.text)) for comment in humantext.comments(cell.code))
            for string in humantext.strings(cell.code):
                yield from ((line, chinese.without_code(text)) for line, text in string.lines())


RULES = (headings, stamps, code, lists, foreign_lines, chinese_as_in_taiwan, english_only)
CHAPTER_RULES = (title, headers, claims, notebook_round_trip, markdown, comments_as_prose)
