"""A lab's page: mkdocs-jupyter's prose and highlighted code, and the notebook's outputs, in the markup of the chapters.

mkdocs-jupyter wraps them in JupyterLab's style sheet and scripts (630 KB, and two addresses of other sites). The page
needs none of it: what is here is all that stays.
"""

import html
import re
from collections import Counter
from typing import Any

import nbformat
from bs4 import BeautifulSoup, Tag

from coursebuild.execution.words import WORDS
from coursebuild.problems import BuildError, Problem

HIDDEN = "install"  # the tag of cells that the page does not show
TITLE_ID = "title"
# A figure as common.viz gives it to notebooks: in a card, with a style sheet of its own.
CARD = re.compile(r'<div class="fx-card" id="(?P<id>[\w-]+)"><style>.*?</style>(?P<figure>.*)</div>\s*', re.S)


def page(content: str, book: nbformat.NotebookNode, path: str, language: str, permalink: str) -> tuple[str, list[dict]]:
    """(HTML, tokens for mkdocs.structure.toc.get_toc) of a lab.

    `content` is what mkdocs-jupyter made of `book`, the notebook at `path`. A cell's heading gets the cell's id as its
    own, so both languages have the same ones and the notebook holds no markup of the site's. `permalink` is the title
    of a heading's link to itself. Raises BuildError if a cell or an output has not the form that is known here.
    """
    soup = BeautifulSoup(content, "html.parser")
    parts: list[str] = []
    tokens: list[dict] = []
    section, outputs = TITLE_ID, Counter[str]()
    for cell in book.cells:
        if HIDDEN in cell.metadata.get("tags", []):
            continue
        made = soup.find(id=f"cell-id={cell.id}")
        inner = made and made.select_one(".highlight-ipynb pre" if cell.cell_type == "code" else ".jp-MarkdownOutput")
        if not inner:
            raise _problem(path, cell, "is not on the page of mkdocs-jupyter", "did mkdocs-jupyter change its markup?")
        if cell.cell_type == "code":
            code = inner.decode_contents().removeprefix("<span></span>").rstrip("\n")
            parts.append(f'<div class="language-python highlight"><pre><span></span><code>{code}\n</code></pre></div>')
            for output in cell.outputs:
                outputs[section] += "data" in output
                parts.append(_output(output, f"{section}-figure-{outputs[section]}", path, cell, language))
        else:
            heading = _heading(inner, path, cell, permalink)
            if heading:
                section = heading["id"]
                _nest(tokens, heading)
            parts.append(inner.decode_contents().strip())
    return "\n".join(parts), tokens


def _heading(prose: Tag, path: str, cell: Any, permalink: str) -> dict | None:
    """Give the cell's heading its id and its link; its token, or None if the cell has no heading."""
    headings = prose.find_all(re.compile(r"h[1-6]"))
    if len(headings) > 1:
        raise _problem(path, cell, "has more than one heading", "split it: a heading's id is the id of its cell")
    for heading in headings:
        heading.select_one(".anchor-link").decompose()
        level, id, words = int(heading.name[1]), TITLE_ID if heading.name == "h1" else cell.id, heading.get_text()
        token = {"level": level, "id": id, "name": words, "html": heading.decode_contents(), "children": []}
        heading["id"] = id
        link = f'<a class="headerlink" href="#{id}" title="{html.escape(permalink)}">¶</a>'
        heading.append(BeautifulSoup(link, "html.parser"))
        return token
    return None


def _nest(tokens: list[dict], heading: dict) -> None:
    """Put a heading under the last one above it."""
    while tokens and tokens[-1]["level"] < heading["level"]:
        tokens = tokens[-1]["children"]
    tokens.append(heading)


def _output(output: Any, id: str, path: str, cell: Any, language: str) -> str:
    """An output as the chapters show it: text in a box, a figure or table with ids that no other on the page has."""
    if output.output_type in ("stream", "error"):
        text = output.text if output.output_type == "stream" else "\n".join(output.traceback)
        kind = "pt2e-out" if output.output_type == "stream" else "pt2e-out pt2e-error"
        label, text = WORDS[language]["output"], html.escape(text.strip())
        return f'<pre class="{kind}" tabindex="0" role="group" aria-label="{label}">{text}</pre>'
    card = CARD.fullmatch(output.data.get("text/html", ""))
    if not card:
        raise _problem(path, cell, "shows something that common.viz did not make", "show it with draw or table")
    return card["figure"].strip().replace(f"{card['id']}-0", id)


def _problem(path: str, cell: Any, message: str, hint: str) -> BuildError:
    return BuildError([Problem(path, 1, f"cell {cell.id!r} {message}", hint)])
