"""Tables and figures for chapters: `table`, `draw` and `draw_stages`.

Each shows its object at once and returns None: displayed in Jupyter, printed as text in a plain script, or handed to
whoever called `show_with`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch.fx import GraphModule

from common.figures.arguments import check_graph
from common.figures.figure import Figure, GraphvizMissing
from common.figures.markup import stylesheet
from common.figures.tables import Table

__all__ = ["Figure", "GraphvizMissing", "Table", "draw", "draw_stages", "show_with", "stylesheet", "table"]

_receiver: Callable[[Table | Figure], Any] | None = None


def table(rows: Iterable[Sequence[Any]], headers: Sequence[Any], *, title: str = "") -> None:
    """Show `rows` under `headers`. Cells are shown as their ``str``; `backticks` in them mark code.

    Raises:
        ValueError: a row has more or fewer cells than there are headers.
    """
    _show(Table(rows, headers, title))


def draw(
    gm: GraphModule,
    title: str = "",
    highlight: Iterable[str] = (),
    show_params: bool = False,
    *,
    like: Iterable[GraphModule] = (),
    lang: str | None = None,
) -> None:
    """Show one graph.

    Args:
        gm: the graph; it is read now, so later edits don't show.
        title: the caption; `backticks` mark code.
        highlight: names of nodes to stress.
        show_params: draw each get_attr as a node; otherwise it stands in its reader's label as ‹name›.
        like: graphs that take part in the layout but are not drawn, so that two figures can be compared.
        lang: language of the figure's own words, "en" or "zh-TW"; by default that of the title.

    Raises:
        TypeError: `gm` is no GraphModule. ValueError: `highlight` names no drawn node, or `lang` is unknown.
    """
    check_graph(gm, "draw")
    _show(Figure([(gm, "")], show_params, None, title, highlight, like, lang))


def draw_stages(
    stages: Sequence[tuple[GraphModule, str]],
    show_params: bool = False,
    per_row: int | None = None,
    title: str = "",
    highlight: Iterable[str] = (),
    *,
    like: Iterable[GraphModule] = (),
    lang: str | None = None,
) -> None:
    """Show stages of a graph, ``[(graph module, label), …]``: a node that persists stands at the same place in all.

    What is new against the stage before, gone in the next or changed is marked and counted in each stage's heading.
    Nodes match by name; one with another operation, other arguments or another state counts as changed. A graph that is
    edited or calibrated in place must be copied (``copy.deepcopy``) to be kept as a stage. For the other arguments see
    `draw`.

    Args:
        per_row: how many stages stand side by side at most (1: one over the other); None: as many as fit.

    Raises:
        TypeError: `stages` is no list of (GraphModule, str). ValueError: it is empty, or as in `draw`.
    """
    _show(Figure(stages, show_params, per_row, title, highlight, like, lang))


def show_with(receiver: Callable[[Table | Figure], Any] | None) -> None:
    """Hand every Table and Figure to `receiver` instead of showing it; None restores showing."""
    global _receiver
    _receiver = receiver


def _show(item: Table | Figure) -> None:
    if _receiver is not None:
        _receiver(item)
    elif _in_ipython():
        from IPython.display import display

        display(item)
    else:
        print(item.text)
        if isinstance(item, Figure) and (hint := item.missing):
            print(hint)


def _in_ipython() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return get_ipython() is not None
