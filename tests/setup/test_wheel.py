"""The wheel: `common` alone, the same bytes each time, another version for other content."""

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path

import pytest

from coursebuild import wheel
from coursebuild.setup_env import ROOT
from coursebuild.wheel_version import wheel_files, wheel_version

NEEDED = ("pyproject.toml", "LICENSE", ".gitignore", "docs/coursebuild/wheel_version.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of what a wheel is built from, with things in it that do not belong into one."""
    copy = tmp_path / "project"
    shutil.copytree(ROOT / "common", copy / "common", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in NEEDED:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    for name in ("common/__pycache__/viz.cpython-311.pyc", "common/.DS_Store", "common/figures/.cache/x.py"):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text("")
    return copy


def build(project: Path) -> Path:
    """Build the wheel as the site does and return it."""
    shutil.rmtree(project / ".cache", ignore_errors=True)
    made = wheel.build(project)
    assert list(made.parent.iterdir()) == [made]
    return made


def test_it_holds_common_alone_and_is_named_after_its_version(project: Path) -> None:
    made = build(project)
    version = wheel_version(project)
    assert version == wheel_version(ROOT)
    assert made.name == f"pt2e_graph_by_graph-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        [metadata] = [archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA")]
    assert names == {path.as_posix() for path in wheel_files(project)}
    assert "common/figures/figures.css" in names
    fields = Parser().parsestr(metadata)
    assert fields["Name"] == "pt2e-graph-by-graph"
    assert {line.split(">")[0] for line in fields.get_all("Requires-Dist")} == {"torch", "torchao", "numpy", "graphviz"}


def test_two_builds_are_the_same_bytes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with files of another age, and for another commit."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first = hashlib.sha256(build(project).read_bytes()).hexdigest()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    for path in project.rglob("*"):
        os.utime(path, (1, 1))
    assert hashlib.sha256(build(project).read_bytes()).hexdigest() == first


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def edit_source(project: Path) -> None:
    append(project / "common" / "models.py", "\n")


def edit_licence(project: Path) -> None:
    append(project / "LICENSE", "\n")


def add_file(project: Path) -> None:
    (project / "common" / "new.py").write_text("")


def rename_file(project: Path) -> None:
    (project / "common" / "models.py").rename(project / "common" / "model.py")


def edit_dependency(project: Path) -> None:
    pyproject = project / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("torch>=2", "torch>=3"))


@pytest.mark.parametrize("edit", [edit_source, edit_licence, add_file, rename_file, edit_dependency])
def test_other_content_is_another_version(project: Path, edit: Callable[[Path], None]) -> None:
    before = wheel_version(project)
    edit(project)
    assert wheel_version(project) != before


def test_what_is_not_in_the_wheel_does_not_change_its_version(project: Path) -> None:
    before = wheel_version(project)
    shutil.rmtree(project / "common" / "__pycache__")
    append(project / "pyproject.toml", "\n[tool.other]\n")
    assert wheel_version(project) == before
