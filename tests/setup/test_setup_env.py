"""The set-up: what it decides, what it repairs, and what it says. Nothing is downloaded here."""

import ast
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from coursebuild import setup_env
from coursebuild.setup_env import ROOT, SITE, SetupError, Step, Tool

SOURCE = (ROOT / "docs" / "coursebuild" / "setup_env.py").read_text(encoding="utf-8")


def program(path: Path, *lines: str) -> Path:
    """Write an executable shell script."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


# ---------------------------------------------------------------------------------------------------- runs anywhere

def test_an_old_python_can_read_it() -> None:
    ast.parse(SOURCE, feature_version=(3, 8))


def test_it_imports_the_standard_library_alone() -> None:
    imports = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name.split(".")[0] for node in imports
             for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])}
    assert names <= sys.stdlib_module_names


# ---------------------------------------------------------------------------------------------------- Python

def test_the_python_that_was_named_is_taken() -> None:
    assert setup_env.find_python({"PYTHON": sys.executable}) == sys.executable


@pytest.mark.parametrize("version", ["3 14 0", "3 10 12", "2 7 18"])
def test_a_python_that_is_not_supported_is_named(tmp_path: Path, version: str) -> None:
    python = program(tmp_path / "python", f"echo {version}")
    with pytest.raises(SetupError) as error:
        setup_env.find_python({"PYTHON": str(python)})
    assert f"needs Python 3.11, 3.12 or 3.13 ({python} is {version.replace(' ', '.')})" in str(error.value)


def test_a_python_that_is_not_there_is_named() -> None:
    with pytest.raises(SetupError, match=r"\(/nowhere/python does not run\)"):
        setup_env.find_python({"PYTHON": "/nowhere/python"})


def test_a_shim_without_a_python_behind_it_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "python3.13", "echo 'no such version is installed' >&2", "exit 127")
    program(tmp_path / "python3.12", "echo 3 12 4")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "_base_executable", program(tmp_path / "python3", "echo 3 14 0"))
    assert setup_env.find_python({}) == "python3.12"


# ---------------------------------------------------------------------------------------------------- lock files

def test_torch_is_the_cpu_build_on_each_system() -> None:
    assert setup_env.torch_requirement("linux") == f"torch=={setup_env.TORCH}+cpu"
    assert setup_env.torch_requirement("darwin") == f"torch=={setup_env.TORCH}"


LOCK = """\
numpy==2.4.6 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via -r requirements.in
pip==26.3 ; python_version < '4' \\
    --hash=sha256:cc
pip-tools==1.0 \\
    --hash=sha256:dd
"""


def test_lock_entries_come_with_their_hashes() -> None:
    assert setup_env.lock_entries(LOCK, ["pip"]) == "pip==26.3 ; python_version < '4' \\\n    --hash=sha256:cc\n"
    assert "--hash=sha256:bb" in setup_env.lock_entries(LOCK, ["pip", "numpy"])


def test_a_package_that_is_not_locked_is_named() -> None:
    with pytest.raises(SetupError, match="not in the lock file: setuptools; run `make lock`"):
        setup_env.lock_entries(LOCK, ["pip", "setuptools"])


# ---------------------------------------------------------------------------------------------------- progress

@pytest.mark.parametrize(("line", "detail"), [
    ("Collecting mkdocs==1.6.1 (from -r requirements.lock (line 924))", "mkdocs,"),
    ("Progress 12000000 of 191794682", "12 of 192 MB,"),
    ("Installing collected packages: jieba, zizmor, tzdata", "unpacking 3 packages,"),
    ("  Downloading mkdocs-1.6.1-py3-none-any.whl (3.9 MB)", ""),
])
def test_pips_lines_become_progress(line: str, detail: str) -> None:
    assert setup_env.pip_progress(line) == detail


def test_a_failing_command_is_told_in_its_own_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failing = program(tmp_path / "pip", "echo Collecting x", "echo 'ERROR: No matching distribution' >&2", "exit 1")
    log = tmp_path / "log"
    with pytest.raises(SetupError) as error, Step("packages") as step:
        setup_env.run([failing], step, log)
    assert str(error.value).startswith("packages: ERROR: No matching distribution (if it was the network, run the same")
    assert str(log) in str(error.value)
    assert "Collecting x" in log.read_text()
    assert capsys.readouterr().out.splitlines() == ["setup: packages ...", "setup: packages: failed, 0 s"]


def test_an_interrupted_command_is_ended(tmp_path: Path) -> None:
    def interrupt(line: str) -> str:
        raise KeyboardInterrupt

    slow = program(tmp_path / "pip", "echo $$", "exec sleep 60")
    log = tmp_path / "log"
    with pytest.raises(KeyboardInterrupt), Step("packages") as step:
        setup_env.run([slow], step, log, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text().split()[-1]), 0)


# ---------------------------------------------------------------------------------------------------- environments

class Installation:
    """A checkout in a folder of the test's, where `run` installs nothing and fails at a chosen word.

    `commands` holds what was run; `venv` makes a folder with a python in it, all else changes nothing.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.commands, self.fails_at = root, [], ""
        (root / "requirements.lock").write_text(LOCK.replace("numpy", "setuptools"))

    def run(self, command: list, step: Step, log: Path, describe: object = None) -> str:
        line = " ".join(map(str, command))
        self.commands.append(line)
        if self.fails_at and self.fails_at in line:
            raise SetupError("no network")
        if " venv " in line:
            assert "--clear" in line
            python = Path(command[-1], "bin", "python")
            python.parent.mkdir(parents=True)
            python.symlink_to(sys.executable)
        return "CUDA None"

    def complete(self, environ: dict[str, str] | None = None) -> bool:
        return setup_env.is_complete(SITE, self.root, environ or {})


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    made = Installation(tmp_path)
    monkeypatch.setattr(setup_env, "run", made.run)
    monkeypatch.delenv("PYTHON", raising=False)
    return made


