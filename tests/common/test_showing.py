"""Where tables and figures go: to a receiver, to Jupyter, to a terminal; and what happens without Graphviz."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from common.viz import Figure, GraphvizMissing, Table, draw, draw_stages, show_with, table

HINT = "Graphviz's `dot` is needed to draw this figure and was not found"


def test_a_receiver_gets_everything_in_order(program, shown, capsys):
    gm = program.module()
    assert table([[1]], ["a"], title="T") is None
    assert draw(gm, "one", ["relu"]) is None
    assert draw_stages([(gm, "a"), (gm, "b")], title="two") is None
    assert [type(item) for item in shown] == [Table, Figure, Figure]
    assert [item.title for item in shown] == ["T", "one", "two"]
    assert capsys.readouterr().out == ""


def test_a_plain_script_prints_text(program, capsys):
    show_with(None)
    table([["x", 1]], ["node", "#"])
    draw(program.module(), title="conv → bn → relu")
    out = capsys.readouterr().out
    assert out.startswith("node  #\n────  ─\nx     1\nconv → bn → relu\n   x = placeholder")
    assert "<" not in out
    assert HINT not in out


def test_a_script_as_a_process_imports_no_more_than_it_needs():
    script = """
import sys
import common
assert "torch" not in sys.modules
from common.viz import table
import common.graph_utils, common.models, common.pt2e
assert "torch" in sys.modules and "torchao" not in sys.modules
table([["輸入", 1]], ["name", "#"])
"""
    env = {**os.environ, "PATH": "", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env, check=True)
    assert run.stdout == "name  #\n────  ─\n輸入  1\n"
    assert run.stderr == ""


@pytest.fixture
def no_dot(monkeypatch):
    monkeypatch.setenv("PATH", "")


def test_without_dot_a_script_prints_text_and_how_to_get_it(program, capsys, no_dot):
    draw(program.module(), title="a graph")
    draw(program.module(), title="一張圖")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a graph"
    assert len([line for line in lines if HINT in line]) == 1
    assert lines[-1].startswith("畫這張圖需要 Graphviz 的 `dot`，但找不到它：apt install graphviz")


def test_without_dot_a_page_is_not_made(program, no_dot):
    figure = Figure([(program.module(), "")], title="t")
    for make in (lambda: figure.html("f"), lambda: figure.dot):
        with pytest.raises(GraphvizMissing, match="apt install graphviz, brew install graphviz"):
            make()
    assert figure.text.startswith("t\n")


def test_without_dot_jupyter_shows_text_and_how_to_get_it(program, no_dot):
    shown = Figure([(program.module(), "")])._repr_html_()
    assert "<pre>   x = placeholder" in shown
    assert "brew install graphviz" in shown
    assert "<svg" not in shown


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    yield shell
    InteractiveShell.clear_instance()


def test_jupyter_displays(program, shell, capsys):
    with capture_output() as captured:
        table([["x"]], ["node"])
        draw(program.module(), title="g")
    first, second = (output.data for output in captured.outputs)
    assert first["text/html"].startswith('<div class="fx-card"')
    assert first["text/plain"] == "node\n────\nx"
    assert "<svg" in second["text/html"]
    assert second["text/plain"].startswith("g\n   x = placeholder")
    assert captured.stdout == ""
