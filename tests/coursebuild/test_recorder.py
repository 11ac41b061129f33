"""Outputs are kept in the order in which code made them, and as a page can show them."""

import sys

import pytest

from coursebuild.execution.recorder import Recorder, plain


def test_prints_and_shown_objects_keep_their_order():
    recorder, table = Recorder(), object()

    def block():
        print("one")
        print("two")
        recorder.show(table)
        print("three")
        print("to the log", file=sys.stderr)

    recorder.call(block)
    recorder.close_block(7)
    assert [(o.text, o.shown) for o in recorder.blocks[7]] == [("one\ntwo\n", None), ("", table), ("three\n", None)]


def test_blocks_do_not_mix():
    recorder = Recorder()
    for line in (1, 5):
        recorder.call(lambda line=line: print(line))
        recorder.close_block(line)
    recorder.call(lambda: print("  "))
    recorder.close_block(9)
    assert [[o.text for o in recorder.blocks[k]] for k in (1, 5, 9)] == [["1\n"], ["5\n"], []]


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("10%\r100%\n", "100%\n"),
        ("a\x00b\x07c\x7f", "a␀b␇c␡"),
        ("a\tb", "a       b"),
        ("windows\r\nline", "windows\nline"),
        ("中文 🎉 <b>```", "中文 🎉 <b>```"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
    ],
)
def test_plain(printed, shown):
    assert plain(printed) == shown