def remove(path: Path) -> None:
    """Do what `venv --clear` does to an environment of `Installation`."""
    for file in path.glob("bin/*"):
        file.unlink()
    (path / "bin").rmdir()


def test_an_environment_is_complete_after_one_set_up(checkout: Installation) -> None:
    assert not checkout.complete()
    setup_env.make_environment(SITE, checkout.root)
    assert checkout.complete()
    venv, tools, packages, torch, check = checkout.commands
    assert "-m venv --clear" in venv
    assert "--require-hashes" in tools
    assert (checkout.root / ".venv" / "setup-tools.txt").read_text().count("--hash") == 3
    assert "--require-hashes" in packages
    assert packages.endswith("requirements.lock")
    assert torch.endswith(f"--no-deps {setup_env.torch_requirement()}")
    assert "import torch" in check


@pytest.mark.parametrize("word", ["venv", "setup-tools.txt", "requirements.lock", "torch==", "import torch"])
def test_an_interrupted_set_up_is_not_complete_and_is_repaired(checkout: Installation, word: str) -> None:
    checkout.fails_at = word
    with pytest.raises(SetupError):
        setup_env.make_environment(SITE, checkout.root)
    assert not checkout.complete()
    checkout.fails_at = ""
    if word != "venv":
        remove(checkout.root / ".venv")
    setup_env.make_environment(SITE, checkout.root)
    assert checkout.complete()


def test_an_upgrade_that_fails_leaves_no_stamp_of_the_old_environment(checkout: Installation) -> None:
    setup_env.make_environment(SITE, checkout.root)
    remove(checkout.root / ".venv")
    checkout.fails_at = "requirements.lock"
    with pytest.raises(SetupError):
        setup_env.make_environment(SITE, checkout.root)
    assert not SITE.stamp(checkout.root).exists()


def test_another_lock_file_asks_for_another_environment(checkout: Installation) -> None:
    setup_env.make_environment(SITE, checkout.root)
    lock = checkout.root / "requirements.lock"
    lock.write_text(lock.read_text().replace("26.3", "26.4"))
    assert not checkout.complete()


