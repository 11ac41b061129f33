"""Every script and notebook, as downloaded, runs in a clean environment and shows what the page shows."""

import json
import re
import subprocess
import sys
import zipfile

import nbformat
import pytest
from nbclient import NotebookClient

from coursebuild.layout import BUNDLE
from coursebuild.project import LANGUAGES, Project, find_root

pytestmark = [pytest.mark.downloads, pytest.mark.slow]
CHAPTERS = Project(find_root()).chapters()
IDS = [f"{c.language}-{c.stem}" for c in CHAPTERS]
SITE_MARKUP = re.compile(
    r"\{#[\w-]+\}|^[# ]*(?:!!!|\?\?\?) \w+|chapter:\w+|zh:[0-9a-f]{8}|<!-- |^# ?%% answer$.*?zh:", re.M
)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=IDS)
def test_script(reader, chapter, tmp_path):
    script = reader.site / chapter.language / chapter.module / f"{chapter.stem}.py"
    text = script.read_text(encoding="utf-8")
    assert not SITE_MARKUP.search(text), SITE_MARKUP.search(text)
    head = text[: text.index('"""')]
    assert reader.info.wheel_url in head and "pip install" in head
    run = subprocess.run(
        [str(reader.python), str(script)], cwd=tmp_path, env=reader.environment(), capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-3000:]
    for output in printed(reader, chapter):
        assert output in run.stdout


@pytest.mark.parametrize("chapter", CHAPTERS, ids=IDS)
def test_notebook(reader, chapter, tmp_path):
    path = reader.site / chapter.language / chapter.module / f"{chapter.stem}.ipynb"
    text = path.read_text(encoding="utf-8")
    book = nbformat.reads(text, as_version=4)
    nbformat.validate(book)
    prose = "\n".join(c.source for c in book.cells if c.cell_type == "markdown")
    assert not SITE_MARKUP.search(prose), SITE_MARKUP.search(prose)
    install = book.cells[1]
    assert f"%pip install --quiet {reader.info.wheel_url}\n" in install.source
    stored = [outputs(cell) for cell in book.cells if cell.cell_type == "code"][1:]
    install.source = install.source.replace(reader.info.wheel_url, reader.wheel)
    kernel(reader)
    client = NotebookClient(book, timeout=300, kernel_name="reader", resources={"metadata": {"path": str(tmp_path)}})
    execute(client, reader)
    assert [outputs(cell) for cell in book.cells if cell.cell_type == "code"][1:] == stored
    shown = "".join(o.get("text", "") for o in install.outputs)
    assert reader.info.versions["torch"].split("+")[0] not in shown, (
        "the versions agree, so nothing is to be said of them"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_bundle(reader, language):
    with zipfile.ZipFile(reader.site / language / BUNDLE.format(language=language)) as archive:
        assert sorted(archive.namelist()) == sorted(
            f"{c.module}/{c.stem}.py" for c in CHAPTERS if c.language == language
        )
        for name in archive.namelist():
            assert archive.read(name) == (reader.site / language / name).read_bytes()


def test_the_wheel_holds_common_alone(reader):
    with zipfile.ZipFile(reader.site / "wheels" / reader.info.wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"common"}
    assert {re.match(r"[\w-]+", r)[0] for r in re.findall(r"^Requires-Dist: (.+)$", metadata, re.M)} == {
        "torch",
        "torchao",
        "numpy",
        "graphviz",
    }


def test_another_torch_is_named(reader):
    """The first cell says what differs from the versions of the page."""
    chapter = CHAPTERS[0]
    book = json.loads(
        (reader.site / chapter.language / chapter.module / f"{chapter.stem}.ipynb").read_text(encoding="utf-8")
    )
    code = "".join(book["cells"][1]["source"])
    python = "\n".join(line for line in code.split("\n") if not line.startswith("%pip"))
    wanted = reader.info.versions["torch"].split("+")[0]
    run = subprocess.run(
        [sys.executable, "-c", python.replace(f'"{wanted}"', '"1.0.0"')], capture_output=True, text=True
    )
    assert f"torch {wanted}" in run.stdout and "1.0.0" in run.stdout, run.stdout + run.stderr


def printed(reader, chapter) -> list[str]:
    """What the page shows as printed text, as the notebook keeps it."""
    path = reader.site / chapter.language / chapter.module / f"{chapter.stem}.ipynb"
    book = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    return [
        o.text for cell in book.cells if cell.cell_type == "code" for o in cell.outputs if o.output_type == "stream"
    ]


def outputs(cell) -> list[tuple[str, str]]:
    """A code cell's outputs as (kind, text), consecutive prints joined, without stderr, which no page shows."""
    found: list[tuple[str, str]] = []
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            if found and found[-1][0] == "text":
                found[-1] = ("text", found[-1][1] + output.text)
            else:
                found.append(("text", output.text))
        elif output.output_type in ("display_data", "execute_result"):
            found.append(("shown", output.data["text/plain"]))
    return [(kind, text.rstrip("\n").lstrip("\n").expandtabs()) for kind, text in found if text.strip()]


def kernel(reader) -> None:
    """The reader's kernel, under a name that only this test knows."""
    folder = reader.home / "jupyter" / "kernels" / "reader"
    folder.mkdir(parents=True, exist_ok=True)
    # %pip without a pseudo-terminal, which a container may not have
    plain = "--IPKernelApp.exec_lines=get_ipython().system = get_ipython().system_raw"
    argv = [str(reader.python), "-m", "ipykernel_launcher", "-f", "{connection_file}", plain]
    folder.joinpath("kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "reader", "language": "python"})
    )


def execute(client: NotebookClient, reader) -> None:
    """Run a notebook with the reader's environment variables."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in reader.environment().items():
            patch.setenv(name, value)
        client.execute(env=reader.environment())
