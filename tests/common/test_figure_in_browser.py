"""Figures in a real Chromium: text inside its shape in several fonts, places that stand still, schemes, phones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from common.viz import Figure, Table, stylesheet

pytestmark = pytest.mark.browser

FLAGS = ["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FONTS = {
    "the stylesheet's": (),
    "DejaVu": ("'DejaVu Sans Mono', monospace", "'DejaVu Sans', sans-serif"),
    "Liberation": ("'Liberation Mono', monospace", "'Liberation Sans', sans-serif"),
    "any": ("monospace", "sans-serif"),
}

# For each text, whether the corners of its box lie in the outline of its node. A row of text is as high as its font
# size here: the box that the browser gives has room for accents, too.
TEXTS = """() => [...document.querySelectorAll(".fx-drawing .fx-node > text")].map((text) => {
  const box = text.getBBox(), shape = text.closest(".fx-node").querySelector(".fx-shape > *");
  const middle = box.y + box.height / 2, size = parseFloat(getComputedStyle(text).fontSize);
  const point = (x, y) => Object.assign(text.ownerSVGElement.createSVGPoint(), {x, y});
  const inside = [box.x, box.x + box.width].every((x) =>
    [middle - size / 2, middle + size / 2].every((y) => shape.isPointInFill(point(x, y))));
  return {text: text.textContent, node: text.closest(".fx-node").dataset.node, inside};
})"""

CENTRES = """() => [...document.querySelectorAll(".fx-drawing")].map((svg) => {
  const groups = {};
  for (const node of svg.querySelectorAll("[data-place]")) {
    const box = node.querySelector(".fx-shape").getBBox(), group = groups[node.dataset.place] ??= [];
    group.push([box.x + box.width / 2, box.y, box.y + box.height]);
  }
  return Object.entries(groups).map(([place, boxes]) => {
    const top = Math.min(...boxes.map((b) => b[1])), bottom = Math.max(...boxes.map((b) => b[2]));
    return [place, Math.round(boxes[0][0]), Math.round((top + bottom) / 2)];
  });
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    from coursebuild.setup_env import find_browser

    path = find_browser()
    assert path, "no Chromium was found: install one or set CHROMIUM to its path"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


def document(*items: Figure | Table, extra: str = "", scheme: str = "default") -> str:
    body = "\n".join(item.html(f"item-{number}") for number, item in enumerate(items))
    return (
        f"<!doctype html><html lang='en'><meta name='viewport' content='width=device-width'>"
        f"<style>{stylesheet()} body {{ margin: 16px; font: 16px sans-serif }} {extra}</style>"
        f"<body data-md-color-scheme='{scheme}'>{body}</body></html>"
    )


@pytest.fixture(scope="module")
def figures(program, editing, pt2e) -> list[Figure]:
    export = [(program.graph_module, "ep.graph"), (program.module(), "ep.module()")]
    steps = [(editing[key], key) for key in ("start", "created", "rewired", "function", "constant")]
    return [
        Figure(export, show_params=True, per_row=1, title="參數從 placeholder 變成 get_attr"),
        Figure(steps, highlight=["scale_out"]),
        Figure([(editing["wrong"], "")]),
        Figure(pt2e("residual")),
        Figure(pt2e("branches"), show_params=True),
        Figure(pt2e("cnn"), lang="zh-TW"),
    ]


@pytest.mark.parametrize("font", FONTS)
def test_every_text_lies_inside_its_shape(browser, figures, font):
    from test_odd_graphs import NAMES, chain

    page = browser.new_page()
    rule = ".fx-drawing text {{ font-family: {} }} .fx-drawing .fx-note {{ font-family: {} }}"
    extra = rule.format(*FONTS[font]) if FONTS[font] else ""
    page.set_content(document(*figures, Figure([(chain(NAMES), "")]), extra=extra))
    texts = page.evaluate(TEXTS)
    page.close()
    assert len(texts) > 300
    assert [text for text in texts if not text["inside"]] == []


def test_a_place_has_one_centre_in_all_stages(browser, figures):
    page = browser.new_page()
    for figure in figures:
        page.set_content(document(figure))
        centres: dict[str, set[tuple[int, int]]] = {}
        for stage in page.evaluate(CENTRES):
            for place, x, y in stage:
                centres.setdefault(place, set()).add((x, y))
        assert all(max(y for _, y in at) - min(y for _, y in at) <= 1 for at in centres.values())
        assert all(max(x for x, _ in at) - min(x for x, _ in at) <= 1 for at in centres.values())
    page.close()


def test_stages_stand_beside_each_other_or_stacked(browser, program, editing):
    def corners(page: object) -> list[tuple[int, int]]:
        boxes = page.evaluate("[...document.querySelectorAll('.fx-drawing')].map((s) => s.getBoundingClientRect())")
        return [(round(box["x"]), round(box["y"])) for box in boxes]

    steps = [(editing[key], key) for key in ("start", "created", "rewired")]
    page = browser.new_page(viewport={"width": 720, "height": 600})
    page.set_content(document(Figure(steps)))
    assert len({y for _, y in corners(page)}) == 1, "three narrow stages fit in one row, and stand level"
    page.set_content(document(Figure(steps, per_row=2)))
    (x1, y1), (x2, y2), (x3, y3) = corners(page)
    assert (y1 == y2 < y3, x1 == x3 < x2) == (True, True)
    page.set_content(document(Figure(steps, per_row=1)))
    assert len({x for x, _ in corners(page)}) == 1
    page.set_viewport_size({"width": 375, "height": 600})
    page.set_content(document(Figure([(program.graph_module, "a"), (program.module(), "b")], show_params=True)))
    assert len({x for x, _ in corners(page)}) == 1
    page.close()


def test_no_page_gets_wider_than_a_phone(browser, figures):
    page = browser.new_page(viewport={"width": 375, "height": 700})
    table = Table([["a_name_that_is_long", "x" * 60, "1"]], ["name", "target", "#"], title="Wide")
    page.set_content(document(*figures, table))
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    overflow = "(e) => [e.scrollWidth > e.clientWidth, e.tabIndex]"
    for selector in (".fx-wide .fx-scroll", ".fx-table"):
        assert page.locator(selector).first.evaluate(overflow) == [True, 0]
        assert page.locator(selector).first.get_attribute("aria-label")
    assert page.locator(".fx-wide .fx-hint").first.is_visible()
    narrow = page.locator(".fx:not(.fx-wide) .fx-drawing")
    widths = narrow.evaluate_all("(all) => all.map((e) => e.getBoundingClientRect().width)")
    assert max(widths) <= 343
    page.close()


@pytest.mark.parametrize(("scheme", "paper", "ink"), [("default", 255, 27), ("slate", 30, 233)])
def test_colors_follow_the_scheme_of_the_page(browser, editing, scheme, paper, ink):
    page = browser.new_page()
    page.set_content(document(Figure([(editing["start"], "")], title="t"), scheme=scheme))
    fold = "getComputedStyle(document.querySelector('.fx-drawing text')).fill"
    assert page.evaluate(fold).startswith(f"rgb({ink}, ")
    paper_color = "getComputedStyle(document.querySelector('.fx')).getPropertyValue('--fx-paper')"
    assert f"{paper:02x}" in page.evaluate(paper_color)
    page.close()


def test_alone_it_is_light_on_any_page_and_changes_nothing_around_it(browser, editing):
    alone = Figure([(editing["start"], "")], title="t")._repr_html_()
    page = browser.new_page()
    page.set_content(
        "<body style='background: #111; color-scheme: dark'>"
        f"<figure class='fx'><figcaption>outside</figcaption></figure>{alone}</body>"
    )
    style = "(e) => { const s = getComputedStyle(e); return [s.backgroundColor, s.fontWeight, s.colorScheme]; }"
    assert page.locator(".fx-card").evaluate(style)[0] == "rgb(255, 255, 255)"
    assert page.locator(".fx-card text").first.evaluate("(e) => getComputedStyle(e).fill") == "rgb(27, 37, 48)"
    assert page.locator("figcaption", has_text="outside").evaluate(style)[1] == "400"
    page.close()
