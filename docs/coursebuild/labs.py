"""The labs: notebooks with stored outputs. `python -m coursebuild.labs` runs them and writes their outputs anew.

What a notebook stores depends on its code alone: no times, no paths, no patch version of Python.
"""

import argparse
import copy
import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from coursebuild.problems import BuildError, Problem
from coursebuild.project import LANGUAGES, find_root

SECONDS = 120  # when a cell counts as hanging
HINT = "`python -m coursebuild.labs` runs the labs and writes their outputs anew"
DRAWN = re.compile(r'\bfx-[0-9a-f]{10}\b|\bd="[^"]*"|-?\d+(?:\.\d+)?')
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def labs(root: Path) -> list[Path]:
    """The notebooks of every language, relative to `root`."""
    return [path.relative_to(root) for lang in LANGUAGES for path in sorted(root.glob(f"docs/{lang}/labs/*.ipynb"))]


def run(book: nbformat.NotebookNode, root: Path, forgive: bool = True) -> nbformat.NotebookNode:
    """A copy of the notebook with the outputs of a new kernel, which finds `common` below `root`.

    Cells tagged `raises-exception` may raise if `forgive`; any other exception raises CellExecutionError.
    """
    book, info = copy.deepcopy(book), copy.deepcopy(book.metadata)
    client = NotebookClient(
        book,
        timeout=SECONDS,
        kernel_name="python3",
        record_timing=False,
        force_raise_errors=not forgive,
        extra_arguments=["--log-level=ERROR"],  # the kernel's own warnings about its connection are no news
        resources={"metadata": {"path": str(root)}},
    )
    client.execute(env=os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"})
    book.metadata = info  # the kernel's own has the patch version of Python
    for cell in book.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = [ANSI.sub("", line) for line in output.traceback]
    return book


def renewed(path: Path, root: Path) -> str:
    """The notebook's file as it has to be: run, as text. Raises BuildError where an output must not be published."""
    book = nbformat.read(root / path, as_version=4)
    try:
        book = run(book, root)
    except CellExecutionError as error:
        message = f"a cell failed\n{ANSI.sub('', str(error)).rstrip()}"
        raise BuildError([Problem(path.as_posix(), 1, message, "repair the cell, or what it calls")]) from None
    text = nbformat.writes(book, ensure_ascii=False) + "\n"
    problems = [problem for cell in book.cells for problem in _unfit(cell, path, text, root)]
    if problems:
        raise BuildError(problems)
    return text


def _unfit(cell: nbformat.NotebookNode, path: Path, text: str, root: Path) -> list[Problem]:
    """What the outputs of a cell hold that readers should not see, or that differs from run to run."""
    outputs = cell.get("outputs", [])
    faults = {
        "holds stderr": any(output.get("name") == "stderr" for output in outputs),
        "holds a path of this machine": str(root) in str(outputs) or sys.prefix in str(outputs),
        "holds a memory address": re.search(r"\b0x[0-9a-f]{6,}", str(outputs)),
    }
    line = text[: text.index(f'"id": "{cell.id}"')].count("\n") + 1
    return [
        Problem(path.as_posix(), line, f"the output of cell {cell.id!r} {fault}", "repair what the cell calls")
        for fault, found in faults.items()
        if found
    ]


def stale(path: Path, root: Path, now: str) -> list[Problem]:
    """What is wrong if the stored outputs of a notebook are not those that it has `now`, as `renewed` gives it."""
    if _still(now) == _still((root / path).read_text(encoding="utf-8")):
        return []
    return [Problem(path.as_posix(), 1, "the stored outputs are not what the notebook gives today", HINT)]


def _still(text: str) -> str:
    """A notebook's text without what another release of Graphviz would draw elsewhere: coordinates, sizes and paths."""
    book = nbformat.reads(text, as_version=4)
    for output in (output for cell in book.cells for output in cell.get("outputs", [])):
        if "text/html" in output.get("data", {}):
            output.data["text/html"] = DRAWN.sub("", output.data["text/html"])
    return nbformat.writes(book, ensure_ascii=False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="coursebuild.labs", description="Run the labs and write their outputs anew.")
    parser.add_argument("--root", type=Path, default=find_root(), help="the project (default: the package's own)")
    root = parser.parse_args().root.resolve()
    try:
        for path in labs(root):
            text = renewed(path, root)
            changed = stale(path, root, text)
            if changed:
                (root / path).write_text(text, encoding="utf-8")
            print(f"{path}: {'written' if changed else 'unchanged'}", flush=True)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