def test_another_torch_asks_for_another_environment(checkout: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    setup_env.make_environment(SITE, checkout.root)
    monkeypatch.setattr(setup_env, "TORCH", "9.9.9")
    assert not checkout.complete()


def test_an_environment_whose_python_is_gone_is_not_complete(checkout: Installation) -> None:
    setup_env.make_environment(SITE, checkout.root)
    python = SITE.python(checkout.root)
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert not checkout.complete()


def test_naming_another_python_asks_for_another_environment(checkout: Installation, tmp_path: Path) -> None:
    setup_env.make_environment(SITE, checkout.root)
    assert checkout.complete({"PYTHON": sys.executable})
    assert not checkout.complete({"PYTHON": str(program(tmp_path / "other", "echo 3 13 9"))})


def test_a_link_to_an_environment_elsewhere_is_replaced_and_what_it_points_to_is_left(checkout: Installation) -> None:
    elsewhere = checkout.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("")
    (checkout.root / ".venv").symlink_to(elsewhere)
    setup_env.make_environment(SITE, checkout.root)
    assert (elsewhere / "precious").exists()
    assert not (checkout.root / ".venv").is_symlink()


def test_torch_comes_from_pytorchs_index_where_the_others_lack_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands = []

    def run(command: list, *_: object) -> str:
        commands.append(command)
        if "--index-url" not in command:
            raise SetupError("No matching distribution")
        return ""

    monkeypatch.setattr(setup_env, "run", run)
    with Step("torch") as step:
        setup_env.install_torch(["pip", "install"], step, tmp_path / "log")
    assert [command[-2:] for command in commands] == [
        ["--no-deps", setup_env.torch_requirement()], ["--index-url", setup_env.TORCH_CPU_INDEX]]


def test_where_torch_is_nowhere_it_says_where_it_looked(checkout: Installation) -> None:
    checkout.fails_at = "torch=="
    with pytest.raises(SetupError, match=f"neither in the indexes .* nor.* in {setup_env.TORCH_CPU_INDEX}: check the"):
        setup_env.make_environment(SITE, checkout.root)


def compare_with(*instead: str) -> setup_env.Environment:
    return setup_env.Environment(".venv-compare", "requirements.lock", instead)


def test_an_environment_with_other_versions_stands_beside_the_course_s_own(checkout: Installation) -> None:
    setup_env.make_environment(SITE, checkout.root)
    checkout.commands.clear()
    other = compare_with("torchao==0.19.0", "torch==9.8.7")
    setup_env.make_environment(other, checkout.root)
    assert checkout.complete()
    assert setup_env.is_complete(other, checkout.root, {})
    packages, torch, _, torchao, needs, check = checkout.commands[2:]
    assert packages.endswith("requirements.lock")
    assert torch.endswith(f"--no-deps {setup_env.torch_requirement(wanted='torch==9.8.7')}")
    assert torchao.endswith("--upgrade --upgrade-strategy only-if-needed torchao==0.19.0")
    assert needs.endswith(" torch") and "--upgrade" not in needs
    assert "import torch" in check
    assert not setup_env.is_complete(compare_with("torchao==0.18.0"), checkout.root, {})


def test_the_newest_version_is_looked_for_each_time(checkout: Installation) -> None:
    other = compare_with("torchao")
    setup_env.make_environment(other, checkout.root)
    assert not setup_env.is_complete(other, checkout.root, {})


@pytest.mark.skipif(sys.platform == "darwin", reason="there, every build is a CPU build")
def test_the_newest_torch_comes_from_the_index_of_cpu_builds_alone(checkout: Installation) -> None:
    setup_env.make_environment(compare_with("torch"), checkout.root)
    (command,) = [line for line in checkout.commands if "--no-deps" in line]
    assert command.endswith(f"--no-deps torch --index-url {setup_env.TORCH_CPU_INDEX}")


def test_a_cuda_build_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_env, "run", lambda *_: "CUDA 13.0")
    with Step("torch") as step, pytest.raises(SetupError, match=r"CUDA build.*PIP_EXTRA_INDEX_URL="):
        setup_env.check_torch(Path("python"), step, tmp_path / "log")


# ---------------------------------------------------------------------------------------------------- tools

def tool(present: bool, apt: tuple = ("graphviz",), brew: tuple = ("graphviz",)) -> Tool:
    return Tool("Graphviz", lambda: present, apt, brew, "get it from graphviz.org")


def test_what_is_there_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_env, "install_packages", lambda *_: pytest.fail("installed all the same"))
    setup_env.ensure_tool(tool(present=True))


def test_without_a_package_manager_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"^Graphviz is missing: get it from graphviz\.org$"):
        setup_env.ensure_tool(tool(present=False))


