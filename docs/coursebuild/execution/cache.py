"""Results of chapters that succeeded, kept under a hash of everything that can change them."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
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
        parts = [sys.version, platform.machine(), json.dumps(versions()), json.dumps(FIXED)]
        for folder, patterns in ((root, ("common/**/*", "requirements.lock")), (Path(__file__).parents[1], CODE)):
            for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
                if path.is_file() and "__pycache__" not in path.parts:
                    parts.append(f"{path.relative_to(folder).as_posix()} {_sha(path)}")
        self.environment = hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def key(self, chapter: Chapter) -> str:
        """Changes exactly when the script, `common/`, the execution code, the lock file, Python or a version does."""
        script = _sha(self.root / chapter.source)
        return hashlib.sha256(f"{chapter} {script} {self.environment}".encode()).hexdigest()[:24]

    def _folder(self, chapter: Chapter) -> Path:
        return self.home / f"{chapter.language}-{chapter.module}-{chapter.stem}"

    def find(self, chapter: Chapter) -> Path | None:
        """The folder of the chapter's result, or None. One that was cut short or changed by hand is thrown away."""
        folder = self._folder(chapter) / self.key(chapter)
        if not folder.is_dir():
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
        """Store the files in the folder `result`."""
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
