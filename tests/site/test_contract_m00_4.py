"""What M00-4 promises is on the page, in both languages: every table row, every printed value, every error."""

import re

import pytest

from tests.site.built import BuiltSite, Figure, Page

STEM = "m00_4_editing_graphs"
TITLE = {
    "zh-TW": "M00-4 | 改圖：後面會用到的 torch.fx 圖操作",
    "en": "M00-4 | Editing a graph: the torch.fx operations used later",
}
STEPS = [  # step, API, used in
    ["1", ["add_submodule", "inserting_after", "call_module"], ["M02-2"]],
    ["2", ["replace_all_uses_with(delete_user_cb=...)"], ["M02-2"]],
    ["3", ["recompile"], ["M02-2", "M02-3"]],
    ["4", ["inserting_before", "call_function", "erase_node"], ["M02-3"]],
    ["5", ["register_buffer", "get_attr"], ["M02-3"]],
    ["6", ["eliminate_dead_code", "lint"], ["M02-3"]],
]
WHAT = [
    "insert a new node",
    "rewire the users",
    "regenerate forward",
    "replace it by a call_function",
    "put a constant in the graph",
    "clean up and check",
]
SUMMARY = [
    [
        "insert an observer",
        "add_submodule + inserting_after + call_module + replace_all_uses_with(delete_user_cb=...)",
    ],
    [
        "observer → q/dq",
        "inserting_before + call_function + replace_all_uses_with + erase_node (+ delete_submodule)",
    ],
    ["store scale/zero point", "a Python constant in the args, or register_buffer + get_attr"],
    ["finish", "eliminate_dead_code, lint, recompile"],
]
SET_UP = """
import copy
import torch
from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw
quiet()
_ = torch.manual_seed(0)
"""
LINT = (
    "Argument 'scale_out' of Node 'scale_out' was used before it has been defined! "
    "Please check that Nodes in the graph are topologically ordered"
)
ERASE = "Tried to erase Node scale_out but it still had 1 users in the graph: {output: None}!"
PRINTED = [  # in the order of the steps
    "relu.args = (conv2d,)",
    "relu.users = [output]",
    "scale.users = []",
    "scale_out.args = (scale_out,)",
    LINT,
    "relu.users = [scale_out]",
    "scale.args = (relu,)",
    ERASE,
]
FIGURES = [  # name → who takes what, of the nodes from relu on, in each figure
    {"relu": "conv2d", "output": "relu"},
    {"relu": "conv2d", "scale_out": "relu", "output": "relu"},
    {"relu": "conv2d", "scale_out": "scale_out", "output": "scale_out"},
    {"relu": "conv2d", "scale_out": "relu", "output": "scale_out"},
    {"relu": "conv2d", "mul": "relu", "output": "mul"},
    {"relu": "conv2d", "mul": "relu", "output": "mul"},
]


@pytest.fixture
def page(site: BuiltSite, language: str) -> Page:
    """The chapter."""
    return site.page(language, f"m00/{STEM}")


def split(cell: str) -> list[str]:
    """The items of a cell, whatever punctuation the language puts between them."""
    return re.split(r"[、,]\s*", cell)


def test_title(page: Page):
    assert page.title == TITLE[page.language]
    assert TITLE[page.language].partition(" | ")[2] in page.tree.xpath("//head/title/text()")[0]


def test_it_opens_with_colab_and_its_downloads(site: BuiltSite, page: Page):
    (colab,) = page.links(f"/{page.language}/m00/{STEM}.ipynb")
    assert colab.startswith("https://colab.research.google.com/github/")
    for ending in (".py", ".ipynb"):
        assert page.links(f"../{STEM}{ending}") == [f"../{STEM}{ending}"]
        assert (site.root / page.language / "m00" / f"{STEM}{ending}").stat().st_size > 10_000


def test_the_six_steps(page: Page):
    table = page.table([[str(number)] for number in range(1, 7)])
    assert [[row[0], split(row[2]), split(row[3])] for row in table.rows] == STEPS
    if page.language == "en":
        assert [row[1] for row in table.rows] == WHAT


def test_set_up_cell_and_helpers(page: Page):
    cell = page.article.xpath(".//div[contains(@class, 'highlight')]")[0].text_content().split("\n")
    assert set(SET_UP.split("\n")) <= {line.strip() for line in cell} | {""}
    assert "def first_line(e" in page.code
    assert "class Scale(" in page.code


