"""The wheel of `common` that the site serves."""

import os
import re
import subprocess
import sys
from pathlib import Path

from coursebuild.problems import BuildError, Problem

EPOCH = "315532800"  # 1980, the earliest time in a zip file: the same version is the same bytes, whatever the commit


def build(root: Path) -> Path:
    """Build the wheel into `.cache/wheels/` and return it. Its version holds a hash of its content."""
    folder = root / ".cache" / "wheels"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": EPOCH}
    made = subprocess.run(command, cwd=root, capture_output=True, text=True, env=environment)
    printed = (made.stdout + made.stderr).strip()
    if made.returncode:
        raise BuildError([Problem("pyproject.toml", 1, "the wheel of common can't be built", printed[-2000:])])
    return folder / Path(re.search(r"(\S+\.whl)$", printed)[1]).name
