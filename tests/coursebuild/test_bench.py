"""`make bench`: it measures what it says, refuses to report what did not happen, and its page adds nothing."""

import json
import re
import subprocess
import sys

import pytest
from lxml import html

from coursebuild.bench import contenders, measure, page, results, runner, trees
from coursebuild.project import LANGUAGES
from coursebuild.setup_env import ROOT
from tests.minisite import Minisite

FIRST = "m00_1_first"
PYTHON = sys.executable


def python(code: str) -> list[str]:
    return [PYTHON, "-I", "-S", "-c", code]


# ---------------------------------------------------------------------------------------------------- one run


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a process held at its peak")
def test_a_run_has_the_time_of_all_commands_and_the_memory_of_the_largest(tmp_path):
    code = "import time; b = bytearray({} << 20); time.sleep(0.4); print('said {}')"
    made = measure.run([python(code.format(100, 1)), python(code.format(10, 2))], tmp_path, {})
    assert 0.8 < made.seconds < 5
    assert 100 < made.megabytes < 150
    assert made.output == "said 1\n\nsaid 2\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a process held at its peak")
def test_memory_of_children_is_not_counted(tmp_path):
    child = "b = bytearray(200 << 20)"
    code = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', '{child}']); time.sleep(0.2)"
    assert measure.run([python(code)], tmp_path, {}).megabytes < 100


def test_a_command_that_fails_is_told_in_its_own_words(tmp_path):
    with pytest.raises(measure.CommandFailed, match=r"(?s)ended with exit code 3:\nwhy$"):
        measure.run([python("print('why'); raise SystemExit(3)")], tmp_path, {})


