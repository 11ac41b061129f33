"""Several checks at once, on all cores."""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
_tasks: Sequence[Callable] = ()  # what a forked process finds: it has whatever the tasks refer to, without a copy


def each(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results of `tasks`, in their order; they must survive pickling. Where processes can't be forked safely (that
    is, not on Linux) one task runs after the other. Raises what a task raises."""
    global _tasks
    if sys.platform != "linux":
        return [task() for task in tasks]
    _tasks = tasks
    with multiprocessing.get_context("fork").Pool(min(os.cpu_count() or 1, len(tasks))) as pool:
        return pool.map(_run, range(len(tasks)), chunksize=1)


def _run(number: int) -> object:
    return _tasks[number]()
