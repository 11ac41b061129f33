"""The notebooks of the labs: pairs, unsolved as stored, right when solved; and their pages."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from known import LABS, LANGUAGES, ROOT, Lab
from mkdocs_jupyter.convert import nb2html
from nbclient.exceptions import CellExecutionError

from common.checks.puzzles import PUZZLES, picture
from coursebuild import chinese, lab_page, labs, lint, pairs
from coursebuild.problems import BuildError

LINK = re.compile(r"\]\(([^)]+)\)")
M00 = LABS[0]
each_lab = pytest.mark.parametrize("lab", LABS, ids=[lab.stem for lab in LABS])
each_language = pytest.mark.parametrize("lang", LANGUAGES)


def book(lab: Lab, lang: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / lab.path(lang), as_version=4)


def cells(lab: Lab, lang: str, kind: str) -> dict[str, nbformat.NotebookNode]:
    return {cell.id: cell for cell in book(lab, lang).cells if cell.cell_type == kind}


def checkers(lab: Lab, lang: str) -> list[nbformat.NotebookNode]:
    return [cell for id, cell in cells(lab, lang, "code").items() if id.endswith("-check")]


def sections(lab: Lab) -> list[str]:
    return [*(f"puzzle-{number}" for number in range(1, len(lab.puzzles) + 1)), "summary"]


# --- a pair


def test_every_lab_is_known():
    assert [lab.path("en") for lab in LABS] == [path for path in labs.labs(ROOT) if path.parts[1] == "en"]


@each_lab
def test_the_notebooks_are_a_pair_and_well_written(lab):
    zh, en = (ROOT / lab.path(lang) for lang in LANGUAGES)
    assert pairs.check(zh, en) == lint.check(zh) == lint.check(en) == []
    assert [cell.id for cell in book(lab, "zh-TW").cells] == [cell.id for cell in book(lab, "en").cells]
    assert book(lab, "zh-TW").metadata == book(lab, "en").metadata


@each_lab
def test_every_link_leads_somewhere(lab):
    chapters = (ROOT / "docs" / "course.yml").read_text(encoding="utf-8")
    for lang in LANGUAGES:
        links = [link for cell in cells(lab, lang, "markdown").values() for link in LINK.findall(cell.source)]
        assert len(links) > 5
        for link in links:
            stem, _, id = link.removeprefix("chapter:").partition("#")
            assert f"stem: {stem}" in chapters, link
            if id:
                source = ROOT / "examples" / lang / stem[:3] / f"{stem}.py"
                assert f"{{#{id}}}" in source.read_text(encoding="utf-8"), link


def test_the_calls_in_the_text_are_those_of_the_pictures():
    for number, name in enumerate(PUZZLES, 1):
        case = picture(name)
        for lang in LANGUAGES:
            text = cells(M00, lang, "markdown")[f"puzzle-{number}"].source
            assert f"`{case.call(name).replace('tensor[4, 1, 1]', 'tensor')}`" in text
            assert case.result is None or f"`{case.result}`" in text


# --- unsolved and solved


@each_language
@each_lab
def test_the_stored_notebook_is_unsolved_and_says_so(lab, lang):
    assert len(checkers(lab, lang)) == len(lab.puzzles)
    for cell, name in zip(checkers(lab, lang), lab.puzzles, strict=True):
        (output,) = cell.outputs
        assert (output.output_type, output.ename) == ("error", "NotWrittenYet")
        assert name in output.traceback[0]
        assert "\n".join(output.traceback) == output.evalue


@pytest.mark.slow
@each_language
@each_lab
def test_the_stored_outputs_are_those_of_today(lab, lang):
    problems = labs.stale(lab.path(lang), ROOT, labs.renewed(lab.path(lang), ROOT))
    assert not problems, problems[0]


@pytest.mark.slow
@each_lab
def test_the_unsolved_notebook_fails(lab):
    with pytest.raises(CellExecutionError, match=f"{lab.puzzles[0]} is not written yet"):
        labs.run(book(lab, "en"), ROOT, forgive=False)


@pytest.mark.slow
@each_language
@each_lab
def test_the_solved_notebook_passes(lab, lang):
    solved = book(lab, lang)
    for number, name in enumerate(lab.puzzles, 1):
        cell = next(cell for cell in solved.cells if cell.id == f"puzzle-{number}-solution")
        solution = inspect.getsource(getattr(lab.solutions, name))
        assert solution.splitlines()[0] == cell.source.splitlines()[0], "stub and solution have one signature"
        cell.source = solution
    done = labs.run(solved, ROOT, forgive=False)
    for cell, name in zip((c for c in done.cells if c.id.endswith("-check")), lab.puzzles, strict=True):
        (output,) = cell.outputs
        assert output.text.startswith(f"✓ {name}")


def test_a_change_of_the_output_is_found_and_one_of_coordinates_is_not():
    path = M00.path("en")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert not labs.stale(path, ROOT, re.sub(r'width=\\"\d+\\"', r'width=\\"1\\"', text))
    (problem,) = labs.stale(path, ROOT, text.replace("fx-stage", "fx-step"))
    assert (problem.path, problem.hint) == (path.as_posix(), labs.HINT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import sys; print('x', file=sys.stderr)", "holds stderr"),
        ("print(object())", "holds a memory address"),
        ("import common; print(common.__file__)", "holds a path of this machine"),
        ("1 / 0", "a cell failed"),
    ],
)
def test_an_output_that_must_not_be_published_stops(source, fault, tmp_path):
    (tmp_path / "common").symlink_to(ROOT / "common")
    cell = nbformat.v4.new_code_cell(source, id="bad")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "lab.ipynb")
    with pytest.raises(BuildError, match=fault):
        labs.renewed(Path("lab.ipynb"), tmp_path)


# --- the page

Pages = dict[str, tuple[str, list[dict]]]


@pytest.fixture(scope="module")
def all_pages() -> dict[str, Pages]:
    def page(lab: Lab, lang: str) -> tuple[str, list[dict]]:
        path = lab.path(lang)
        return lab_page.page(nb2html(str(ROOT / path)), book(lab, lang), str(path), lang, "link")

    return {lab.stem: {lang: page(lab, lang) for lang in LANGUAGES} for lab in LABS}


@pytest.fixture
def pages(lab: Lab, all_pages: dict[str, Pages]) -> Pages:
    return all_pages[lab.stem]


@each_lab
def test_the_page_has_nothing_of_jupyterlab(lab, pages):
    for content, _ in pages.values():
        assert len(content.encode()) < 130_000
        assert not re.search(r"<style|<script|<link|jp-|clipboard|cell-id|# install|raises-exception", content)
        assert set(re.findall(r"https?://[\w.]+", content)) <= {"http://www.w3.org"}


@each_lab
def test_the_ids_are_the_same_in_both_languages_and_unique(lab, pages):
    ids = {lang: re.findall(r' id="([^"]+)"', content) for lang, (content, _) in pages.items()}
    assert ids["zh-TW"] == ids["en"]
    assert len(ids["en"]) == len(set(ids["en"]))
    assert {"title", *sections(lab)} <= set(ids["en"])
    assert {f"{puzzle}-figure-1" for puzzle in sections(lab)[:-1]} <= set(ids["en"])
    assert not [id for id in ids["en"] if re.fullmatch(r"_\d+", id)]
    for content, _ in pages.values():
        for reference in re.findall(r'(?:aria-labelledby|aria-describedby|href)="#?([^":]+)"', content):
            assert set(reference.split()) <= set(ids["en"])


@each_lab
def test_the_contents_follow_the_headings(lab, pages):
    for lang, (content, (title,)) in pages.items():
        assert (title["id"], title["level"]) == ("title", 1)
        assert [child["id"] for child in title["children"]] == sections(lab)
        soup = BeautifulSoup(content, "html.parser")
        for token in title["children"]:
            assert soup.find(id=token["id"]).get_text() == f"{token['name']}¶"
            assert chinese.has_han(token["name"]) == (lang == "zh-TW")


@each_lab
def test_the_page_shows_every_cell_in_order(lab, pages):
    for lang, (content, _) in pages.items():
        soup = BeautifulSoup(content, "html.parser")
        shown = [code.get_text().strip() for code in soup.select(".highlight code")]
        assert shown == [cell.source for id, cell in cells(lab, lang, "code").items() if id != "install"]
        assert len(soup.select(lab.picture)) == len(soup.select("pre.pt2e-error")) == len(lab.puzzles)


def test_a_page_that_is_not_understood_stops():
    path = M00.path("en")
    content, known, two = nb2html(str(ROOT / path)), book(M00, "en"), book(M00, "en")
    two.cells[0].source += "\n\n## Another"
    with pytest.raises(BuildError, match="cell 'setup' is not on the page"):
        lab_page.page(content.replace("cell-id=setup", "cell-id=other"), known, "x.ipynb", "en", "")
    with pytest.raises(BuildError, match=r"cell 'puzzle-1-picture' shows something that common\.viz did not make"):
        known.cells[4].outputs[0].data["text/html"] = "<b>x</b>"
        lab_page.page(content, known, "x.ipynb", "en", "")
    with pytest.raises(BuildError, match="cell 'title' has more than one heading"):
        heading = '<h2>Another<a class="anchor-link" href="#x">¶</a></h2><p><a href="chapter:m00_4'
        lab_page.page(content.replace('<p><a href="chapter:m00_4', heading, 1), two, path.name, "en", "")
