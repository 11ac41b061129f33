"""What stands in a piece of Markdown, and on which line of its file."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin

from coursebuild.cells import Text
from coursebuild.chinese import CODE

BRACES = re.compile(r"\s*\{([^}]*)\}\s*$")  # at the end of a heading
ATTRIBUTES = re.compile(r"\{\s*[:#.][^}]*\}")
ADDRESS = re.compile(r"https?://[!-~]+")
LABELS = {"heading_open", "th_open", "td_open", "admonition_title_open"}
PARSER = MarkdownIt("commonmark").enable("table").use(admon_plugin)


@dataclass(frozen=True)
class Item:
    """A part of a text: its line in the file, and what it is."""

    line: int
    value: Any


@dataclass(frozen=True)
class Heading:
    """`attributes` is what stands in the braces at its end (`#some-id`); None without braces."""

    level: int
    title: str
    attributes: str | None


@dataclass
class Outline:
    """The parts of a text, each kind in order. What `value` is stands beside each kind."""

    headings: list[Item] = field(default_factory=list)  # Heading
    links: list[Item] = field(default_factory=list)  # target
    images: list[Item] = field(default_factory=list)  # target
    fences: list[Item] = field(default_factory=list)  # (what follows the ticks, content)
    code: list[Item] = field(default_factory=list)  # content of a code span
    boxes: list[Item] = field(default_factory=list)  # type
    lists: list[Item] = field(default_factory=list)  # (depth, "ordered" or "bullet", number of items)
    tables: list[Item] = field(default_factory=list)  # (columns, rows)
    html: list[Item] = field(default_factory=list)  # the raw HTML
    joined: list[Item] = field(default_factory=list)  # "list" or "table" with no blank line above it
    shallow: list[Item] = field(default_factory=list)  # indentation of an item of a nested list, where it is too small
    words: list[Item] = field(default_factory=list)  # a line's text without markup; each code span is one `CODE`
    labels: list[Item] = field(default_factory=list)  # the words of a heading, a table's cell or a box's title


@lru_cache(maxsize=4096)
def outline(text: Text) -> Outline:
    """The parts of `text`, read as CommonMark with tables and boxes (`!!! note "title"`)."""
    found, lines = Outline(), text.text.split("\n")
    open_lists: list[_List] = []
    level = columns = rows = table = line = 0
    parent = ""
    for token in PARSER.parse(text.text):
        line = text.line + token.map[0] if token.map else line
        match token.type:
            case "heading_open":
                level = int(token.tag[1:])
            case "bullet_list_open" | "ordered_list_open":
                if not open_lists and _joined(lines, line - text.line):
                    found.joined.append(Item(line, "list"))
                kind = token.type.partition("_")[0]
                open_lists.append(_List(line, kind, _indentation(lines[line - text.line])))
            case "list_item_open":
                open_lists[-1].items += 1
                outer = open_lists[-2].indentation if len(open_lists) > 1 else -4
                if (inner := _indentation(lines[line - text.line]) - outer) < 4:
                    found.shallow.append(Item(line, inner))
            case "bullet_list_close" | "ordered_list_close":
                closed = open_lists.pop()
                found.lists.append(Item(closed.line, (len(open_lists), closed.kind, closed.items)))
            case "table_open":
                table, columns, rows = line, 0, -1  # its head isn't counted
                if _joined(lines, line - text.line):
                    found.joined.append(Item(line, "table"))
            case "th_open":
                columns += 1
            case "tr_open":
                rows += 1
            case "table_close":
                found.tables.append(Item(table, (columns, rows)))
            case "admonition_open":
                found.boxes.append(Item(line, token.info.partition('"')[0].strip()))
            case "fence" | "code_block":
                found.fences.append(Item(line, (token.info.strip(), token.content)))
            case "html_block":
                found.html.append(Item(line, token.content.strip()))
            case "inline":
                if level:
                    found.headings.append(Item(line, _heading(level, token.content)))
                    level = 0
                before = len(found.words)
                _inline(token, line, found)
                if parent in LABELS:
                    found.labels.append(Item(line, " ".join(item.value for item in found.words[before:])))
        parent = token.type
    return found


@dataclass
class _List:
    """A list whose end hasn't come yet."""

    line: int
    kind: str
    indentation: int
    items: int = 0


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: list[str], at: int) -> bool:
    """Whether the line above `lines[at]` is text: Python-Markdown then takes both for one paragraph."""
    above = lines[at - 1].strip() if at else ""
    return bool(above) and not above.startswith(("!!!", "???", "#", "```"))


def _heading(level: int, content: str) -> Heading:
    braces = BRACES.search(content)
    return Heading(level, content[: braces.start()] if braces else content, braces[1] if braces else None)


def _inline(token: Token, line: int, found: Outline) -> None:
    """The parts inside a paragraph, a heading or a table cell that begins at `line`."""
    words, position, skip = {line: ""}, 0, False
    for child in token.children or ():
        match child.type:
            case "softbreak" | "hardbreak":
                position = token.content.find("\n", position) + 1 or position
                line += 1
                words[line] = ""
            case "code_inline":
                found.code.append(Item(line, child.content))
                words[line] += CODE
                span = re.compile(r"`\s?" + r"\s+".join(map(re.escape, child.content.split())) + r"\s?`")
                if match := span.search(token.content, position):  # a span may go on in the next line
                    line += match[0].count("\n")
                    words.setdefault(line, "")
                    position = match.end()
            case "link_open":
                found.links.append(Item(line, child.attrGet("href")))
                skip = child.markup == "autolink"
            case "link_close":
                skip = False
            case "image":
                found.images.append(Item(line, child.attrGet("src")))
            case "html_inline":
                found.html.append(Item(line, child.content))
                line += child.content.count("\n")
                words.setdefault(line, "")
                position = token.content.find(child.content, position) + len(child.content)
            case "text" if not skip:
                words[line] += child.content
    found.words += [Item(at, ADDRESS.sub("", ATTRIBUTES.sub("", text))) for at, text in words.items()]
