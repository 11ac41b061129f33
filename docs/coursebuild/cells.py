"""A source file as cells of prose and code, with the line of everything.

Chapters are split exactly as mkdocs-gallery splits them (a test compares the two), labs as Jupyter does; a hand-written
page is one cell of prose.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from textwrap import dedent

from coursebuild.problems import BuildError, Problem, shown
from coursebuild.project import LANGUAGES

HEADER = re.compile(r"#{20,}|# ?%%")  # what begins a cell in mkdocs-gallery
STAMP = re.compile(r"zh:(\S+)")  # in a cell's header
COMMENT_STAMP = re.compile(r"# zh:(\S+)\s*")  # above a chapter's docstring
PAGE_STAMP = re.compile(r"<!-- zh:(\S+) -->\s*")  # a page's first line
FRONT_MATTER = re.compile(r"---\n.*?\n---\n", re.S)
SOURCE_FIELD = re.compile(r'( *)"source":')
MAGIC = re.compile(r"^[%!].*", re.M)


@dataclass(frozen=True)
class Text:
    """A piece of a file; `line` is that of its first line."""

    line: int
    text: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """Its lines, each with its number in the file."""
        return enumerate(self.text.removesuffix("\n").split("\n"), self.line)


@dataclass(frozen=True)
class Cell:
    """Prose, code, or prose followed by code. `header`: the line that begins it (a docstring and a page have none);
    `stamp`: the fingerprint of the Chinese cell that it was made from; `stamp_line`: where that stands, or should."""

    line: int
    header: str = ""
    id: str = ""  # a lab's cells have one: the anchor that links lead to
    tags: tuple[str, ...] = ()
    stamp: str = ""
    stamp_line: int = 0
    prose: Text | None = None
    code: Text | None = None

    @property
    def kind(self) -> str:
        """What it is made of, in words."""
        return " and ".join(name for name, part in (("prose", self.prose), ("code", self.code)) if part) or "nothing"


@dataclass(frozen=True)
class Source:
    """A file as cells; `front` is a page's front matter (YAML)."""

    path: Path
    language: str
    cells: tuple[Cell, ...]
    front: Text | None = None

    @property
    def is_chapter(self) -> bool:
        """Whether it is a script, which runs, rather than a page or a lab."""
        return self.path.suffix == ".py"

    def problem(self, line: int, message: str, hint: str) -> Problem:
        """Something that is wrong in this file."""
        return Problem(shown(self.path), line, message, hint)

    def place(self, line: int) -> str:
        """A line of this file, as messages about its twin name it."""
        return f"{shown(self.path)}:{line}"


def read(path: Path) -> Source:
    """The cells of a chapter (`.py`), a page (`.md`) or a lab (`.ipynb`).

    Raises BuildError where there are none: no file, not UTF-8, a syntax error, no docstring, not a notebook.
    """
    return _parse(path, readable(path).replace("\r\n", "\n"))


def readable(path: Path) -> str:
    """The text of a file with its line ends as they are. Raises BuildError where it isn't a file in UTF-8."""
    try:
        return read_exactly(path)
    except OSError as error:
        hint = "remove it, or make it a file"
        raise BuildError([Problem(shown(path), 1, f"can't be read: {error.strerror}", hint)]) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BuildError([Problem(shown(path), line, "is not UTF-8", "save it as UTF-8")]) from None


def read_exactly(path: Path) -> str:
    """The text of a file with its line ends as they are."""
    return path.read_bytes().decode("utf-8")


@lru_cache(maxsize=512)
def _parse(path: Path, text: str) -> Source:
    parse = {".py": _chapter, ".md": _page, ".ipynb": _notebook}[path.suffix]
    return parse(path, next(part for part in path.parts if part in LANGUAGES), text)


@lru_cache(maxsize=4096)
def parse_code(code: Text) -> ast.Module:
    """The tree of a cell's code, with the file's line numbers; IPython's magics are strings. Raises SyntaxError."""
    return ast.parse("\n" * (code.line - 1) + MAGIC.sub(lambda found: repr(found[0]), code.text))


