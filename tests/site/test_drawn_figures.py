"""Figures as a browser draws them: places that stay, labels that fit."""

from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page

from coursebuild.server import Server
from tests.site.browsing import address, report, unfold, visit
from tests.site.built import BuiltSite

# Every node of a figure: its place, and the boxes of its shape and its texts in the drawing's own coordinates.
NODES = """() => [...document.querySelectorAll("figure.fx")].map((figure) => ({
  id: figure.id,
  stages: [...figure.querySelectorAll("svg.fx-drawing")].map((svg) => ({
    width: svg.viewBox.baseVal.width,
    nodes: [...svg.querySelectorAll("[data-place]")].map((node) => {
      const box = ({x, y, width, height}) => ({left: x, top: y, right: x + width, bottom: y + height});
      return {
        name: node.dataset.node, place: node.dataset.place, role: node.dataset.role,
        shape: box(node.querySelector(".fx-shape").getBBox()),
        texts: [...node.querySelectorAll("text")].map((text) => ({text: text.textContent, box: box(text.getBBox())})),
      };
    }),
  })),
}))"""


class Box(NamedTuple):
    """A rectangle in a drawing."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def x(self) -> float:
        """Its middle, from the left."""
        return (self.left + self.right) / 2

    @property
    def y(self) -> float:
        """Its middle, from the top."""
        return (self.top + self.bottom) / 2

    @classmethod
    def around(cls, boxes: list["Box"]) -> "Box":
        """The smallest one that holds them all."""
        left, top, right, bottom = zip(*boxes, strict=True)
        return cls(min(left), min(top), max(right), max(bottom))


def nodes(page: Page) -> list[dict[str, Any]]:
    """Every node of every figure (see NODES)."""
    unfold(page)
    return page.evaluate(NODES)


def test_a_place_is_the_same_in_all_stages(server: Server, site: BuiltSite, page: Page, language: str):
    compared = 0
    for path in site.chapters():
        visit(page, address(server, language, path))
        for figure in nodes(page):
            where = f"{path}#{figure['id']}"
            assert len({stage["width"] for stage in figure["stages"]}) == 1, f"{where}: drawings of different widths"
            places: dict[str, list[Box]] = {}
            for stage in figure["stages"]:
                together: dict[str, list[Box]] = {}
                for node in stage["nodes"]:  # a quantize and its dequantize share a place
                    together.setdefault(node["place"], []).append(Box(**node["shape"]))
                for place, boxes in together.items():
                    places.setdefault(place, []).append(Box.around(boxes))
            for place, boxes in places.items():
                for box in boxes[1:]:
                    compared += 1
                    assert box.y == pytest.approx(boxes[0].y, abs=0.2), f"{where}, place {place}"
                    # parameters stacked beside their reader are aligned at the side where their edges begin
                    aligned = abs(box.x - boxes[0].x) < 0.2 or abs(box.right - boxes[0].right) < 0.2
                    assert aligned, f"{where}, place {place}: {boxes}"
    assert compared > 0


# What sits on an edge is named by a number, so in two versions of a graph one name can mean two things.
NUMBERED = {"observer", "quantize", "dequantize", "annotation"}


def test_a_node_that_persists_does_not_move(server: Server, site: BuiltSite, page: Page, language: str):
    compared = 0
    for path in site.chapters():
        visit(page, address(server, language, path))
        for figure in nodes(page):
            seen: dict[tuple[str, str], tuple[str, Box]] = {}
            for stage in figure["stages"]:
                places: dict[str, list[Box]] = {}  # a quantize and its dequantize share one
                for node in stage["nodes"]:
                    places.setdefault(node["place"], []).append(Box(**node["shape"]))
                for node in stage["nodes"]:
                    if node["role"] in NUMBERED:
                        continue
                    box = Box.around(places[node["place"]])
                    place, first = seen.setdefault((node["name"], node["role"]), (node["place"], box))
                    compared += first is not box
                    where = f"{path}#{figure['id']}: {node['name']}"
                    assert place == node["place"], where
                    assert (box.x, box.y) == pytest.approx((first.x, first.y), abs=0.2), where
    assert compared > 0


def test_every_label_lies_inside_its_shape(server: Server, site: BuiltSite, page: Page, language: str):
    outside, seen = {}, 0
    for path in site.chapters():
        visit(page, address(server, language, path))
        for figure in nodes(page):
            for node in (node for stage in figure["stages"] for node in stage["nodes"]):
                shape, together = Box(**node["shape"]), [Box(**text["box"]) for text in node["texts"]]
                seen += len(together)
                if together and Box.around([shape, *together]) != shape:
                    outside.setdefault(f"{path}#{figure['id']}", []).append(node)
    assert not outside, report(outside)
    assert seen > 0
