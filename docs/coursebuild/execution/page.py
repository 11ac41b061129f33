"""From mkdocs-gallery's Markdown of a chapter to the page's Markdown: outputs in their places, answers folded."""

import html
import re
from dataclasses import dataclass
from typing import Any

from coursebuild import reflow
from coursebuild.execution.recorder import Output, plain
from coursebuild.execution.words import WORDS

LONGEST = 20_000  # characters of one printed output on a page
HEADING_ID = re.compile(r"^#{2,6} .*\{#([\w-]+)\}[ ]*$", re.M)
CELL = re.compile(r"^# ?%%(.*)$", re.M)
Blocks = list[tuple[str, str, int]]


@dataclass
class Shown:
    """An output with its place: the id that links point at, and the line of the block that made it."""

    kind: str  # "text", "table" or "figure"
    id: str
    line: int
    value: Any  # a str, or a Table or Figure of common.viz

    def as_data(self) -> dict:
        """As JSON, for the pair check, the golden files and the ledger."""
        data = {"kind": self.kind, "id": self.id, "line": self.line}
        if self.kind == "text":
            return data | {"text": self.value}
        if self.kind == "table":
            return data | {
                "title": self.value.title,
                "headers": list(map(str, self.value.headers)),
                "rows": [list(map(str, row)) for row in self.value.rows],
            }
        return data | {"title": self.value.title, "dot": self.value.dot, "text": self.value.text}

    def html(self, words: dict[str, str]) -> str:
        """As HTML for the page."""
        if self.kind != "text":
            return self.value.html(self.id)
        text = self.value
        if len(text) > LONGEST:
            text = text[:LONGEST] + "\n" + words["cut"].format(n=len(text) - LONGEST)
        return (
            f'<pre class="pt2e-out" tabindex="0" role="group" aria-label="{words["output"]}">{html.escape(text)}</pre>'
        )


def number(blocks: Blocks, outputs: dict[int, list[Output]]) -> dict[int, list[Shown]]:
    """Give each output an id made of its section's id, its kind and a number, so that ids in other sections stay when
    one is added. Keyed by the line of the block."""
    section, count, shown = "intro", {}, {}
    for kind, text, line in blocks:
        if kind == "text":
            section = (HEADING_ID.findall(text) or [section])[-1]
        for output in outputs.get(line, []) if kind == "code" else []:
            value = output.shown if output.shown is not None else plain(output.text).strip("\n")
            what = "text" if isinstance(value, str) else "figure" if hasattr(value, "dot") else "table"
            key = section, what
            count[key] = count.get(key, 0) + 1
            name = {"text": "output"}.get(what, what)
            shown.setdefault(line, []).append(Shown(what, f"{section}-{name}-{count[key]}", line, value))
    return shown


def marker(line: int) -> str:
    """What stands in mkdocs-gallery's Markdown where the outputs of the block at `line` go."""
    return f"<!-- outputs of line {line} -->"


def build(markdown: str, blocks: Blocks, shown: dict[int, list[Shown]], language: str, source: str) -> str:
    """The chapter's page.

    mkdocs-gallery writes, for each block, a comment with its lines, then prose as it is or code in a fence followed by
    our marker. All of that is known exactly, so it is found by its exact text: no output can be taken for it.
    """
    words = WORDS[language]
    answers = answer_lines(source)
    parts = []
    position = markdown.index(blocks[0][1].strip().split("\n")[0])  # what stands before is mkdocs-gallery's own note
    open_answer = False
    for index, (kind, text, line) in enumerate(blocks):
        if index:
            header = f"<!-- GENERATED FROM PYTHON SOURCE LINES {line}-{line + text.count(chr(10))} -->"
            position = markdown.index(header, position) + len(header)
        cell = cell_of(line, answers)
        if open_answer and not cell:
            parts.append("</details>")
        if cell and open_answer != cell:
            if open_answer:
                parts.append("</details>")
            parts.append(f'<details class="pt2e-answer" markdown="1"><summary>{words["answer"]}</summary>')
        open_answer = cell
        if kind == "text":
            parts.append(reflow.join(text.strip("\n")) if language == "zh-TW" else text.strip("\n"))
        else:
            position = markdown.index(marker(line), position)
            parts.append(fence(text))
            parts += [one_block(item.html(words)) for item in shown.get(line, [])]
    if open_answer:
        parts.append("</details>")
    return "\n\n".join(parts) + "\n"


def answer_lines(source: str) -> list[tuple[int, int]]:
    """(first line, number of the cell or 0 if it is no answer) of every cell."""
    cells = [(source.count("\n", 0, m.start()) + 1, m[1].split()) for m in CELL.finditer(source)]
    return [(line, line if "answer" in tags else 0) for line, tags in cells]


def cell_of(line: int, answers: list[tuple[int, int]]) -> int:
    """The answer cell that a block belongs to (its first line), or 0."""
    found = 0
    for first, answer in answers:
        if first <= line:
            found = answer
    return found


def fence(code: str) -> str:
    """Code as a fenced block whose fence is longer than any in the code."""
    longest = max(map(len, re.findall(r"`{3,}", code)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}python\n{code.strip(chr(10))}\n{ticks}"


def one_block(text: str) -> str:
    """HTML as one raw block of Markdown: no blank line, which would end it (a line feed inside <pre> stays one), and
    nothing that a fence is made of, which some extensions look for everywhere."""
    parts = re.split(r"(<script\b.*?</script>)", text, flags=re.S)
    parts[::2] = [re.sub("`(?=`)|~(?=~)", lambda m: f"&#{ord(m[0])};", part) for part in parts[::2]]
    parts[1::2] = [re.sub("`(?=`)|~(?=~)", lambda m: f"\\u{ord(m[0]):04x}", part) for part in parts[1::2]]
    return re.sub(r"\n(?=\s*\n)", "&#10;", "".join(parts))