def test_headings_that_others_link_to(page: Page):
    assert {f"step-{number}" for number in range(1, 7)} <= page.ids


def test_the_cells_say_that_they_run_in_order(page: Page):
    first = page.article.xpath(".//div[contains(@class, 'admonition')] | .//h2")[0]
    assert first.tag == "div"
    assert "gm" in first.text_content()


def test_what_is_printed_in_its_order(page: Page):
    rest = iter(page.printed)
    for line in PRINTED:
        assert line in rest, f"{line!r} is not printed, or not in its place"


def test_step_3_before_and_after_recompile(page: Page):
    true = [line for line in page.printed if re.search(r"\bTrue$", line)]
    assert len(true) == 2
    assert "recompile()" in true[0]
    assert re.search(r"^assert torch\.equal\(gm\(x\), base\)$", page.code, re.M)
    assert re.search(r"^assert torch\.allclose\(gm\(x\), 2 \* base\)$", page.code, re.M)


def test_step_6_counts_the_nodes(page: Page):
    assert any(re.search(r"\b10 → 9$", line) for line in page.printed)
    assert re.search(r"startswith\(\"neg\"\)", page.code)


@pytest.mark.parametrize("error", [LINT, ERASE])
def test_the_errors_are_asserted(page: Page, error: str):
    strings = " ".join(re.sub(r"\"\s*\n\s*\"", "", page.code).split())  # adjacent strings are one
    assert f'== "{error}"' in strings or f'== ( "{error}" )' in strings


def test_the_figures(page: Page):
    assert len(page.figures) == 6
    for figure, expected in zip(page.figures, FIGURES, strict=True):
        assert takes(figure) == expected, figure.caption
    assert len({figure.caption for figure in page.figures}) == 6


def takes(figure: Figure) -> dict[str, str]:
    """Name of each node from relu on → the nodes that it takes, by the figure's text twin."""
    found = {}
    (stage,) = figure.stages()
    for line in stage:
        name, _, call = line.lstrip("+−△ ").partition(" = ")
        arguments = re.search(r"\(([^()]*)\)", call)
        nodes = re.findall(r"(?<![‹\w.])(?:conv2d|relu|scale_out|mul\w*)\b", arguments[1] if arguments else call)
        if name in ("relu", "scale_out", "output") or name.startswith("mul"):
            found[re.sub(r"^mul\w*", "mul", name)] = re.sub(r"mul\w*", "mul", ", ".join(nodes))
    return found


def test_captions_say_which_step_they_follow(page: Page):
    step = {"zh-TW": "步驟 {}", "en": "tep {}"}[page.language]
    assert [step.format(n) in f.caption for n, f in zip((1, 2, 2, 4, 5), page.figures[1:], strict=True)] == [True] * 5


def test_the_constant_of_step_5_stands_in_the_label_of_its_user(page: Page):
    last = page.figures[-1]
    (line,) = [line for line in last.stages()[0] if "‹two›" in line]
    assert line.lstrip("+−△ ").startswith("mul")


def test_the_number_of_step_4_is_no_node(page: Page):
    (line,) = [line for line in page.figures[4].stages()[0] if line.lstrip("+−△ ").startswith("mul")]
    assert "2.0" in line


def test_summary(page: Page):
    (table,) = [table for table in page.tables if any(row[-1] == SUMMARY[0][1] for row in table.rows)]
    assert len(table.rows) == 4
    if page.language == "en":
        assert table.rows == SUMMARY
    assert [row[1] for row in table.rows][:2] == [row[1] for row in SUMMARY][:2]
    assert table.rows[2][1].endswith("register_buffer + get_attr")
    assert table.rows[3][1] == SUMMARY[3][1]


def test_worth_adding(page: Page):
    for name in ("UnboundLocalError", "_guards_fn", "add_", 'meta["val"]', "node.target"):
        assert name in page.prose
    error = "cannot access local variable 'scale_out' where it is not associated with a value"
    assert f"UnboundLocalError: {error}" in page.printed
    assert "Traceback" not in "\n".join(page.outputs)  # FX prints one to stderr


def test_it_links_what_it_names(page: Page):
    assert "https://docs.pytorch.org/docs/stable/fx.html" in page.article.xpath(".//a/@href")