def _chapter(path: Path, language: str, text: str) -> Source:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:  # ValueError: Python 3.11.2's word for a null byte
        message = f"{type(error).__name__}: {getattr(error, 'msg', error)}"
        line = getattr(error, "lineno", None) or 1
        raise BuildError([Problem(shown(path), line, message, "correct the Python code")]) from None
    if ast.get_docstring(tree) is None:
        hint = 'begin with """, then `# M0x-y | title`, then what the reader will be able to do'
        raise BuildError([Problem(shown(path), 1, "has no docstring", hint)])
    lines = text.split("\n")
    docstring = tree.body[0].value
    start = next((i for i in range(docstring.end_lineno, len(lines)) if HEADER.match(lines[i])), len(lines))
    cells = [_docstring_cell(lines, docstring, start)]
    while start < len(lines):
        code = start + 1
        while code < len(lines) and lines[code].startswith("#"):
            code += 1
        end = next((i for i in range(code, len(lines)) if HEADER.match(lines[i])), len(lines))
        cells.append(_headed_cell(lines, start, code, end))
        start = end
    return Source(path, language, tuple(cells))


def _docstring_cell(lines: list[str], docstring: ast.Constant, end: int) -> Cell:
    """The docstring, whose stamp is a comment above it, and the code up to the first header (`lines[end]`)."""
    stamp_line, stamp = next(
        ((i, m[1]) for i, line in enumerate(lines[: docstring.lineno - 1], 1) if (m := COMMENT_STAMP.fullmatch(line))),
        (docstring.lineno, ""),
    )
    value = docstring.value
    line = docstring.lineno + value[: len(value) - len(value.lstrip())].count("\n")
    line += lines[docstring.lineno - 1].endswith('"""\\')
    return Cell(
        docstring.lineno,
        stamp=stamp,
        stamp_line=stamp_line,
        prose=_text(line, inspect.cleandoc(value)),
        code=_code(lines, docstring.end_lineno, end),
    )


def _headed_cell(lines: list[str], start: int, code: int, end: int) -> Cell:
    """The cell with the header `lines[start]` whose code begins at `lines[code]` and which ends before `lines[end]`."""
    words = lines[start].partition("%%")[2].split()
    stamp = next((m[1] for word in words if (m := STAMP.fullmatch(word))), "")
    comments = [line[1:] for line in lines[start + 1 : code]] + [""] * (code < len(lines))
    prose = dedent("\n".join(comments))
    blank = prose[: len(prose) - len(prose.lstrip())].count("\n")
    return Cell(
        start + 1,
        header=lines[start],
        tags=tuple(w for w in words if not STAMP.fullmatch(w)),
        stamp=stamp,
        stamp_line=start + 1,
        prose=_text(start + 2 + blank, prose.lstrip()),
        code=_code(lines, code, end),
    )


def _page(path: Path, language: str, text: str) -> Source:
    front = FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    first = text[: len(text) - len(body)].count("\n") + 1
    stamp = PAGE_STAMP.fullmatch(body.split("\n", 1)[0])
    prose = body.partition("\n")[2] if stamp else body
    cell = Cell(first, stamp=stamp[1] if stamp else "", stamp_line=first, prose=_text(first + bool(stamp), prose))
    return Source(path, language, (cell,), Text(1, front[0]) if front else None)


def _notebook(path: Path, language: str, text: str) -> Source:
    try:
        raw = json.loads(text)["cells"]
        fields = [(len(m[1]), i) for i, line in enumerate(text.split("\n"), 1) if (m := SOURCE_FIELD.match(line))]
        indent = min(fields, default=(0, 0))[0]
        lines = [line + 1 for width, line in fields if width == indent]  # a source line stands on a line of the JSON
        if len(lines) != len(raw):
            raise ValueError("its cells aren't on lines of their own")
    except (ValueError, KeyError, TypeError) as error:
        line, message = getattr(error, "lineno", 1), f"can't be read as a notebook: {error}"
        raise BuildError([Problem(shown(path), line, message, "save it with Jupyter")]) from None
    cells = []
    for cell, line in zip(raw, lines, strict=True):
        source = _text(line, "".join(cell["source"]))
        part = {"markdown": "prose", "code": "code"}.get(cell["cell_type"])
        metadata = cell["metadata"]
        cells.append(
            Cell(
                line,
                id=cell.get("id", ""),
                tags=tuple(metadata.get("tags", ())),
                stamp=metadata.get("zh", ""),
                stamp_line=line,
                **({part: source} if part else {}),
            )
        )
    return Source(path, language, tuple(cells))


def _text(line: int, text: str) -> Text | None:
    return Text(line, text) if text.strip() else None


def _code(lines: list[str], start: int, end: int) -> Text | None:
    """`lines[start:end]` as mkdocs-gallery has them: with the line feeds at both ends."""
    return _text(start + 1, "\n".join(lines[start:end]) + ("\n" if end < len(lines) else ""))