def test_without_root_it_says_which_command_needs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path / "apt-get", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError, match="needs root or sudo: apt-get install graphviz"):
        setup_env.ensure_tool(tool(present=False))


@pytest.mark.parametrize(("manager", "right"), [
    ("apt-get", [["apt-get", "update"], ["apt-get", "install"]]), ("brew", [["brew", "install"]])])
def test_each_system_has_its_package_manager(
    manager: str, right: list, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    program(tmp_path / manager, "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    commands = []
    monkeypatch.setattr(setup_env, "run", lambda command, *_: commands.append(command))
    with pytest.raises(SetupError, match="still missing after its installation: get it from"):
        setup_env.ensure_tool(tool(present=False))
    assert [command[:2] for command in commands] == right
    assert commands[-1][-1] == "graphviz"


def test_where_homebrew_lacks_it_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path / "brew", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="is missing: get it from"):
        setup_env.ensure_tool(tool(present=False, brew=()))


def test_the_browser_is_the_named_one_or_one_that_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path / "google-chrome")
    other = program(tmp_path / "other")
    assert setup_env.find_browser({}) == str(tmp_path / "google-chrome")
    assert setup_env.find_browser({"CHROMIUM": str(other)}) == str(other)
    assert setup_env.find_browser({"CHROMIUM": "/nowhere/chromium"}) is None


def test_debian_keeps_venv_in_a_package_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = program(tmp_path / "python", 'case "$*" in *ensurepip*) exit 1;; esac', "echo 3 12 4")
    asked = []
    monkeypatch.setattr(setup_env, "install_packages", lambda name, apt, *_: asked.append(apt))
    setup_env.ensure_venv_module(str(python))
    setup_env.ensure_venv_module(sys.executable)
    assert asked == [("python3.12-venv",)]


# ---------------------------------------------------------------------------------------------------- npm

def test_npm_packages_are_right_until_their_lock_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests" / "node_modules").mkdir(parents=True)
    lock = tmp_path / "tests" / "package-lock.json"
    lock.write_text("{}")
    commands = []
    monkeypatch.setattr(setup_env, "run", lambda command, *_: commands.append(command))
    assert not setup_env.npm_complete(tmp_path)
    setup_env.install_npm(tmp_path)
    assert setup_env.npm_complete(tmp_path)
    assert {"ci", "--ignore-scripts"} <= set(commands[0])
    lock.write_text('{"packages": {}}')
    assert not setup_env.npm_complete(tmp_path)


# ---------------------------------------------------------------------------------------------------- command line

def test_an_unknown_command_is_answered_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert setup_env.main(["sites"]) == 2
    assert capsys.readouterr().err == "usage: setup_env.py {site,test,downloads,bench,compare}\n"


def test_what_is_wrong_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(command: str, instead: tuple) -> bool:
        raise SetupError("no Python")

    monkeypatch.setattr(setup_env, "is_ready", fail)
    assert setup_env.main(["site"]) == 1
    assert capsys.readouterr().err == "setup: no Python\n"


def test_an_interruption_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(command: str, instead: tuple) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(setup_env, "is_ready", interrupt)
    assert setup_env.main(["site"]) == 130
    assert capsys.readouterr().err == "\nsetup: interrupted; the same command takes it up again\n"


@pytest.mark.parametrize("words", [[], ["torch>=2.14"], ["torch==2.14.0", "--pre"], ["torch 2.14"]])
def test_what_cannot_be_tried_is_answered_with_an_example(words: list, capsys: pytest.CaptureFixture[str]) -> None:
    assert setup_env.main(["compare", *words]) == 2
    assert "make compare WITH='torch==2.14.0 torchao==0.19.0'" in capsys.readouterr().err


def test_only_compare_takes_other_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert setup_env.main(["site", "torch==2.14.0"]) == 2
    assert capsys.readouterr().err.startswith("usage:")


@pytest.mark.skipif(Path(sys.prefix) != ROOT / ".venv", reason="not the environment that the set-up made")
@pytest.mark.parametrize("command", ["site", "test", "downloads"])
def test_the_second_time_it_is_quick_silent_and_needs_no_network(command: str) -> None:
    environment = {**os.environ, "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["python3", "-I", setup_env.__file__, command], env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    # Seconds of the processor: those of a clock would depend on what else the machine does.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.3
