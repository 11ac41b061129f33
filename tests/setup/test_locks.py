"""The lock files: exact, complete, the same in both environments, and free of addresses."""

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from coursebuild import setup_env
from coursebuild.setup_env import DOWNLOADS, ROOT, SITE

BENCH = "requirements-bench.lock"


def direct(name: str) -> dict[str, str]:
    """Return the requirements that a person wrote into an .in file: package -> specifier."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(item.name): str(item.specifier) for item in wanted}


def locked(name: str) -> set[tuple[str, str]]:
    """Return the (package, "==version") pairs of a lock file, markers left off."""
    return set(re.findall(r"^([a-z0-9-]+)(==[^ ]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))


def test_direct_requirements_are_exact_and_locked_as_they_are() -> None:
    assert set(direct("requirements.in").items()) <= locked(SITE.lock)


def test_the_downloads_get_the_versions_of_the_site() -> None:
    assert locked(DOWNLOADS.lock) <= locked(SITE.lock)
    assert set(direct("requirements-downloads.in")) <= {name for name, _ in locked(DOWNLOADS.lock)}


def test_the_build_and_what_it_is_compared_with_have_the_versions_of_the_site() -> None:
    assert locked(SITE.lock) <= locked(BENCH)
    own = {line for line in (ROOT / "requirements-bench.in").read_text().splitlines() if "==" in line}
    assert len(own) == 3
    assert {(name, f"=={number}") for name, number in (line.split("==") for line in own)} <= locked(BENCH)


@pytest.mark.parametrize("name", [SITE.lock, DOWNLOADS.lock, BENCH])
def test_every_locked_package_has_a_hash(name: str) -> None:
    entries = re.split(r"\n(?=[a-z0-9])", (ROOT / name).read_text(encoding="utf-8"))
    assert len(entries) > 30
    assert [entry.split("\n")[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("name", [SITE.lock, DOWNLOADS.lock, BENCH, "tests/package-lock.json"])
def test_lock_files_name_no_registry(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"index-url|find-links|\"resolved\"|\.tgz|\.whl", text)


@pytest.mark.parametrize("name", ["requirements.in", "requirements-downloads.in"])
def test_what_torch_requires_is_listed(name: str) -> None:
    needs = {canonicalize_name(item.name) for item in map(Requirement, metadata.requires("torch"))
             if item.marker is None or item.marker.evaluate({"extra": ""})}
    assert needs <= set(direct(name))


def test_torch_is_pinned_in_one_place_only() -> None:
    assert not any(name == "torch" for name, _ in locked(SITE.lock) | locked(DOWNLOADS.lock) | locked(BENCH))
    assert metadata.version("torch").split("+")[0] == setup_env.TORCH


@pytest.mark.parametrize("environment", [SITE, DOWNLOADS], ids=lambda environment: environment.folder)
def test_the_installed_packages_fit_each_other(environment: setup_env.Environment) -> None:
    if Path(sys.prefix) != ROOT / SITE.folder:
        pytest.skip("not the environment that the set-up made")
    done = subprocess.run([environment.python(ROOT), "-I", "-m", "pip", "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
