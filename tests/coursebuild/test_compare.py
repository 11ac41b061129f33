"""The report before an upgrade: which chapters fail, which show something else, and nothing of the build is touched."""

import pytest

from coursebuild import compare, golden
from tests.minisite import Minisite

pytestmark = pytest.mark.slow
FIRST, SECOND = "m00_1_first", "m00_2_second"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site on record, in which one chapter then shows something else, and another one does and fails."""
    made = Minisite.create(tmp_path_factory.mktemp("compare"))
    assert made.run("golden").code == 0
    made.edit(f"examples/en/m00/{FIRST}.py", "assert value == 42", "print('new')\nassert value == 43")
    made.edit(f"examples/en/m00/{SECOND}.py", "gm = torch.fx", "print('before it')\ngm = torch.fx")
    return made


def everything(site, *names):
    return {path: path.read_bytes() for name in names for path in (site.root / name).rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def result(site):
    before = everything(site, "tests", "site", "docs", ".cache/results")
    made = site.run("compare")
    assert everything(site, "tests", "site", "docs", ".cache/results") == before
    return made


def test_a_difference_is_a_finding_and_no_failure(result):
    assert result.code == 0, result.err
    assert "\nchapters: 4, same: 2, different: 1, failed: 1\n" in result.out
    assert "with torch 2." in result.out


def test_a_chapter_that_fails_says_where_and_what_it_showed_until_then(site, result):
    line = site.line("en", FIRST, "assert value == 43")
    start = result.out.index(f"examples/en/m00/{FIRST}.py: FAILED\nline {line}: AssertionError: assert value == 43")
    part = result.out[start : result.out.index(f"examples/en/m00/{SECOND}.py: different")]
    assert "\n+new\n" in part
    recorded = (site.root / golden.FOLDER / "en" / "m00" / f"{FIRST}.txt").read_text(encoding="utf-8")
    last = recorded.strip().split("\n")[-1]
    assert f"\n-{last}" not in part  # what comes after the failure isn't reported as gone


def test_a_chapter_that_shows_something_else_is_a_diff(result):
    part = result.out[result.out.index(f"examples/en/m00/{SECOND}.py: different") :]
    assert part.split("\n")[1:3] == ["--- recorded", "+++ now"]
    assert "\n+before it\n" in part
    assert "zh-TW" not in part


def test_the_report_is_kept(site, result):
    kept = (site.root / ".cache" / "compare" / "report.txt").read_text(encoding="utf-8")
    assert kept and kept in result.out


def test_what_has_run_is_not_run_again(site, result):
    again = site.run("compare")
    assert again.out.split("\n")[0].startswith("[1/1] FAILED")
    assert again.out[again.out.index("with torch") :] == result.out[result.out.index("with torch") :]


def test_the_verdicts():
    made = [compare.Difference(None, *rest) for rest in (("", ()), ("", ("+a",)), ("line 3: x", ()))]
    assert [difference.verdict for difference in made] == ["same", "different", "FAILED"]
