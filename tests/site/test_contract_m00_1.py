"""What M00-1 promises is on the page, in both languages: every table row, every printed value, every name."""

import re

import pytest

from tests.site.built import BuiltSite, Figure, Page

STEM = "m00_1_export_and_aten"
TITLE = {
    "zh-TW": "M00-1 | torch.export 出來的圖長什麼樣，以及 ATen 是什麼",
    "en": "M00-1 | What a torch.export graph looks like, and what ATen is",
}
SET_UP = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from common.graph_utils import node_rows, short
from common.models import example_inputs, get_model
from common.pt2e import quiet
from common.viz import draw_stages, table
_ = torch.manual_seed(0)
"""
INPUT_SPECS = [
    ["p_conv_weight", "PARAMETER", "conv.weight"],
    ["p_bn_weight", "PARAMETER", "bn.weight"],
    ["p_bn_bias", "PARAMETER", "bn.bias"],
    ["b_bn_running_mean", "BUFFER", "bn.running_mean"],
    ["b_bn_running_var", "BUFFER", "bn.running_var"],
    ["b_bn_num_batches_tracked", "BUFFER", "bn.num_batches_tracked"],
    ["x", "USER_INPUT", ""],
]
STATE = ["conv_weight", "bn_weight", "bn_bias", "bn_running_mean", "bn_running_var", "bn_num_batches_tracked"]
NODE_ROWS = [
    ["0", "get_attr", "conv_weight", "conv.weight"],
    ["1", "get_attr", "bn_weight", "bn.weight"],
    ["2", "get_attr", "bn_bias", "bn.bias"],
    ["3", "get_attr", "bn_running_mean", "bn.running_mean"],
    ["4", "get_attr", "bn_running_var", "bn.running_var"],
    ["5", "get_attr", "bn_num_batches_tracked", "bn.num_batches_tracked"],
    ["6", "placeholder", "x", "x"],
    ["7", "call_module", "_guards_fn", "_guards_fn"],
    ["8", "call_function", "conv2d", "conv2d"],
    ["9", "call_function", "batch_norm", "batch_norm"],
    ["10", "call_function", "relu", "relu"],
    ["11", "output", "output", "output"],
]
KEYS = "from_node, nn_module_stack, stack_trace, tensor_meta, torch_fn, val"
META = [
    ["conv2d", "FakeTensor", "[2, 8, 16, 16]", KEYS],
    ["batch_norm", "FakeTensor", "[2, 8, 16, 16]", KEYS],
    ["relu", "FakeTensor", "[2, 8, 16, 16]", KEYS],
]
ANSWER = {
    "zh-TW": "conv2d.args[1] = conv_weight（op=get_attr, target=conv.weight）",
    "en": "conv2d.args[1] = conv_weight (op=get_attr, target=conv.weight)",
}
OVERLOADS = "['default', 'padding']"
SCHEMAS = [
    "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
    "SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
]
STYLES = [
    [
        "FunctionalStyle",
        "function conv2d → function relu → method mean → function linear",
        "conv2d → relu → mean → linear",
    ],
    [
        "WrappedStyle",
        "module Conv2d(inner.conv) → module ReLU(inner.act) → method mean → module Linear(fc)",
        "conv2d → relu → mean → linear",
    ],
    [
        "SequentialStyle",
        "module Conv2d(body.0) → module ReLU(body.1) → method mean → module Linear(fc)",
        "conv2d → relu → mean → linear",
    ],
]
TARGETS = "['aten.conv2d.default', 'aten.relu.default', 'aten.mean.dim', 'aten.linear.default']"


@pytest.fixture
def page(site: BuiltSite, language: str) -> Page:
    """The chapter."""
    return site.page(language, f"m00/{STEM}")


@pytest.fixture
def figure(page: Page) -> Figure:
    """The figure of A2."""
    (found,) = [figure for figure in page.figures if figure.id.startswith("a2-graph-module")]
    return found


def test_title(page: Page):
    assert page.title == TITLE[page.language]
    assert TITLE[page.language].partition(" | ")[2] in page.tree.xpath("//head/title/text()")[0]


def test_it_opens_with_colab_and_its_downloads(site: BuiltSite, page: Page):
    (colab,) = page.links(f"/{page.language}/m00/{STEM}.ipynb")
    assert colab.startswith("https://colab.research.google.com/github/")
    for ending in (".py", ".ipynb"):
        assert page.links(f"../{STEM}{ending}") == [f"../{STEM}{ending}"]
        assert (site.root / page.language / "m00" / f"{STEM}{ending}").stat().st_size > 10_000
    order = page.article.xpath(".//h1 | .//h2 | .//a[contains(@href, 'colab')]")
    assert [element.tag for element in order][:3] == ["h1", "a", "h2"]


def test_set_up_cell(page: Page):
    cell = page.article.xpath(".//div[contains(@class, 'highlight')]")[0].text_content().split("\n")
    assert set(SET_UP.split("\n")) <= {line.strip() for line in cell} | {""}
    assert any(line.startswith("quiet()") for line in cell)
    assert re.search(r"^from torch\.export import .*\bexport\b", "\n".join(cell), re.M)


def test_headings_that_others_link_to(page: Page):
    assert {"a", "a2-graph-module", "b", "summary"} <= page.ids


def test_a1_the_signature(page: Page):
    assert len(page.table(INPUT_SPECS).head) == 3


def test_a2_the_figure_has_both_stages_one_over_the_other(page: Page, figure: Figure):
    assert len(figure.labels) == 2
    assert "ep.graph (ExportedProgram)" in figure.labels[0]
    assert "ep.module() (GraphModule)" in figure.labels[1]
    before, after = (dict(line.lstrip("+−△ ").split(" = ", 1) for line in stage) for stage in figure.stages())
    assert set(before) == {spec[0] for spec in INPUT_SPECS} | {"conv2d", "batch_norm", "relu", "output"}
    assert set(after) == {*STATE, "x", "conv2d", "batch_norm", "relu", "output"}  # `_guards_fn` is never drawn


def test_a2_parameters_are_marked_as_gone_and_as_new(figure: Figure):
    before, after = figure.stages()
    assert [line.split(" = ")[0] for line in before if line.startswith("−")] == [f"− {s[0]}" for s in INPUT_SPECS[:-1]]
    assert [line.split(" = ")[0] for line in after if line.startswith("+")] == [f"+ {name}" for name in STATE]
    assert "−6" in figure.labels[0]
    assert "+6" in figure.labels[1]


def test_a2_the_nodes_of_the_module(page: Page):
    assert page.table(NODE_ROWS).head[:4] == ["#", "op", "name", "target"]


def test_a2_the_difference_is_printed_and_asserted(page: Page):
    assert any(re.search(r"(?<![\d.])0\.0$", line) for line in page.printed)
    assert re.search(r"^assert \w+ == 0\.0$", page.code, re.M)
    assert re.search(r"^assert [^\n]*get_attr[^\n]* == ", page.code, re.M)


def test_a3_meta(page: Page):
    assert len(page.table(META).head) == 4
    for name in ("quantization_annotation", "nn_module_stack", "common.pt2e.export_module()"):
        assert name in page.prose


def test_a3_the_answer_is_hidden_and_executed(page: Page):
    assert ANSWER[page.language] in page.printed
    hidden = page.article.xpath(".//details[not(@open)]//pre[contains(@class, 'pt2e-out')]")
    assert ANSWER[page.language] in [pre.text_content() for pre in hidden]


def test_b1_conv2d_is_a_packet_of_overloads(page: Page):
    (packet,) = [line for line in page.printed if OVERLOADS in line]
    assert "OpOverloadPacket" in packet
    assert any(re.search(r"\bOpOverload$", line) and "aten.conv2d.default" in line for line in page.printed)
    for schema in SCHEMAS:
        assert schema in page.printed
    assert re.search(r"^assert \w+\.target is torch\.ops\.aten\.conv2d\.default$", page.code, re.M)


def test_b2_three_styles(page: Page):
    assert len(page.table(STYLES).head) == 3
    assert TARGETS in page.printed
    for name in ("def fx_ops(gm", "def export_ops(gm", *(f"class {row[0]}(" for row in STYLES)):
        assert name in page.code


def test_b3_layers(page: Page):
    (layers,) = [table for table in page.tables if "F.conv2d" in [row[0] for row in table.rows]]
    names = ["nn.Conv2d", "F.conv2d", "torch.ops.aten.conv2d.default", "C++ kernel"]
    assert len(layers.rows) == 4
    assert all(name in row[0] for name, row in zip(names, layers.rows, strict=True))
    assert layers.rows[0][2] == layers.rows[1][2]  # gone, both of them
    assert "node.target" in layers.rows[2][2]


def test_b4_names_the_way_of_an_op_to_its_kernel(page: Page):
    for name in ("aten::add.Tensor", "torch.add", "M07-1"):
        assert name in page.prose
    assert any("CPU" in line and "Autograd" in line for table in page.tables for row in table.rows for line in row)


def test_worth_adding(page: Page):
    (constants,) = [table for table in page.tables if any("CONSTANT_TENSOR" in row for row in table.rows)]
    assert constants.rows[0][1:] == ["CONSTANT_TENSOR", "lifted_tensor_0"]
    for name in ("ep.constants", "check_guards=False", "Dim.AUTO"):
        assert name in page.prose
    assert any("0/1 specialized; Dim.AUTO was specified" in line for line in page.printed)
    assert any("Constraints violated (batch)!" in line for line in page.printed)


def test_it_links_what_it_names(page: Page):
    external = {"docs.pytorch.org/cppdocs", "torch.compiler_ir"}
    hrefs = " ".join(page.article.xpath(".//a/@href"))
    assert all(part in hrefs for part in external)
