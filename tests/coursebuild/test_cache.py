"""A result is found again exactly when nothing that could change it has changed."""

import shutil
import subprocess
import sys

import pytest

from coursebuild.execution import cache as module
from coursebuild.execution.cache import FILES, KEPT, Cache
from coursebuild.project import Chapter

FIRST, SECOND = Chapter("en", "m00", "m00_1_a"), Chapter("en", "m00", "m00_2_b")
VERSIONS = {"Python": "3.11.2", "torch": "2.13.0", "torchao": "0.18.0", "Graphviz": "2.43.0"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project with two chapters, and fixed versions."""
    monkeypatch.setattr(module, "versions", lambda: VERSIONS)
    for chapter in (FIRST, SECOND):
        (tmp_path / chapter.source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / chapter.source).write_text(f'"""{chapter}"""')
    (tmp_path / "common" / "figures").mkdir(parents=True)
    (tmp_path / "common" / "viz.py").write_text("x = 1")
    (tmp_path / "common" / "figures" / "figures.css").write_text("a {}")
    (tmp_path / "requirements.lock").write_text("torch==2.13.0")
    return tmp_path


def store(root, chapter, text="x"):
    result = root / "result"
    result.mkdir(exist_ok=True)
    for name in FILES:
        (result / name).write_text(f"{name} {text}")
    Cache(root).keep(chapter, result)
    shutil.rmtree(result)


def found(root):
    cache = Cache(root)
    return [cache.find(chapter) is not None for chapter in (FIRST, SECOND)]


def test_what_was_kept_is_found(root):
    assert found(root) == [False, False]
    store(root, FIRST)
    assert found(root) == [True, False]
    store(root, SECOND)
    assert found(root) == [True, True]
    assert (Cache(root).find(FIRST) / "page.md").read_text() == "page.md x"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (FIRST.source, [False, True]),
        ("common/viz.py", [False, False]),
        ("common/figures/figures.css", [False, False]),
        ("common/new.py", [False, False]),
        ("requirements.lock", [False, False]),
        ("mkdocs.yml", [True, True]),
        ("docs/en/index.md", [True, True]),
        ("common/.viz.py.swp", [True, True]),
        ("common/__pycache__/viz.cpython-311.pyc", [True, True]),
    ],
)
def test_a_changed_file_concerns_the_right_chapters(root, path, expected):
    for chapter in (FIRST, SECOND):
        store(root, chapter)
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    with (root / path).open("a") as file:
        file.write("# changed")
    assert found(root) == expected


@pytest.mark.parametrize("name", VERSIONS)
def test_a_changed_version_concerns_all(root, monkeypatch, name):
    for chapter in (FIRST, SECOND):
        store(root, chapter)
    monkeypatch.setattr(module, "versions", lambda: VERSIONS | {name: "9"})
    assert found(root) == [False, False]


def test_the_execution_code_and_the_fixed_environment_are_part_of_the_key(root, monkeypatch, tmp_path_factory):
    code = tmp_path_factory.mktemp("code") / "coursebuild"
    shutil.copytree(module.Path(module.__file__).parents[1], code, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module, "__file__", str(code / "execution" / "cache.py"))
    store(root, FIRST)
    assert found(root)[0] is True
    with monkeypatch.context() as patch:
        patch.setitem(module.FIXED, "OMP_NUM_THREADS", "2")
        assert found(root)[0] is False
    (code / "server.py").open("a").write("\n# changed\n")
    assert found(root)[0] is True
    for path in ("execution/page.py", "reflow.py"):
        store(root, FIRST)
        (code / path).open("a").write("\n# changed\n")
        assert found(root)[0] is False


def test_all_code_that_a_chapter_runs_through_is_part_of_the_key():
    code = "import sys, coursebuild.execution.worker\nprint(*(m for m in sys.modules if 'coursebuild' in m))"
    home = module.Path(module.__file__).parents[1]
    made = subprocess.run([sys.executable, "-c", code], cwd=home.parent, capture_output=True, text=True, check=True)
    files = {home.parent.joinpath(*name.split(".")).with_suffix(".py") for name in made.stdout.split()}
    assert home / "execution" / "page.py" in files
    packages = {home.with_suffix(".py"), home.joinpath("execution").with_suffix(".py")}
    assert files - packages <= {path for pattern in module.CODE for path in home.glob(pattern)}


def test_a_file_that_moved_within_common_concerns_all(root):
    store(root, FIRST)
    (root / "common" / "viz.py").rename(root / "common" / "figures" / "viz.py")
    assert found(root)[0] is False


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
@pytest.mark.parametrize("how", ["cut", "other", "gone"])
def test_an_entry_that_was_tampered_with_is_thrown_away(root, name, how):
    store(root, FIRST)
    folder = Cache(root).find(FIRST)
    file = folder / name
    if how == "gone":
        file.unlink()
    else:
        file.write_text(file.read_text()[:5] if how == "cut" else "other")
    assert Cache(root).find(FIRST) is None
    assert not folder.exists()


@pytest.mark.parametrize("path", [FIRST.source, "common/viz.py", "requirements.lock"])
@pytest.mark.parametrize("how", ["edited", "gone"])
def test_what_changes_while_a_chapter_runs_is_not_stored(root, path, how):
    """Not under the key of before, and not under that of after."""
    cache = Cache(root)
    assert cache.find(FIRST) is None and cache.changed([FIRST, SECOND]) == []
    kept = (root / path).read_text()
    (root / path).write_text("changed") if how == "edited" else (root / path).unlink()
    assert FIRST in cache.changed([FIRST, SECOND])
    (root / "result").mkdir()
    for name in FILES:
        (root / "result" / name).write_text("x")
    cache.keep(FIRST, root / "result")
    assert not list((root / ".cache").rglob("page.md"))
    (root / path).write_text(kept)
    assert found(root)[0] is False


def test_a_file_in_the_place_of_a_result_is_thrown_away(root):
    store(root, FIRST)
    folder = Cache(root).find(FIRST)
    shutil.rmtree(folder)
    folder.write_text("")
    assert found(root)[0] is False
    store(root, FIRST)
    assert found(root)[0] is True


def test_old_results_are_let_go(root):
    for number in range(KEPT + 2):
        (root / FIRST.source).write_text(f'"""{number}"""')
        store(root, FIRST, str(number))
    assert len(list((root / ".cache" / "results").glob("*/*"))) == KEPT
    assert found(root)[0] is True


def test_going_back_finds_the_earlier_result(root):
    store(root, FIRST, "old")
    before = (root / FIRST.source).read_text()
    (root / FIRST.source).write_text("new")
    store(root, FIRST, "new")
    (root / FIRST.source).write_text(before)
    assert (Cache(root).find(FIRST) / "page.md").read_text() == "page.md old"
