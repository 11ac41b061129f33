"""Copies of the checkout to build in, and the edits that the cases make."""

import contextlib
import io
import re
import shutil
import subprocess
from pathlib import Path

import yaml

from coursebuild import stamps
from coursebuild.project import LABS, LANGUAGES

COPIES = 4  # in the large tree, each chapter stands this often


def copy(root: Path, target: Path) -> Path:
    """The checkout as it is now, without what git ignores, in the new folder `target`, which is no repository."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, names.stdout.split("\0")):
        if (root / name).is_file() and not name.startswith(("tests/", ".github/")):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)
    return target


def edit_chapter(tree: Path, stem: str, number: int) -> None:
    """Change the code of a chapter in both languages, without changing what it shows."""
    for path in tree.glob(f"examples/*/*/{stem}.py"):
        _append(path, r"^(?:import|from) .*\n", number)


def edit_common(tree: Path, number: int) -> None:
    """Change a module that every chapter imports, without changing what it does."""
    _append(tree / "common" / "graph_utils.py", r"^from __future__ .*\n", number)


def _append(path: Path, line: str, number: int) -> None:
    """Put a statement after the first line that matches (not a comment: that would be a text to translate)."""
    text = re.sub(r"^_ = 9\d\d\n", "", path.read_text(encoding="utf-8"), flags=re.M)
    path.write_text(re.sub(line, rf"\g<0>_ = {900 + number}\n", text, count=1, flags=re.M), encoding="utf-8")


def multiply(tree: Path) -> None:
    """Add copies of all chapters under other names: m00 again as m20, m40 and m60, with its overview, and so on."""
    path = tree / "docs" / "course.yml"
    course = yaml.safe_load(path.read_text(encoding="utf-8"))
    modules, appendix = list(course["modules"]), list(course["appendix"])
    for copied in range(1, COPIES):
        for module in modules:
            course["modules"].append(_renamed(module, copied))
        for entry in appendix:
            if (tree / "examples" / LANGUAGES[0] / "appendix" / f"{entry['stem']}.py").exists():
                course["appendix"].append(entry | {"stem": f"{entry['stem']}_{copied}"})
        for language in LANGUAGES:
            for module in modules:
                _copy_module(tree / "examples" / language, module["id"], copied)
            for script in (tree / "examples" / language / "appendix").glob("*.py"):
                if not re.search(r"_\d$", script.stem):
                    shutil.copy(script, script.with_name(f"{script.stem}_{copied}.py"))
    path.write_text(yaml.safe_dump(course, allow_unicode=True, sort_keys=False), encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()):
        stamps.restamp(tree)


def _other(module: str, copied: int) -> str:
    return f"m{int(module[1:]) + 20 * copied:02}"


def _renamed(module: dict, copied: int) -> dict:
    """A module of course.yml with its chapters, without its lab, which isn't executed."""
    new = _other(module["id"], copied)
    chapters = [
        chapter | {"stem": new + chapter["stem"][3:], "label": new.upper() + chapter["label"][3:]}
        for chapter in module["chapters"]
    ]
    return {key: value for key, value in module.items() if key != LABS[:-1]} | {"id": new, "chapters": chapters}


def _copy_module(examples: Path, module: str, copied: int) -> None:
    new = _other(module, copied)
    if not (examples / module).is_dir():
        return
    for path in (examples / module).iterdir():
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            text = re.sub(rf"^# {module.upper()}\b", f"# {new.upper()}", text, count=1, flags=re.M)  # its title
            target = examples / new / path.name.replace(module, new)
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
