"""Scripts and notebooks as readers download them: free of the site's own markup, and with what it takes to run them."""

import json
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import nbformat

from coursebuild import reflow, stamps
from coursebuild.execution.words import WORDS
from coursebuild.info import Info
from coursebuild.project import Chapter

ATTRIBUTES = re.compile(r"[ ]*\{[#:.][^}\n]*\}[ ]*$", re.M)
BOX = re.compile(r'^(?:!!!|\?\?\?\+?) \w+(?: "(?P<title>[^"\n]*)")?[ ]*\n(?P<body>(?:[ ]*\n|[ ]{4}.*\n?)+)', re.M)
LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s]+)(?=\))")
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1[ ]*$", re.M | re.S)
PROSE = re.compile(r"^(?P<header># ?%%.*\n)(?P<text>(?:#.*(?:\n|\Z))+)", re.M)
INSTALL = "install"  # tag of the cell that installs common
Resolve = Callable[[str], str]


def free(markdown: str, resolve: Resolve) -> str:
    """Markdown that any viewer understands: no ids and classes in braces, boxes as quotations, absolute links.

    `resolve` turns a link's target, as written in the source, into an address. Fenced code is left as it is.
    """
    parts, position = [], 0
    for fence in FENCED.finditer(markdown):
        parts += [_free(markdown[position : fence.start()], resolve), fence[0]]
        position = fence.end()
    return "".join([*parts, _free(markdown[position:], resolve)])


def _free(text: str, resolve: Resolve) -> str:
    text = ATTRIBUTES.sub("", text)
    text = LINK.sub(lambda m: resolve(m["target"]), text)
    return BOX.sub(_quote, text)


def _quote(box: re.Match) -> str:
    body = [line[4:] for line in box["body"].rstrip("\n").split("\n")]
    title = [f"**{box['title']}**", ""] if box["title"] else []
    gap = "\n" if box["body"].endswith("\n\n") else ""
    return "".join(f"> {line}".rstrip() + "\n" for line in [*title, *body]).rstrip("> \n") + "\n" + gap


def script(source: str, language: str, info: Info, page: str, resolve: Resolve) -> str:
    """The chapter's script for download. `page`: the address of its page."""
    head = WORDS[language]["py_head"].format(
        torch=_plain(info, "torch"), torchao=_plain(info, "torchao"), wheel=info.wheel_url, page=page
    )
    text = stamps.strip(source)
    start = text.index('"""') + 3
    end = text.index('"""', start)
    text = text[:start] + free(text[start:end], resolve) + text[end:]
    text = PROSE.sub(lambda m: m["header"] + _comment(free(_uncomment(m["text"]), resolve)), text)
    return "".join(f"# {line}".rstrip() + "\n" for line in head.split("\n")) + text


def _uncomment(text: str) -> str:
    return re.sub(r"^# ?", "", text, flags=re.M)


def _comment(text: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in text.rstrip("\n").split("\n"))


def notebook(source: str, language: str, info: Info, page: str, resolve: Resolve) -> str:
    """The chapter's notebook for download, with a first cell that installs; `source`: the cached result's."""
    book = nbformat.reads(source, as_version=4)
    book.cells.insert(1, install_cell(language, info))
    return _finish(book, language, page, resolve)


def lab(source: str, language: str, info: Info, page: str, resolve: Resolve) -> str:
    """A lab's notebook for download: its `install` cell gets its text, stamps go."""
    book = nbformat.reads(source, as_version=4)
    for index, cell in enumerate(book.cells):
        cell.metadata.pop("zh", None)
        if INSTALL in cell.metadata.get("tags", []):
            book.cells[index] = install_cell(language, info)
    return _finish(book, language, page, resolve)


def _finish(book: nbformat.NotebookNode, language: str, page: str, resolve: Resolve) -> str:
    """Free the prose, name the page, and write the notebook."""
    for cell in book.cells:
        if cell.cell_type == "markdown":
            text = free(cell.source + "\n", resolve).strip()
            cell.source = reflow.join(text) if language == "zh-TW" else text
    book.cells[0].source += f"\n\n<{page}>"
    return nbformat.writes(book, ensure_ascii=False) + "\n"


def install_cell(language: str, info: Info):
    """The cell that installs `common` from the site's own wheel and names what differs from the page's versions."""
    code = WORDS[language]["install"].format(
        torch=_plain(info, "torch"), torchao=_plain(info, "torchao"), wheel=info.wheel_url
    )
    return nbformat.v4.new_code_cell(code, id=INSTALL, metadata={"tags": [INSTALL]})


def _plain(info: Info, name: str) -> str:
    return info.versions[name].split("+")[0]


def bundle(path: Path, files: dict[str, str], epoch: int) -> None:
    """A zip of text files, the same bytes for the same content."""
    stamp = time.gmtime(max(epoch, 315532800))[:6]
    new = path.with_suffix(".new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            entry = zipfile.ZipInfo(name, stamp)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text, zipfile.ZIP_DEFLATED)
    new.replace(path)


def ledger(result: Path, chapter: Chapter, info: Info) -> dict:
    """The chapter's line in the ledger, as it stands beside its page."""
    counts = json.loads((result / "ledger.json").read_text(encoding="utf-8"))
    return (
        {"chapter": chapter.stem, "language": chapter.language}
        | counts
        | {"versions": info.versions, "commit": info.commit}
    )
