"""A two-chapter site that the tests build, break in every way, and repair."""

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

REAL = Path(__file__).resolve().parents[2]
PARTS = (
    "common",
    "docs/coursebuild",
    "docs/theme",
    "docs/search-words.txt",
    "mkdocs.yml",
    "mkdocs.en.yml",
    "pyproject.toml",
    "requirements.lock",
    "README.md",
    "LICENSE",
)
SUMMARY = "chapters: {}, run: {}, cached: {}, failed: {}"


@dataclass
class Result:
    """How a build ended. `last`: the last line of its standard output."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return self.out.strip().split("\n")[-1]


@dataclass
class Minisite:
    """A copy of the minisite with this project's own build code, in a folder of its own."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, root: Path) -> "Minisite":
        for part in PARTS:
            source, target = REAL / part, root / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(source, target)
        for part in ("examples", "docs"):
            shutil.copytree(Path(__file__).parent / part, root / part, dirs_exist_ok=True)
        site = cls(root)
        assert site.run("restamp").code == 0
        return site

    def command(self, *arguments: str, flags: tuple[str, ...] = ()) -> list[str]:
        return [sys.executable, *flags, "-m", "coursebuild", *arguments]

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k not in ("SITE_URL", "REPO_URL", "PYTHONOPTIMIZE")}
        return kept | {"PYTHONPATH": f"{self.root / 'docs'}{os.pathsep}{self.root}"} | self.env

    def run(self, *arguments: str, flags: tuple[str, ...] = (), **env: str) -> Result:
        made = subprocess.run(
            self.command(*arguments, flags=flags),
            cwd=self.root,
            capture_output=True,
            text=True,
            env=self.environment() | env,
            timeout=300,
        )
        return Result(made.returncode, made.stdout, made.stderr)

    def build(self, *arguments: str, **env: str) -> Result:
        return self.run("build", *arguments, **env)

    def chapter(self, language: str, stem: str) -> Path:
        return self.root / "examples" / language / "m00" / f"{stem}.py"

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace exactly one occurrence in a file."""
        file = self.root / path
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        file.write_text(text.replace(old, new), encoding="utf-8")

    def edit_pair(self, stem: str, old: str, new: str) -> None:
        """The same edit in both languages, restamped."""
        for language in ("zh-TW", "en"):
            self.edit(f"examples/{language}/m00/{stem}.py", old, new)
        assert self.run("restamp").code == 0

    def line(self, language: str, stem: str, text: str) -> int:
        """The number of the line that holds `text`."""
        lines = self.chapter(language, stem).read_text(encoding="utf-8").split("\n")
        return next(i for i, line in enumerate(lines, 1) if text in line)

    def page(self, path: str) -> str:
        return (self.root / "site" / path / "index.html").read_text(encoding="utf-8")

    def state(self) -> dict[str, str]:
        """Every file of the site with a hash of its content."""
        site = self.root / "site"
        return {
            p.relative_to(site).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(site.rglob("*"))
            if p.is_file()
        }
