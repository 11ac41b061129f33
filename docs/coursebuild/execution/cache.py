"""Results of chapters that succeeded, kept under a hash of everything that can change them."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from coursebuild.execution.scheduler import FIXED
from coursebuild.project import Chapter

DISTRIBUTIONS = ("torch", "torchao", "numpy", "graphviz", "mkdocs-gallery", "nbformat")
FILES = ("page.md", "notebook.ipynb", "outputs.json", "ledger.json")
CODE = ("execution/*.py", "reflow.py")  # of coursebuild: all that a chapter's process imports of it
KEPT = 3  # results kept a chapter, newest first: going back to an earlier version of a script costs nothing


def versions() -> dict[str, str]:
    """What the chapters ran with."""
    found = {name: version(name) for name in DISTRIBUTIONS}
    dot = subprocess.run(["dot", "-V"], capture_output=True, text=True, check=True)
    found["Graphviz"] = (dot.stdout + dot.stderr).split("version ")[-1].split(" ")[0].strip()
    return {"Python": platform.python_version(), **found}


class Cache:
    """Results by chapter and key, below `home` (default: `.cache/results/`). A folder there is complete or absent: it
    is renamed into place, and its manifest is compared when it is read."""

    def __init__(self, root: Path, home: Path | None = None):
        self.root, self.home = root, home or root / ".cache" / "results"
        self._setting = [sys.version, platform.machine(), json.dumps(versions()), json.dumps(FIXED)]
        self._environment = self._now()
        self._keys: dict[Chapter, str] = {}

    def _now(self) -> str:
        """A hash of everything but the script, as the files are now."""
        parts = list(self._setting)
        for folder, patterns in ((self.root, ("common/**/*", "requirements.lock")), (Path(__file__).parents[1], CODE)):
            for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
                name = path.relative_to(folder)
                if path.is_file() and not any(p == "__pycache__" or p.startswith(".") for p in name.parts):
                    parts.append(f"{name.as_posix()} {_sha(path)}")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _key(self, chapter: Chapter, environment: str) -> str:
        path = self.root / chapter.source
        script = _sha(path) if path.exists() else "gone"
        return hashlib.sha256(f"{chapter} {script} {environment}".encode()).hexdigest()[:24]

    def key(self, chapter: Chapter) -> str:
        """Changes exactly when the script, `common/`, the execution code, the lock file, Python or a version does; it
        is that of the moment when it was first asked for, which must be before the chapter runs."""
        if chapter not in self._keys:
            self._keys[chapter] = self._key(chapter, self._environment)
        return self._keys[chapter]

    def changed(self, chapters: Iterable[Chapter]) -> list[Chapter]:
        """Those whose key would be another one by now."""
        environment = self._now()
        return [chapter for chapter in chapters if self._key(chapter, environment) != self.key(chapter)]

    def _folder(self, chapter: Chapter) -> Path:
        return self.home / f"{chapter.language}-{chapter.module}-{chapter.stem}"

    def find(self, chapter: Chapter) -> Path | None:
        """The folder of the chapter's result, or None. One that was cut short or changed by hand is thrown away."""
        folder = self._folder(chapter) / self.key(chapter)
        if not folder.is_dir():
            folder.unlink(missing_ok=True)
            return None
        try:
            manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            if manifest == {name: _sha(folder / name) for name in FILES}:
                os.utime(folder)
                return folder
        except (OSError, ValueError):
            pass
        shutil.rmtree(folder, ignore_errors=True)
        return None

    def keep(self, chapter: Chapter, result: Path) -> None:
        """Store the files in the folder `result`, unless something has changed since the key was made: the chapter may
        have seen either."""
        if self.changed([chapter]):
            return
        home = self._folder(chapter)
        home.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=home))
        for name in FILES:
            shutil.copyfile(result / name, new / name)
        manifest = {name: _sha(new / name) for name in FILES}
        (new / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        new.chmod(0o755)
        target = home / self.key(chapter)
        try:
            new.rename(target)
        except OSError:  # another build stored the same result meanwhile
            shutil.rmtree(new, ignore_errors=True)
        old = sorted((p for p in home.iterdir() if not p.name.startswith(".")), key=lambda p: -p.stat().st_mtime)
        for folder in old[KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
