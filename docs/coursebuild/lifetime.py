"""No process outlives its build, not even one that was killed and could tell nobody."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # prctl(2)


def end_with_parent(parent: int | None = None) -> None:
    """From now on the system kills this process when its parent has ended (`parent`: its process id, where known; if it
    has ended before, this process ends here). Elsewhere than on Linux the system can't, and this does nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if parent not in (None, os.getppid()):
            os._exit(1)
