"""The wheel of `common` that the site serves."""

import os
import re
import subprocess
import sys
from pathlib import Path

from coursebuild.problems import BuildError, Problem


def build(root: Path, epoch: int) -> Path:
    """Build the wheel into `.cache/wheels/` and return it. Its version holds a hash of its content, so that one that
    exists is the same."""
    folder = root / ".cache" / "wheels"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    made = subprocess.run(
        command, cwd=root, capture_output=True, text=True, env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}
    )
    if made.returncode:
        raise BuildError(
            [
                Problem(
                    "pyproject.toml",
                    1,
                    "the wheel of common can't be built",
                    (made.stdout + made.stderr).strip()[-2000:],
                )
            ]
        )
    name = re.search(r"(\S+\.whl)\s*$", made.stdout + made.stderr)
    wheel = folder / Path(name[1]).name
    return wheel
