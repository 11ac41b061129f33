"""The built site as tests look at it: pages with their tables, printed outputs and figures."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from lxml import etree, html

from coursebuild.project import LANGUAGES, find_root

SITE_URL = "https://pt2e.example.org/course/"  # of the site that the tests build: below a path, as GitHub Pages has it


def plain(element: etree._Element) -> str:
    """An element's text in one line, without the signs that link to headings."""
    pieces = element.xpath(".//text()[not(ancestor::a[contains(@class, 'headerlink')])]")
    return " ".join("".join(pieces).split())


@dataclass(frozen=True)
class Table:
    """A table's cells as text, the head's and the body's."""

    head: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Figure:
    """A figure: its id, its caption, the labels of its stages, and its text twin."""

    id: str
    caption: str
    labels: list[str]
    twin: str

    def stages(self) -> list[list[str]]:
        """The twin's lines, stage by stage, without what belongs to none."""
        stages: list[list[str]] = []
        for line in self.twin.split("\n"):
            if re.match(r"\[\d+\]", line) or not stages:
                stages.append([])
            if " = " in line:
                stages[-1].append(" ".join(line.split()))
        return [stage for stage in stages if stage]


@dataclass(frozen=True)
class Page:
    """A page of the built site. `path`: of its folder, below the language's."""

    language: str
    path: str
    file: Path

    @cached_property
    def tree(self) -> etree._Element:
        """The whole document."""
        return html.document_fromstring(self.file.read_bytes(), parser=html.HTMLParser(encoding="utf-8"))

    @cached_property
    def article(self) -> etree._Element:
        """What the page says."""
        return self.tree.xpath("//article")[0]

    @property
    def title(self) -> str:
        """Its h1."""
        return plain(self.article.xpath(".//h1")[0])

    @property
    def ids(self) -> set[str]:
        """Those of its headings."""
        return set(self.article.xpath(".//*[self::h1 or self::h2 or self::h3 or self::h4]/@id"))

    @cached_property
    def tables(self) -> list[Table]:
        """Its tables, in order."""
        tables = []
        for table in self.article.xpath(".//table[not(contains(@class, 'highlight'))]"):
            rows = [[plain(cell) for cell in row.xpath("./td")] for row in table.xpath(".//tr[td]")]
            tables.append(Table([plain(cell) for cell in table.xpath(".//th")], rows))
        return tables

    def table(self, rows: list[list[str]]) -> Table:
        """The one table with these rows, in its first columns."""
        found = [t for t in self.tables if [row[: len(rows[0])] for row in t.rows] == rows]
        seen = "\n\n".join("\n".join(map(str, table.rows)) for table in self.tables)
        assert len(found) == 1, f"{len(found)} tables have these rows; those of the page are\n\n{seen}"
        return found[0]

    @cached_property
    def outputs(self) -> list[str]:
        """What its cells printed."""
        return [pre.text_content() for pre in self.article.xpath(".//pre[contains(@class, 'pt2e-out')]")]

    @property
    def printed(self) -> list[str]:
        """Every printed line."""
        return [line for output in self.outputs for line in output.split("\n")]

    @property
    def code(self) -> str:
        """All its code cells."""
        cells = self.article.xpath(".//div[contains(@class, 'highlight')]//code")
        return "\n".join(cell.text_content() for cell in cells)

    @property
    def prose(self) -> str:
        """Its text without code cells, outputs and figures, in one line."""
        skipped = "ancestor::pre or ancestor::figure or ancestor::script or ancestor::style"
        return " ".join("".join(self.article.xpath(f".//text()[not({skipped})]")).split())

    @cached_property
    def figures(self) -> list[Figure]:
        """Its figures, in order."""
        figures = []
        for figure in self.article.xpath(".//figure[contains(concat(' ', @class, ' '), ' fx ')]"):
            twins = figure.xpath(".//details//pre")
            assert len(twins) == 1, f"figure {figure.get('id')} has {len(twins)} text twins in a <details>"
            labels = [plain(label) for label in figure.xpath(".//*[contains(@class, 'fx-head')]")]
            caption = " ".join(map(plain, figure.xpath("./figcaption")))
            figures.append(Figure(figure.get("id"), caption, labels, twins[0].text_content()))
        return figures

    def links(self, ending: str) -> list[str]:
        """The links of the article whose address ends like this."""
        return [href for href in self.article.xpath(".//a/@href") if href.endswith(ending)]


@dataclass(frozen=True)
class BuiltSite:
    """The folder of a built site, and the address it was built for."""

    root: Path
    url: str

    @property
    def base_path(self) -> str:
        """The path of its address."""
        return urlsplit(self.url).path

    def page(self, language: str, path: str) -> Page:
        """A page by its path below the language's folder: "", "m00", "m00/m00_1_export_and_aten"."""
        return Page(language, path, self.root / language / path / "index.html")

    def paths(self) -> list[str]:
        """The paths of all pages, which are the same in every language."""
        home = self.root / LANGUAGES[0]
        return sorted(p.parent.relative_to(home).as_posix().removeprefix(".") for p in home.rglob("index.html"))

    def chapters(self) -> list[str]:
        """The paths of the chapters."""
        return [path for path in self.paths() if re.fullmatch(r"(m\d\d|appendix)/\w+", path)]

    def labs(self) -> list[str]:
        """The paths of the labs."""
        return [path for path in self.paths() if path.startswith("labs/")]


def build() -> BuiltSite:
    """The site in the folder SITE_DIR, or, without that variable, one that is built now for `SITE_URL`."""
    if given := os.environ.get("SITE_DIR"):
        root = Path(given)
    else:
        root = find_root() / ".cache" / "tested-site"
        command = [sys.executable, "-m", "coursebuild", "build", "--site", str(root)]
        environment = os.environ | {"SITE_URL": SITE_URL, "PYTHONPATH": os.pathsep.join(["docs", "."])}
        made = subprocess.run(command, cwd=find_root(), env=environment, capture_output=True, text=True)
        assert made.returncode == 0, f"{' '.join(command[1:])} failed:\n{made.stdout}\n{made.stderr}"
    canonical = html.parse(str(root / "index.html")).xpath("//link[@rel='canonical']/@href")
    return BuiltSite(root, canonical[0])
