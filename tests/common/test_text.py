"""Widths, shortening and line breaks."""

from __future__ import annotations

import pytest

from common.figures.text import break_lines, columns, plain, shorten, width


def test_wide_and_combining_characters():
    assert columns("圖 a") == 4
    assert columns("e\u0301") == 1
    assert width("圖", 10) == 10
    assert width("🦄", 10) == 14
    assert width("\u200d", 10) == 0
    assert width("abc", 10, mono=True) == pytest.approx(18.3)


def test_shorten_keeps_beginning_and_end():
    assert shorten("conv2d") == "conv2d"
    assert shorten("b_bn_num_batches_tracked") == "b_bn_num_batches_tracked"
    short = shorten("quantize_per_tensor_default_12")
    assert short == "quantize_per_ten…ault_12"
    assert columns(short) == 24
    assert columns(shorten("圖" * 40)) <= 24
    assert shorten("x" * 1000, 10) == "xxxxxx…xxx"


def test_lines_break_between_parts_only():
    assert break_lines(["int8", "s 0.0315", "z 2"]) == ["int8 · s 0.0315 · z 2"]
    assert break_lines(["‹conv_weight›", "‹conv_bias›"]) == ["‹conv_weight›", "‹conv_bias›"]
    assert break_lines(["a part wider than any line could be", "b"]) == ["a part wider than any line could be", "b"]
    assert break_lines([]) == []


def test_plain_text_is_one_line_that_every_process_writes_alike():
    assert plain("a\n\tb\0c\u2028d") == "a  b c d"
    assert plain("<function f at 0x7f00deadbeef>") == "<function f>"