# ---------------------------------------------------------------------------------------------------- the trees


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The minisite as a repository with an ignored file. Its chapters take long enough to be seen in what the galleries
    report: hundredths of seconds."""
    made = Minisite.create(tmp_path_factory.mktemp("bench"))
    for stem, before in ((FIRST, "value = 6 * 7"), ("m00_2_second", "gm = torch.fx")):
        made.edit_pair(stem, before, f"import time\n\ntime.sleep(0.05)\n{before}")
    (made.root / ".gitignore").write_text("/.cache/\n/site/\n/ignored\n__pycache__/\n")
    (made.root / "ignored").write_text("")
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=made.root, check=True)
    return made.root


@pytest.fixture
def tree(checkout, tmp_path):
    return trees.copy(checkout, tmp_path / "tree")


def test_a_copy_has_what_git_knows(tree):
    assert (tree / "common" / "viz.py").exists()
    assert not (tree / "ignored").exists()


def test_edits_change_a_chapter_in_both_languages_and_do_not_pile_up(tree):
    before = {path: path.read_text() for path in tree.rglob("*.py")}
    trees.edit_chapter(tree, "m00_2_second", 1)
    trees.edit_chapter(tree, "m00_2_second", 2)
    trees.edit_common(tree, 7)
    changed = {path.relative_to(tree).as_posix() for path, text in before.items() if path.read_text() != text}
    assert changed == {f"examples/{language}/m00/m00_2_second.py" for language in LANGUAGES} | {"common/graph_utils.py"}
    text = (tree / "examples/en/m00/m00_2_second.py").read_text()
    assert re.findall("_ = 9.*", text) == ["_ = 902"]


@pytest.mark.slow
def test_a_tree_with_copies_can_be_built(tree):
    trees.multiply(tree)
    made = Minisite(tree).build()
    assert made.code == 0, made.err
    assert made.last == f"chapters: {4 * trees.COPIES}, run: {4 * trees.COPIES}, cached: 0, failed: 0"
    pages = {path.parent.name for path in (tree / "site" / "en").glob("m*/m*/index.html")}
    assert pages == {f"m{number}_{rest}" for number in ("00", "20", "40", "60") for rest in ("1_first", "2_second")}


# ---------------------------------------------------------------------------------------------------- the comparison


@pytest.mark.slow
def test_the_whole_comparison_on_the_minisite(checkout, monkeypatch):
    """Without sphinx-gallery, which is in the environment of `make bench` alone."""
    monkeypatch.setattr(runner, "CHANGED", FIRST)
    monkeypatch.setattr(runner, "BUILT_WITH", ("mkdocs",))
    without = tuple(make for make in runner.CONTENDERS if make is not contenders.sphinx_gallery)
    monkeypatch.setattr(runner, "CONTENDERS", without)
    said = []
    found = runner.run(checkout, 2, tuple(case for case in runner.CASES if not case.large), said.append)
    cases = found["cases"]
    assert {case: {key: values["executed"] for key, values in kept.items()} for case, kept in cases.items()} == {
        "cold": {"this": 4, "mkdocs-gallery": 4, "mkdocs": 0},
        "nothing": {"this": 0, "mkdocs-gallery": 0, "mkdocs": 0},
        "chapter": {"this": 2, "mkdocs-gallery": 2, "mkdocs": 0},
        "common": {"this": 4, "mkdocs-gallery": 0, "mkdocs": 0},
    }
    assert all(len(values["seconds"]) == 2 for kept in cases.values() for values in kept.values())
    assert found["changed"]["chapter"] == FIRST and 0.05 <= found["changed"]["seconds"] < 5
    assert found["scripts"] == 4
    order = [line.split()[2].rstrip(":") for line in said if line.startswith("cold ")]
    assert order == ["this", "mkdocs-gallery", "mkdocs", "mkdocs-gallery", "mkdocs", "this"]


@pytest.mark.slow
@pytest.mark.parametrize("first", ["large-cold", "large-nothing"])
def test_the_cases_with_copies_on_the_minisite(checkout, monkeypatch, first):
    """Also where the tree must be built before the first case; without the galleries, to be quick."""
    monkeypatch.setattr(runner, "CHANGED", FIRST)
    monkeypatch.setattr(runner, "BUILT_WITH", ("mkdocs",))
    monkeypatch.setattr(runner, "CONTENDERS", (contenders.this_build, contenders.plain_mkdocs))
    found = runner.run(checkout, 1, tuple(case for case in runner.CASES if case.key == first), lambda line: None)
    wanted = {"large-cold": 16, "large-nothing": 0}[first]
    assert {key: values["executed"] for key, values in found["cases"][first].items()} == {"this": wanted, "mkdocs": 0}
    assert found["changed"]["seconds"] >= 0.05


def test_a_build_that_did_not_do_its_work_is_not_reported(tree, monkeypatch):
    """The case says that everything runs; this one says it ran nothing."""
    fake = contenders.Contender("this", ((PYTHON, "-c", "print('chapters: 4, run: 0, cached: 4, failed: 0')"),), ())
    case = next(case for case in runner.CASES if case.key == "common")
    with pytest.raises(runner.BenchError, match=r"common: this build executed \[0, 0\] scripts, not 4 each time"):
        runner._measure(case, {"this": (fake, tree)}, 2, lambda line: None)


def test_the_galleries_are_set_up_for_all_modules(tree):
    sphinx, gallery = contenders.sphinx_gallery(tree), contenders.mkdocs_gallery(tree)
    assert len(sphinx.commands) == len(gallery.commands) == 2
    names: dict = {}
    exec((tree / "sphinx" / "en" / "conf.py").read_text(), names)
    assert names["sphinx_gallery_conf"]["gallery_dirs"] == ["m00"]
    assert names["sphinx_gallery_conf"]["parallel"] == 2
    assert (tree / "gallery-en.yml").exists()


# ---------------------------------------------------------------------------------------------------- the page

VALUES = {"seconds": [9.0, 8.0, 10.0], "megabytes": [100, 110, 120], "executed": 30, "failed": 0}


def measured(**seconds: list[float]) -> dict:
    """Results in which everything takes 8 to 10 s, but for "case_contender" given here."""
    cases = {case.key: {key: dict(VALUES) for key in page.CONTENDERS} for case in runner.CASES}
    for name, values in seconds.items():
        case, _, key = name.partition("_")
        cases[case.replace("0", "-")][key]["seconds"] = values
    return {
        "date": "2026-01-02",
        "commit": "",
        "machine": {"processor": "P", "cores": 2, "gigabytes": 24, "system": "S"},
        "versions": {"torch": "2.13.0"},
        "scripts": 30,
        "copies": 4,
        "changed": {"chapter": "m01_1_end_to_end", "seconds": 1.0},
        "cases": cases,
    }


def test_bars_and_numbers_are_of_the_same_runs():
    tree = html.fromstring(page.times(measured(cold_this=[2.0, 4.0, 3.0]), "en"))
    first = tree.xpath("//tr[@class='pt2e-bench-own']")[0]
    assert [cell.text_content() for cell in first.xpath("./*")][2:] == ["3.0", "2.0–4.0", "30", "110"]
    assert first.xpath(".//span/span/@style") == ["width:30.0%"]
    assert first.xpath(".//i/@style") == ["left:20.0%;width:20.0%"]
    assert len(tree.xpath("//tbody/tr")) == len(runner.CASES) * (1 + len(page.CONTENDERS))


def test_scripts_that_failed_in_a_shared_process_are_named():
    results = measured()
    results["cases"]["cold"]["mkdocs-gallery"]["failed"] = 2
    assert "<td>30, 2 failed</td>" in page.times(results, "en")
    assert "failed" not in page.times(measured(), "en")


def test_a_target_that_is_missed_says_so():
    table = page.targets_table(measured(cold_this=[4.0, 4.5, 5.0]), "en")
    assert "| First build ÷ mkdocs-gallery | 0.50 | ≤&nbsp;0.55 | yes |" in table
    table = page.targets_table(measured(cold_this=[5.0, 5.0, 6.0]), "en")
    assert "| First build ÷ mkdocs-gallery | 0.56 | ≤&nbsp;0.55 | no |" in table


def test_the_target_of_one_chapter_grows_with_the_chapter():
    names = {name: (value, limit) for name, value, limit in page.targets(measured(chapter_this=[12.0, 12.0, 12.0]))}
    assert names["t-chapter"] == (3.0, 4.0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_languages_have_all_words(language):
    text = page.times(measured(), language) + page.targets_table(measured(), language)
    assert "{" not in text + page.machine(measured(), language)


def test_the_results_on_record_are_of_a_whole_run():
    kept = results.load(ROOT)
    assert [case.key for case in runner.CASES] == list(kept["cases"])
    for case in kept["cases"].values():
        assert set(case) == set(page.CONTENDERS)
        runs = {len(values["seconds"]) for values in case.values()}
        assert len(runs) == 1 and min(runs) >= 3
    assert json.dumps(kept, ensure_ascii=False, indent=1) + "\n" == (ROOT / results.FILE).read_text(encoding="utf-8")
