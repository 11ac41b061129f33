"""Each chapter runs for itself: whatever its company and order, the result is the same bytes."""

import shutil

import pytest

from coursebuild.execution import scheduler
from coursebuild.execution.cache import FILES
from coursebuild.project import Project
from tests.minisite import SUMMARY, Minisite

pytestmark = pytest.mark.slow
LEAVES_TRACES = """
import torch

library = torch.library.Library("minisite", "DEF")
library.define("twice(Tensor x) -> Tensor")
assert torch.pi > 3
torch.pi = 3
torch.manual_seed(len(torch.__version__))
assert not hasattr(torch, "seen_before")
torch.seen_before = True
print(f"{torch.rand(1).item():.6f}", torch.get_num_threads(), sorted({"b", "a", "c"}), list({"x", "y", "z"}))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Both chapters leave traces that would break the other one in the same process."""
    made = Minisite.create(tmp_path_factory.mktemp("isolation"))
    for stem, before in (("m00_1_first", "value = 6 * 7"), ("m00_2_second", "gm = torch.fx")):
        for language in ("zh-TW", "en"):
            made.edit(f"examples/{language}/m00/{stem}.py", before, LEAVES_TRACES + before)
    return made


def results(site, chapters, jobs):
    found = {}

    def keep(chapter, folder):
        found[chapter] = {name: (folder / name).read_bytes() for name in FILES}

    problems = scheduler.run(site.root, chapters, keep, lambda *_: None, jobs)
    assert not problems, "\n".join(map(str, problems))
    return found


def test_order_and_company_make_no_difference(site):
    chapters = Project(site.root).chapters()
    in_order = results(site, chapters, 1)
    assert results(site, chapters[::-1], 1) == in_order
    assert results(site, chapters, 4) == in_order
    for chapter in chapters:
        assert results(site, [chapter], 1) == {chapter: in_order[chapter]}


def test_the_caller_has_no_part_in_the_result(site):
    """Nor has the environment of whoever starts the build: two builds from nothing, each in a process of its own."""

    def built(**env):
        shutil.rmtree(site.root / ".cache" / "results", ignore_errors=True)
        made = site.run("build", **env)
        assert made.last == SUMMARY.format(4, 4, 0, 0), made.err
        home = site.root / ".cache" / "results"
        return {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}

    changed = {"ATEN_CPU_CAPABILITY": "default", "OMP_NUM_THREADS": "7", "PYTHONHASHSEED": "5", "LANG": "C"}
    # named, too: a seed of chance could give the same order of a set
    assert built(**changed) == built(OMP_NUM_THREADS="2", PYTHONHASHSEED="1")
