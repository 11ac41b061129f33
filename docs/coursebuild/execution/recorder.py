"""What a chapter shows, in the order in which its code showed it."""

import contextlib
import io
import re
import sys
from dataclasses import dataclass, field
from typing import Any

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
CONTROL = {i: chr(0x2400 + i) for i in range(32) if chr(i) not in "\n\t"} | {0x7F: "\u2421"}


def plain(text: str) -> str:
    """Printed text as a page can show it: no terminal colours, carriage returns applied, control characters as their
    visible symbols (␀, ␇, …)."""
    lines = [line.rsplit("\r", 1)[-1] for line in ANSI.sub("", text).replace("\r\n", "\n").split("\n")]
    return "\n".join(lines).expandtabs().translate(CONTROL).encode("utf-8", "replace").decode("utf-8")


@dataclass
class Output:
    """One thing shown: printed text (`text`), or a `common.viz` Table or Figure (`shown`)."""

    text: str = ""
    shown: Any = None


class _Stdout(io.TextIOBase):
    """Text printed by a chapter; consecutive prints are one output."""

    encoding = "utf-8"

    def __init__(self, outputs: list[Output]):
        self.outputs = outputs

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not self.outputs or self.outputs[-1].shown is not None:
            self.outputs.append(Output())
        self.outputs[-1].text += text
        return len(text)


@dataclass
class Recorder:
    """Collects the outputs of the block that is running; `blocks` keeps those of finished ones, by line number."""

    running: list[Output] = field(default_factory=list)
    blocks: dict[int, list[Output]] = field(default_factory=dict)

    def show(self, shown: Any) -> None:
        """A table or figure was shown (the callback of `common.viz.show_with`)."""
        self.running.append(Output(shown=shown))

    def call(self, function) -> tuple[float, Any]:
        """Run a piece of a block. mkdocs-gallery calls this to measure memory (`show_memory`), around nothing but the
        chapter's own code, which makes it the one place where prints can be told from everything else."""
        # stderr goes where the process' own goes, the log: nothing of it may reach a page
        with contextlib.redirect_stdout(_Stdout(self.running)), contextlib.redirect_stderr(sys.__stderr__):
            return 0.0, function()

    def close_block(self, line: int) -> None:
        """The block that starts at `line` has finished."""
        self.blocks[line] = [o for o in self.running if o.shown is not None or o.text.strip()]
        self.running.clear()
