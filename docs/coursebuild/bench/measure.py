"""Run commands as whole processes: how long they take, and how much memory the main one holds at its peak."""

import re
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

POLL = 0.05  # seconds between two looks at a process' own account of its peak


@dataclass(frozen=True)
class Run:
    """`seconds`: of the wall clock, over all commands; `megabytes`: the largest peak (resident) of a main process,
    without its children, None where the system doesn't say; `output`: what the commands printed."""

    seconds: float
    megabytes: float | None
    output: str


class CommandFailed(Exception):
    """A command ended with an error; the message has its last lines."""


def run(commands: Sequence[Sequence[str]], folder: Path, environment: dict[str, str]) -> Run:
    """Run `commands` one after the other in `folder`. Raises CommandFailed."""
    start, peaks, printed = time.monotonic(), [], []
    for command in commands:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        watcher = threading.Thread(target=_watch, args=(process, peaks), daemon=True)
        watcher.start()
        output, _ = process.communicate()
        watcher.join()
        printed.append(output)
        if process.returncode:
            tail = "\n".join(output.strip().split("\n")[-15:])
            raise CommandFailed(f"{' '.join(command)} ended with exit code {process.returncode}:\n{tail}")
    return Run(time.monotonic() - start, max(peaks, default=None), "\n".join(printed))


def _watch(process: subprocess.Popen, peaks: list[float]) -> None:
    """Append the peak of the process' resident memory; the kernel keeps it, so the last look has it all but exactly."""
    status, peak = Path(f"/proc/{process.pid}/status"), None
    while process.poll() is None:
        try:
            found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        except OSError:
            break
        peak = int(found[1]) / 1024 if found else peak
        time.sleep(POLL)
    if peak is not None:
        peaks.append(peak)
