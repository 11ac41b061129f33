"""How long a chapter's own code takes in a warm process: `python -m coursebuild.bench.body SCRIPT` prints seconds."""

import os
import sys
import tempfile
import time
from pathlib import Path

from coursebuild.execution import preload, worker  # noqa: F401  (preload: what the build's fork server has loaded)
from coursebuild.execution.recorder import Recorder


class Timed(Recorder):
    """Adds up what the chapter's own code takes; what surrounds it (parsing, figures' markup, files) is not counted."""

    seconds = 0.0

    def call(self, function):
        start = time.monotonic()
        try:
            return super().call(function)
        finally:
            self.seconds += time.monotonic() - start


def main(script: str) -> None:
    recorder = Timed()
    root = Path.cwd()
    with tempfile.TemporaryDirectory(dir=root) as folder:
        worker.execute(root, Path(script), Path(folder), recorder)
    print(recorder.seconds)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main(sys.argv[1])
