"""The version of the wheel of `common`: 1.0.0+<hash of what is in the wheel>, so that other content is another version.

Hatchling loads this file by its path when it builds the wheel (pyproject.toml, [tool.hatch.version]).
"""

import hashlib
import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RELEASE = "1.0.0"


def wheel_files(root: Path = ROOT) -> list[Path]:
    """Return the files of `common/` that go into the wheel, relative to the project: no hidden ones, no byte code."""
    found = [path.relative_to(root) for path in (root / "common").rglob("*") if path.is_file()]
    kept = [path for path in found if not any(part.startswith((".", "__pycache__")) for part in path.parts)]
    return sorted(kept, key=Path.as_posix)


def wheel_version(root: Path = ROOT) -> str:
    """Return the version: a hash over the names and bytes of the files, the licence, and the wheel's own metadata."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    metadata = json.dumps([project["build-system"], project["project"]], sort_keys=True)
    digest = hashlib.sha256(metadata.encode())
    for path in [*wheel_files(root), Path("LICENSE")]:
        content = (root / path).read_bytes()
        digest.update(f"\n{path.as_posix()} {len(content)}\n".encode() + content)
    return f"{RELEASE}+{digest.hexdigest()[:12]}"


__version__ = wheel_version()
