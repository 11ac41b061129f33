"""Run one chapter in this process, through mkdocs-gallery, and write what came of it into a folder.

The caller starts a fresh process for each chapter (`execution.scheduler`). Written are `page.md`, `notebook.ipynb`,
`outputs.json` (what was shown, in order) and `ledger.json`; or, if the chapter failed, `failure.json`, and
`outputs.json` with what it showed until then.
"""

import ast
import contextlib
import hashlib
import json
import os
import sys
import traceback
from pathlib import Path

from coursebuild.execution import notebook, page
from coursebuild.execution.recorder import Recorder


class ShowsValue(Exception):
    """A cell ends in an expression with a value, which only a notebook would show."""

    def __init__(self, line: int, value: object):
        super().__init__(
            f"this cell ends in an expression with a value ({type(value).__name__}), which a notebook shows "
            f"and a script doesn't: print it, assert it, or assign it to _"
        )
        self.line = line


def run(root: Path, source: Path, language: str, out: Path) -> None:
    """Run the chapter `source` (relative to `root`) and write its results to the folder `out` (below `root`)."""
    blocks, recorder = [], Recorder()
    try:
        os.chdir(root)
        blocks = blocks_of(root / source)
        markdown = execute(root, source, out, recorder)
        shown = page.number(blocks, recorder.blocks)
        write(out, "page.md", page.build(markdown, blocks, shown, language, source.read_text(encoding="utf-8")))
        write(out, "notebook.ipynb", notebook.build(blocks, shown))
        outputs = save_outputs(out, shown)
        write(out, "ledger.json", json.dumps(ledger(source, outputs), indent=1))
    except BaseException as error:  # also SystemExit and KeyboardInterrupt: a chapter that calls exit() has not passed
        traceback.print_exc(file=sys.__stderr__)
        if failed := [line for kind, _, line in blocks if kind == "code" and line not in recorder.blocks]:
            recorder.close_block(failed[0])
        with contextlib.suppress(Exception):  # a figure that can't be drawn must not hide why the chapter failed
            save_outputs(out, page.number(blocks, recorder.blocks))
        write(out, "failure.json", json.dumps(describe(error, source), ensure_ascii=False))
        raise SystemExit(1) from None


def blocks_of(script: Path) -> list[tuple[str, str, int]]:
    """The chapter's blocks as mkdocs-gallery reads them: (kind, text, line)."""
    from mkdocs_gallery.py_source_parser import split_code_and_text_blocks

    return split_code_and_text_blocks(script)[1]


def save_outputs(out: Path, shown: dict[int, list[page.Shown]]) -> list[dict]:
    """Write `outputs.json`, and return it."""
    outputs = [item.as_data() for items in shown.values() for item in items]
    write(out, "outputs.json", json.dumps(outputs, ensure_ascii=False, indent=1))
    return outputs


def execute(root: Path, source: Path, out: Path, recorder: Recorder) -> str:
    """mkdocs-gallery's Markdown of the chapter, with a marker where outputs go."""
    from mkdocs_gallery.gen_data_model import AllInformation, GalleryScript
    from mkdocs_gallery.gen_gallery import parse_config
    from mkdocs_gallery.gen_single import generate_file_md

    from common.viz import show_with

    def collect(block: tuple[str, str, int], script: GalleryScript) -> str:
        line = block[2]
        names = script.run_vars.example_globals
        if names.get("___") is not None:  # mkdocs-gallery's name for the value of a last expression
            raise ShowsValue(last_line(block), names["___"])
        recorder.close_block(line)
        return page.marker(line)

    mkdocs = {"config_file_path": str(root / "mkdocs.yml"), "docs_dir": str(out), "site_dir": str(out / "site")}
    gallery = {
        "examples_dirs": [str(root / source.parent)],
        "gallery_dirs": [str(out / "gallery")],
        "filename_pattern": ".*",
        "image_scrapers": (collect,),
        "show_memory": recorder.call,
        "capture_repr": (),
        "reset_modules": (),
        "abort_on_example_error": True,
        "inspect_global_variables": False,
        "download_all_examples": False,
    }
    info = AllInformation.from_cfg(parse_config(gallery, mkdocs_conf=mkdocs), mkdocs)
    script = GalleryScript(info.galleries[0], root / source)
    script.gallery.make_generated_dir()
    show_with(recorder.show)
    try:
        generate_file_md(script)
    finally:
        show_with(None)
    return script.md_file.read_text(encoding="utf-8")


def last_line(block: tuple[str, str, int]) -> int:
    """The line, in its file, of a code block's last statement."""
    return block[2] - 1 + ast.parse(block[1]).body[-1].lineno


def ledger(source: Path, outputs: list[dict]) -> dict:
    """What ran: counts, and a hash over everything shown."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    text = json.dumps(outputs, ensure_ascii=False, sort_keys=True)
    return {
        "asserts": sum(isinstance(node, ast.Assert) for node in ast.walk(tree)),
        "figures": sum(o["kind"] == "figure" for o in outputs),
        "tables": sum(o["kind"] == "table" for o in outputs),
        "outputs_sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def describe(error: BaseException, source: Path) -> dict:
    """The error in the chapter's own terms: its line there, its type and text."""
    line = getattr(error, "line", None) or getattr(error, "lineno", None)
    for frame in traceback.extract_tb(error.__traceback__):
        if Path(frame.filename).as_posix().endswith(source.as_posix()):
            line = frame.lineno
    text = str(error)
    if isinstance(error, AssertionError) and not text and line:
        text = source.read_text(encoding="utf-8").split("\n")[line - 1].strip()
    return {"line": line or 1, "type": type(error).__name__, "message": text}


def write(folder: Path, name: str, text: str) -> None:
    """Write a UTF-8 file with Unix line ends."""
    folder.joinpath(name).write_text(text, encoding="utf-8", newline="\n")
