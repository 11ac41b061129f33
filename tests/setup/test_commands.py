"""The commands: each one line that calls Python, and those that the documents name exist."""

import re
import subprocess

from coursebuild.setup_env import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))


def test_every_target_is_one_line() -> None:
    assert {"serve", "test", "build", "golden", "restamp", "clean", "help"} <= TARGETS
    assert len(re.findall(r"^\t", MAKEFILE, re.MULTILINE)) == len(TARGETS)


def test_help_lists_every_target() -> None:
    done = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(re.findall(r"^make ([a-z]+) +\S", done.stdout, re.MULTILINE)) == TARGETS


def test_the_documents_name_commands_and_files_that_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        commands = set(re.findall(r"(?:^|`)make ([a-z]+)\b", text, re.MULTILINE))
        assert commands, name
        assert commands <= TARGETS, name
        for link in re.findall(r"\]\((?!\w+:|#)([^)#]+)", text):
            assert (ROOT / link).exists(), f"{name}: {link}"


def test_the_readme_begins_with_the_two_commands_and_a_picture() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40])
    assert "make serve" in first_screen
    assert "make test" in first_screen
    assert "](docs/readme-page.png)" in first_screen
