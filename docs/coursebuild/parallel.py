"""Several checks at once, on all cores."""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from coursebuild.lifetime import end_with_parent

T = TypeVar("T")
_tasks: Sequence[Callable] = ()  # what a forked process finds: it has whatever the tasks refer to, without a copy


def each(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results of `tasks`, in their order; they must survive pickling. Where processes can't be forked safely (that
    is, not on Linux) one task runs after the other. Raises what a task raises."""
    global _tasks
    if sys.platform != "linux":
        return [task() for task in tasks]
    _tasks = tasks
    # not multiprocessing's Pool: it ends its workers by SIGTERM, which one that handles it in Python can miss
    workers, context = min(os.cpu_count() or 1, len(tasks)), multiprocessing.get_context("fork")
    with ProcessPoolExecutor(workers, context, initializer=end_with_parent, initargs=(os.getpid(),)) as pool:
        return list(pool.map(_run, range(len(tasks))))


def _run(number: int) -> object:
    return _tasks[number]()
