"""Readers find the page by a word of its title, an API, an error: in the real search box, in both languages."""

import contextlib

from playwright.sync_api import Page, TimeoutError

from coursebuild.server import Server
from tests.site.browsing import address, path_of, report, visit

M00_1, M00_4 = "m00/m00_1_export_and_aten", "m00/m00_4_editing_graphs"

# query → the pages, one of which must be among the first three found
QUERIES: dict[str, dict[str, set[str]]] = {
    "zh-TW": {
        "出來的圖": {M00_1},  # the middle of its title
        "圖操作": {M00_4},
        "改圖": {M00_4},
        "標註": {"m01/m01_2_annotations"},
        "量化": {"", "m00", M00_1, "glossary"},
        "觀察器": {"glossary", M00_4},
        "參數": {M00_1, "glossary", "labs/lab_m01"},
        "常數": {M00_1, M00_4},
        "prepare_pt2e": {M00_1, M00_4, "glossary"},
        "conv2d": {M00_1},
        "num_batches_tracked": {M00_1},
        "aten.conv2d.default": {M00_1},
        "replace_all_uses_with": {M00_4},
        "UnboundLocalError": {M00_4},
    },
    "en": {
        "what ATen is": {M00_1},
        "editing a graph": {M00_4},
        "annotation": {"m01/m01_2_annotations"},
        "observer": {"m02/m02_1_from_annotation_to_observer"},
        "prepare_pt2e": {"m02/m02_2_prepare_by_hand"},
        "conv2d": {M00_1},
        "num_batches_tracked": {M00_1},
        "_guards_fn": {M00_1, M00_4},
        "OpOverloadPacket": {M00_1},
        "batch was inferred to be a constant": {M00_1},
        "0/1 specialized": {M00_1},
        "lifted_tensor_0": {M00_1},
        "eliminate_dead_code": {M00_4},
        "used before it has been defined": {M00_4},
        "Tried to erase Node scale_out": {M00_4},
        "cannot access local variable": {M00_4},
    },
}


def search(page: Page, server: Server, language: str, query: str) -> list[str]:
    """The paths of the pages found, best first."""
    field = page.locator("[data-md-component=search-query]")
    if not field.is_visible():
        page.locator("label[for=__search]:visible").first.click()
    field.click()
    field.press("Control+a")
    field.press("Delete")
    page.wait_for_function("!document.querySelector('.md-search-result__item')")
    field.fill(query)
    field.press("End")  # Material waits for a key; what an input method writes ends with one
    page.wait_for_timeout(400)  # it searches as one types, and answers more than once
    with contextlib.suppress(TimeoutError):
        page.locator(".md-search-result__item").first.wait_for(timeout=3000)
    hrefs = page.locator(".md-search-result__link").evaluate_all("(links) => links.map((link) => link.href)")
    paths = [path_of(href, server).removeprefix(f"{language}/").strip("/") for href in hrefs]
    return list(dict.fromkeys(paths))


def test_search_finds_the_page(server: Server, page: Page, language: str):
    visit(page, address(server, language, ""))
    lost = {}
    for query, expected in QUERIES[language].items():
        found = search(page, server, language, query)
        if not expected & set(found[:3]):
            lost[query] = found
    assert not lost, report(lost)
