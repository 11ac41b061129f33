"""Stamps: each English cell says which Chinese text it was made from, so that no translation goes stale unnoticed.

A stamp is the fingerprint of the Chinese cell's human text. It stands in the English cell's header
(`# %% zh:0123abcd`), for a docstring in a comment above it, for a page in its first line (below front matter), for a
lab in the cell's metadata.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from coursebuild import humantext, pairs
from coursebuild.cells import Cell, Source, read, read_exactly
from coursebuild.chinese import cjk
from coursebuild.problems import BuildError, Problem
from coursebuild.project import LANGUAGES

IN_HEADER = re.compile(r"(?<=\s)zh:\S+")
WRITTEN = re.compile(r"(?:(?<=^# %%)|(?<=^# %% answer))[ ]+zh:\S+|^# zh:\S+\s*?\n|^<!-- zh:\S+ -->[ \r]*\n", re.M)
COMMENT = {".py": "# zh:{}", ".md": "<!-- zh:{} -->"}  # a stamp on a line of its own
AFTER_REVIEW = "read both, put the English right, then run `make restamp`"


def check(zh: Path, en: Path) -> list[Problem]:
    """The English cells whose Chinese text has changed since, or that carry no stamp.

    Files that can't be read or have unequal cells are left to `pairs.check`, which says what is wrong with them.
    """
    try:
        there, here = read(zh), read(en)
        wanted = fingerprints(there)
    except BuildError:
        return []
    if len(there.cells) != len(here.cells):
        return []
    problems = []
    for a, b, stamp in zip(there.cells, here.cells, wanted, strict=True):
        place = there.place(a.line)
        if not b.stamp:
            message = f"no stamp says which Chinese text this was made from ({place})"
            problems.append(here.problem(b.line, message, AFTER_REVIEW))
        elif b.stamp != stamp:
            message = f"the Chinese text has changed since ({place}, now zh:{stamp}, here zh:{b.stamp})"
            problems.append(here.problem(b.line, message, AFTER_REVIEW))
    return problems


def check_all(root: Path) -> list[Problem]:
    """`check` for every pair."""
    return [problem for zh, en in _pairs(root) for problem in check(zh, en)]


def restamp(root: Path, paths: Sequence[Path] = ()) -> list[Path]:
    """Write today's stamps into the English files (of `paths`: files of either language, or folders; else all), and
    print each one that changes. Nothing else in a file is touched. Returns the files that were written.

    Raises BuildError, after the other files were written, for pairs whose cells don't match and for unknown paths.
    """
    chosen = [path.resolve() for path in paths]
    written, problems, known = [], [], set()
    for pair in _pairs(root):
        hits = {c for c in chosen for path in pair if path.resolve().is_relative_to(c)}
        known |= hits
        if hits or not chosen:
            try:
                written += [pair[1]] if _restamp(*pair) else []
            except BuildError as error:
                problems += error.problems
    problems += [
        Problem(str(path), 1, "there is no pair of files here", "name a file of either language, or a folder")
        for path, full in zip(paths, chosen, strict=True)
        if full not in known
    ]
    if problems:
        raise BuildError(problems)
    return written


def strip(text: str) -> str:
    """A script, page or notebook without its stamps."""
    if not text.startswith("{"):
        return WRITTEN.sub("", text)
    book = json.loads(text)
    for cell in book["cells"]:
        cell["metadata"].pop("zh", None)
    return _like(text, book)


def fingerprints(zh: Source) -> list[str]:
    """The stamp of each cell. Raises BuildError where code doesn't parse."""
    try:
        return [_fingerprint(zh, cell) for cell in zh.cells]
    except SyntaxError as error:
        message = f"this cell is no Python: {error.msg}"
        raise BuildError([zh.problem(error.lineno or 1, message, "correct the code")]) from None


def _fingerprint(zh: Source, cell: Cell) -> str:
    """Eight hexadecimal digits of what people read: prose, comments, and strings with Chinese. Line breaks don't count:
    between Chinese characters there is no telling them from nothing."""
    texts = [part.text for part in (zh.front, cell.prose) if part]
    if cell.code:
        texts += [string.text for string in humantext.strings(cell.code) if cjk(string.text)]
        texts += [comment.text for comment in humantext.comments(cell.code)]
    return hashlib.sha256("\x1f".join("".join(text.split()) for text in texts).encode()).hexdigest()[:8]


def _pairs(root: Path) -> list[tuple[Path, Path]]:
    zh, en = (pairs.files(root, language) for language in LANGUAGES)
    return [(path, en[key]) for key, path in zh.items() if key in en]


def _restamp(zh: Path, en: Path) -> bool:
    """Whether `en` had to be written anew."""
    there, here = read(zh), read(en)
    stamps = fingerprints(there)
    if len(there.cells) != len(here.cells):
        message = f"{len(here.cells)} cells, and {len(there.cells)} in {there.place(1)}"
        raise BuildError([here.problem(1, message, "give both the same cells first")])
    changes = [(cell, stamp) for cell, stamp in zip(here.cells, stamps, strict=True) if cell.stamp != stamp]
    if not changes:
        return False
    text = read_exactly(en)
    new = _notebook(text, stamps) if en.suffix == ".ipynb" else _lines(text, changes, COMMENT[en.suffix])
    if new is None:
        raise BuildError([here.problem(1, "isn't laid out as Jupyter saves notebooks", "save it with Jupyter")])
    en.write_bytes(new.encode())
    for cell, stamp in changes:
        print(f"{here.place(cell.line)}: {f'zh:{cell.stamp}' if cell.stamp else 'no stamp'} → zh:{stamp}")
    return True


def _lines(text: str, changes: list[tuple[Cell, str]], comment: str) -> str:
    """A script or page with these stamps; from the end, because an inserted line shifts what follows."""
    lines = text.split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    for cell, stamp in reversed(changes):
        at = cell.stamp_line - 1
        body = lines[at].removesuffix("\r")
        if cell.stamp:
            lines[at] = IN_HEADER.sub(f"zh:{stamp}", lines[at], count=1)
        elif cell.header:
            lines[at] = f"{body}{'' if body.endswith(' ') else ' '}zh:{stamp}{lines[at][len(body) :]}"
        else:
            lines.insert(at, comment.format(stamp) + end)
    return "\n".join(lines)


def _notebook(text: str, stamps: list[str]) -> str | None:
    """A notebook with these stamps."""
    book = json.loads(text)
    for cell, stamp in zip(book["cells"], stamps, strict=True):
        cell["metadata"] = dict(sorted((cell["metadata"] | {"zh": stamp}).items()))
    return _like(text, book)


def _like(text: str, data: dict) -> str | None:
    """`data` as JSON in the layout of `text`; None if that isn't one that Jupyter writes."""
    old, end = json.loads(text), text[len(text.rstrip()) :]
    for indent, ascii_only in product((1, 2, 4), (False, True)):
        if json.dumps(old, indent=indent, ensure_ascii=ascii_only) + end == text:
            return json.dumps(data, indent=indent, ensure_ascii=ascii_only) + end
    return None
