"""Run chapters side by side, each in a fresh process that starts warm, and report every one that fails."""

import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection, forkserver
from pathlib import Path

from coursebuild.lifetime import end_with_parent
from coursebuild.problems import Problem
from coursebuild.project import Chapter

SECONDS = 300  # a chapter that runs longer hangs
MEMORY = 6 << 30  # bytes of address space that a chapter may add; two runaways side by side must not take the machine
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "VIRTUAL_ENV")
# every chapter runs with exactly these settings, whoever runs the build: what isn't here can't change a result
FIXED = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "COLUMNS": "120",
    "MPLBACKEND": "agg",
}
Report = Callable[[Chapter, float, list[Problem]], None]


def warm_up(root: Path) -> None:
    """Start the fork server now: importing torch takes seconds in which the caller can do something else."""
    multiprocessing.set_forkserver_preload(["coursebuild.execution.preload"])
    with _environment(root):
        forkserver.ensure_running()


@contextmanager
def _environment(root: Path) -> Iterator[None]:
    """The environment of the chapters, in place of this process' own, while the fork server starts."""
    kept = dict(os.environ)
    path = os.pathsep.join([str(root), str(Path(__file__).resolve().parents[2])])
    try:
        os.environ.clear()
        os.environ.update({k: kept[k] for k in PASSED_ON if k in kept} | FIXED | {"PYTHONPATH": path})
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


def run(
    root: Path,
    chapters: list[Chapter],
    keep: Callable[[Chapter, Path], None],
    report: Report,
    jobs: int | None = None,
    seconds: float = SECONDS,
    keep_failed: Callable[[Chapter, Path], None] = lambda chapter, folder: None,
) -> list[Problem]:
    """Run `chapters`; hand the folder of each that succeeded to `keep`, of each that failed to `keep_failed` (they are
    removed afterwards); `report` is called as each one ends, with its seconds. Returns the problems of those that
    failed; the others are finished all the same."""
    context = multiprocessing.get_context("forkserver")
    warm_up(root)
    work = root / ".cache" / "run"
    work.mkdir(parents=True, exist_ok=True)
    waiting, running, problems = list(chapters), {}, []
    try:
        while waiting or running:
            while waiting and len(running) < (jobs or os.cpu_count() or 1):
                chapter = waiting.pop(0)
                out = Path(tempfile.mkdtemp(prefix=f"{chapter.stem}-{chapter.language}-", dir=work))
                process = context.Process(target=_child, args=(root, chapter.source, chapter.language, out))
                with _environment(root):  # a fork server that has died is started anew, and mustn't take the caller's
                    process.start()
                running[process] = chapter, out, time.monotonic()
            done = connection.wait([p.sentinel for p in running], timeout=0.5)
            for process, (chapter, out, start) in list(running.items()):
                took = time.monotonic() - start
                if process.sentinel in done:
                    process.join()
                    _end_group(process.pid)
                    found = _outcome(chapter, out, process.exitcode)
                elif took > seconds:
                    _stop(process)
                    found = [
                        Problem(
                            str(chapter),
                            1,
                            f"still running after {seconds:g} s and was stopped",
                            "look for a loop that doesn't end, or make the chapter's work smaller",
                        )
                    ]
                else:
                    continue
                del running[process]
                (keep_failed if found else keep)(chapter, out)
                shutil.rmtree(out, ignore_errors=True)
                problems += found
                report(chapter, took, found)
    finally:
        for process, (_, out, _) in running.items():
            _stop(process)
            shutil.rmtree(out, ignore_errors=True)
    return problems


def _child(root: Path, source: Path, language: str, out: Path) -> None:
    """The fresh process of one chapter: a process group of its own, a limit on memory, and a log for all it prints."""
    end_with_parent()
    os.setpgid(0, 0)
    log = os.open(out / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    if sys.platform == "linux":  # elsewhere the limit isn't enforced
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    from coursebuild.execution import worker

    worker.run(root, source, language, out)


def _stop(process: multiprocessing.Process) -> None:
    """End a chapter and whatever it started."""
    _end_group(process.pid)
    process.kill()
    process.join()


def _end_group(leader: int) -> None:
    """End what a chapter started, also where the chapter itself has ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _outcome(chapter: Chapter, out: Path, code: int) -> list[Problem]:
    """What to say of a process that has ended."""
    failure = out / "failure.json"
    log = out / "log.txt"
    tail = log.read_text(encoding="utf-8", errors="replace").strip().split("\n")[-12:] if log.exists() else []
    if failure.exists():
        found = json.loads(failure.read_text(encoding="utf-8"))
        what = {"AssertionError": "a claim no longer holds"}.get(found["type"], "the chapter stopped")
        return [
            Problem(
                str(chapter),
                found["line"],
                f"{found['type']}: {found['message']}",
                f"{what}: repair the code or the claim, in both languages",
            )
        ]
    if code == 0 and (out / "ledger.json").exists():
        return []
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return [
        Problem(
            str(chapter),
            1,
            f"the interpreter ended ({how}) before the chapter did",
            "run it alone with python to see where; the end of its log:\n" + "\n".join(tail),
        )
    ]
