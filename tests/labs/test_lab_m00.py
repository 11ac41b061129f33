"""The notebooks of the M00 lab: a pair, unsolved as stored, right when solved; and their page."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import nbformat
import pytest
import solutions_m00
from bs4 import BeautifulSoup
from mkdocs_jupyter.convert import nb2html
from nbclient.exceptions import CellExecutionError

from common.checks.puzzles import PUZZLES, picture
from coursebuild import chinese, lab_page, labs, lint, pairs
from coursebuild.problems import BuildError

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("zh-TW", "en")
PATHS = {lang: Path(f"docs/{lang}/labs/lab_m00.ipynb") for lang in LANGUAGES}
LINK = re.compile(r"\]\(([^)]+)\)")


def book(lang: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / PATHS[lang], as_version=4)


def cells(lang: str, kind: str) -> dict[str, nbformat.NotebookNode]:
    return {cell.id: cell for cell in book(lang).cells if cell.cell_type == kind}


def checkers(lang: str) -> list[nbformat.NotebookNode]:
    return [cell for id, cell in cells(lang, "code").items() if id.endswith("-check")]


# --- a pair


def test_the_notebooks_are_a_pair_and_well_written():
    zh, en = (ROOT / PATHS[lang] for lang in LANGUAGES)
    assert pairs.check(zh, en) == lint.check(zh) == lint.check(en) == []
    assert [cell.id for cell in book("zh-TW").cells] == [cell.id for cell in book("en").cells]
    assert book("zh-TW").metadata == book("en").metadata


def test_every_link_leads_somewhere():
    chapters = (ROOT / "docs" / "course.yml").read_text(encoding="utf-8")
    for lang in LANGUAGES:
        links = [link for cell in cells(lang, "markdown").values() for link in LINK.findall(cell.source)]
        assert len(links) > 10
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
            text = cells(lang, "markdown")[f"puzzle-{number}"].source
            assert f"`{case.call(name).replace('tensor[4, 1, 1]', 'tensor')}`" in text
            assert case.result is None or f"`{case.result}`" in text


# --- unsolved and solved


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_stored_notebook_is_unsolved_and_says_so(lang):
    assert len(checkers(lang)) == len(PUZZLES)
    for cell, name in zip(checkers(lang), PUZZLES, strict=True):
        (output,) = cell.outputs
        assert (output.output_type, output.ename) == ("error", "NotWrittenYet")
        assert name in output.traceback[0]
        assert "\n".join(output.traceback) == output.evalue


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_stored_outputs_are_those_of_today(lang):
    problems = labs.stale(PATHS[lang], ROOT, labs.renewed(PATHS[lang], ROOT))
    assert not problems, problems[0]


@pytest.mark.slow
def test_the_unsolved_notebook_fails():
    with pytest.raises(CellExecutionError, match="insert_module is not written yet"):
        labs.run(book("en"), ROOT, forgive=False)


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_solved_notebook_passes(lang):
    solved = book(lang)
    for number, name in enumerate(PUZZLES, 1):
        cell = next(cell for cell in solved.cells if cell.id == f"puzzle-{number}-solution")
        solution = inspect.getsource(getattr(solutions_m00, name))
        assert solution.splitlines()[0] == cell.source.splitlines()[0], "stub and solution have one signature"
        cell.source = solution
    done = labs.run(solved, ROOT, forgive=False)
    for cell, name in zip((c for c in done.cells if c.id.endswith("-check")), PUZZLES, strict=True):
        (output,) = cell.outputs
        assert output.text.startswith(f"✓ {name}")


def test_a_change_of_the_output_is_found_and_one_of_coordinates_is_not():
    path = PATHS["en"]
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


def page(lang: str) -> tuple[str, list[dict]]:
    return lab_page.page(nb2html(str(ROOT / PATHS[lang])), book(lang), str(PATHS[lang]), lang, "link")


@pytest.fixture(scope="module")
def pages() -> dict[str, tuple[str, list[dict]]]:
    return {lang: page(lang) for lang in LANGUAGES}


def test_the_page_has_nothing_of_jupyterlab(pages):
    for content, _ in pages.values():
        assert len(content.encode()) < 100_000
        assert not re.search(r"<style|<script|<link|jp-|clipboard|cell-id|# install|raises-exception", content)
        assert set(re.findall(r"https?://[\w.]+", content)) <= {"http://www.w3.org"}


def test_the_ids_are_the_same_in_both_languages_and_unique(pages):
    ids = {lang: re.findall(r' id="([^"]+)"', content) for lang, (content, _) in pages.items()}
    assert ids["zh-TW"] == ids["en"]
    assert len(ids["en"]) == len(set(ids["en"]))
    assert {"title", "summary"} | {f"puzzle-{n}" for n in (1, 2, 3, 4)} <= set(ids["en"])
    assert {f"puzzle-{n}-figure-1" for n in (1, 2, 3, 4)} <= set(ids["en"])
    assert not [id for id in ids["en"] if re.fullmatch(r"_\d+", id)]
    for content, _ in pages.values():
        for reference in re.findall(r'(?:aria-labelledby|aria-describedby|href)="#?([^":]+)"', content):
            assert set(reference.split()) <= set(ids["en"])


def test_the_contents_follow_the_headings(pages):
    for lang, (content, (title,)) in pages.items():
        assert (title["id"], title["level"]) == ("title", 1)
        assert [child["id"] for child in title["children"]] == [*(f"puzzle-{n}" for n in (1, 2, 3, 4)), "summary"]
        soup = BeautifulSoup(content, "html.parser")
        for token in title["children"]:
            assert soup.find(id=token["id"]).get_text() == f"{token['name']}¶"
            assert chinese.has_han(token["name"]) == (lang == "zh-TW")


def test_the_page_shows_every_cell_in_order(pages):
    for lang, (content, _) in pages.items():
        soup = BeautifulSoup(content, "html.parser")
        shown = [code.get_text().strip() for code in soup.select(".highlight code")]
        assert shown == [cell.source for id, cell in cells(lang, "code").items() if id != "install"]
        assert len(soup.select("figure.fx")) == len(soup.select("pre.pt2e-error")) == len(PUZZLES)


def test_a_page_that_is_not_understood_stops():
    content, known = nb2html(str(ROOT / PATHS["en"])), book("en")
    two = book("en")
    two.cells[0].source += "\n\n## Another"
    path = ROOT / PATHS["en"]
    with pytest.raises(BuildError, match="cell 'setup' is not on the page"):
        lab_page.page(content.replace("cell-id=setup", "cell-id=other"), known, "x.ipynb", "en", "")
    with pytest.raises(BuildError, match=r"cell 'puzzle-1-picture' shows something that common\.viz did not make"):
        known.cells[4].outputs[0].data["text/html"] = "<b>x</b>"
        lab_page.page(content, known, "x.ipynb", "en", "")
    with pytest.raises(BuildError, match="cell 'title' has more than one heading"):
        heading = '<h2>Another<a class="anchor-link" href="#x">¶</a></h2><p><a href="chapter:m00_4'
        lab_page.page(content.replace('<p><a href="chapter:m00_4', heading, 1), two, path.name, "en", "")
