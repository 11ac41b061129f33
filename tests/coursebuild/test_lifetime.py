"""A build that stops leaves no process, however it stops: what it started ends with it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coursebuild import render
from coursebuild.project import Project
from coursebuild.setup_env import ROOT

WAITS = 600  # seconds: what should end doesn't do so by itself
# each starts something as a build does, which prints its process id and waits
CHECKS = f"""
import os, time
from coursebuild import parallel
def task():
    os.write(1, b"%d\\n" % os.getpid())  # at once: two of them print
    time.sleep({WAITS})
parallel.each([task, task])
"""
CHAPTER = """
from pathlib import Path
from coursebuild.execution import scheduler
from coursebuild.project import Chapter
if __name__ == "__main__":
    scheduler.run(Path.cwd(), [Chapter("en", "m00", "m00_1_waits")], print, print, seconds=600)
"""
RENDERER = """
import os, subprocess, sys
renderer = subprocess.Popen([sys.executable, "-m", "coursebuild.renderer", str(os.getpid())])
print(renderer.pid, flush=True)
renderer.wait()
"""
SCRIPT = f"import os, time\nfrom pathlib import Path\nPath({{}}).write_text(str(os.getpid()))\ntime.sleep({WAITS})\n"


def started(process: subprocess.Popen, folder: Path) -> int:
    """The process id that something tells, on the output or in a file."""
    if process.stdout:
        return int(process.stdout.readline())
    while process.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            return int((folder / "pid").read_text())
        time.sleep(0.05)
    raise AssertionError("it ended by itself")


def ends(pid: int) -> bool:
    """Whether a process is gone, or only its name is left, within two seconds."""
    for _ in range(40):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
@pytest.mark.parametrize(
    ("code", "tells"), [(CHECKS, True), (CHAPTER, False), (RENDERER, True)], ids=["checks", "chapter", "renderer"]
)
def test_what_a_killed_build_has_started_ends_with_it(tmp_path, code, tells):
    (tmp_path / "code.py").write_text(code)
    chapter = tmp_path / "examples" / "en" / "m00" / "m00_1_waits.py"
    chapter.parent.mkdir(parents=True)
    chapter.write_text(f'"""\n# Waits\n"""\n\n# %%\n# It waits.\n{SCRIPT.format(repr(str(tmp_path / "pid")))}')
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'docs'}{os.pathsep}{ROOT}"}
    open_input, held = os.pipe()  # an input that doesn't end when the build does
    process = subprocess.Popen(
        [sys.executable, "code.py"],
        cwd=tmp_path,
        env=environment,
        stdin=open_input,
        stdout=subprocess.PIPE if tells else None,
        start_new_session=True,
    )
    pid = process.pid
    try:
        pid = started(process, tmp_path)
        assert Path(f"/proc/{pid}").exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert ends(pid)
    finally:
        os.close(open_input)
        os.close(held)
        for group in (process.pid, pid):
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)


@pytest.mark.slow
def test_renderers_end_when_the_build_stops_before_it_renders():
    with pytest.raises(KeyError), render.waiting(Project(ROOT)) as renderers:
        assert [process.poll() for process in renderers.values()] == [None, None]
        raise KeyError
    assert all(process.returncode is not None for process in renderers.values())
