"""Checks side by side: results in order, errors as they are, and no way to hang."""

import os
import signal
import subprocess
import sys
from functools import partial

import pytest

from coursebuild import parallel
from coursebuild.problems import BuildError, Problem
from coursebuild.setup_env import ROOT


def test_results_stand_in_the_order_of_the_tasks():
    assert parallel.each([partial(pow, 2, n) for n in range(20)]) == [2**n for n in range(20)]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the tasks run in this process")
def test_tasks_run_in_other_processes_and_see_what_this_one_has():
    secret = object()  # nothing that could be handed over
    found = parallel.each([lambda: (os.getpid(), id(secret))] * 4)
    assert {number for _, number in found} == {id(secret)}
    assert os.getpid() not in {pid for pid, _ in found}


def test_what_a_task_raises_is_raised_with_all_it_says():
    problem = Problem("a.py", 3, "is wrong", "put it right")

    def fail():
        raise BuildError([problem])

    with pytest.raises(BuildError) as error:
        parallel.each([fail, fail])
    assert error.value.problems == [problem]


@pytest.mark.slow
def test_it_ends_whatever_this_process_does_with_signals():
    """A build turns SIGTERM into an exit of Python's. Workers that are ended by that signal can miss it: with
    multiprocessing's Pool this hung before its thousandth round."""
    code = (
        "import signal, sys, time\nfrom functools import partial\nfrom coursebuild import parallel\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
        "def work(seconds):\n    end = time.perf_counter() + seconds\n"
        "    while time.perf_counter() < end:\n        pass\n"
        "tasks = [partial(work, milliseconds / 1000) for milliseconds in (3, 5, 1, 2, 0)]\n"
        "for _ in range(2000):\n    parallel.each(tasks)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "docs")}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, start_new_session=True)
    try:
        assert process.wait(timeout=120) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
