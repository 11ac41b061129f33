"""Progress of a long step: a bar with names and times on a terminal, one line a chapter elsewhere."""

import sys

from rich import progress as rich


class Progress:
    """Context manager; `step` says that one more has ended."""

    def __init__(self, total: int):
        self.total, self.done = total, 0
        self.bar = None
        if sys.stdout.isatty() and total:
            self.bar = rich.Progress(
                rich.TextColumn("{task.completed}/{task.total}"),
                rich.BarColumn(),
                rich.TimeElapsedColumn(),
                rich.TextColumn("{task.description}"),
            )
            self.task = self.bar.add_task("starting", total=total)

    def __enter__(self) -> "Progress":
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()

    def step(self, name: str, seconds: float, passed: bool) -> None:
        """`name` has ended after `seconds`."""
        self.done += 1
        line = f"{'ran' if passed else 'FAILED'} {name} in {seconds:.1f} s"
        if self.bar:
            self.bar.console.print(line, highlight=False)
            self.bar.update(self.task, advance=1, description=name)
        else:
            print(f"[{self.done}/{self.total}] {line}", flush=True)
