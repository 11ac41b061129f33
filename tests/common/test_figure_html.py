"""A figure as HTML: ids, names for assistive technology, data for scripts, escaping, legend, headings."""

from __future__ import annotations

import json
import re

from lxml import html

from common.viz import Figure


def page(figure: Figure, id: str = "fig-3") -> html.HtmlElement:
    return html.fromstring(figure.html(id))


def text(elements: list[html.HtmlElement]) -> list[str]:
    return [" ".join(e.text_content().split()) for e in elements]


def test_all_ids_begin_with_the_given_one_and_are_unique(pt2e):
    figure = Figure(pt2e("residual"), title="Residual")
    ids = page(figure).xpath("//@id")
    assert ids[0] == "fig-3"
    assert all(i == "fig-3" or i.startswith("fig-3-") for i in ids)
    assert len(ids) == len(set(ids)) == 1 + 5 * 3  # heading, title and desc of each stage
    assert not set(ids) & set(page(figure, "fig-4").xpath("//@id"))


def test_each_drawing_has_a_title_and_a_description(program):
    figure = Figure([(program.graph_module, "ep.graph"), (program.module(), "ep.module()")], show_params=True)
    for drawing, label in zip(page(figure).xpath("//svg[@role='img']"), ("ep.graph", "ep.module()"), strict=True):
        root, names = drawing.getroottree(), drawing.get("aria-labelledby").split()
        title, desc = (root.xpath(f"//*[@id='{name}']")[0] for name in names)
        assert (title.tag, title.text_content()) == ("title", label)
        assert desc.tag == "desc"
        assert "batch_norm, relu, output" in desc.text_content()
    assert "gone in the next stage: p_conv_weight, p_bn_weight" in page(figure).xpath("//desc")[0].text_content()


def test_a_single_graph_is_named_by_its_caption(editing):
    drawing = page(Figure([(editing["start"], "")], title="The start"))
    assert drawing.xpath("//svg/title/text()") == ["The start"]
    assert drawing.xpath("//figcaption/text()") == ["The start"]
    assert not drawing.xpath("//*[@class='fx-head']")
    assert not page(Figure([(editing["start"], "")])).xpath("//figcaption")


def test_headings_count_the_marks_in_words(pt2e):
    heads = text(page(Figure(pt2e("conv_bn_relu"))).xpath("//*[@class='fx-head']"))
    assert heads[0] == "1 exported"
    assert heads[2] == "3 prepared +3 new △3 changed"
    assert heads[3] == "4 calibrated −3 gone in the next stage △3 changed"
    chinese = text(page(Figure(pt2e("conv_bn_relu")[2:], title="量化")).xpath("//*[@class='fx-head']"))
    assert chinese == ["1 prepared", "2 calibrated −3 下一階段消失 △3 有變動", "3 converted +5 新增"]


def test_nodes_carry_their_place_role_and_marks(program):
    figure = Figure([(program.graph_module, "a"), (program.module(), "b")], show_params=True)
    first, second = page(figure).xpath("//svg[@role='img']")
    gone = first.xpath(".//g[@data-node='p_conv_weight']")[0]
    new = second.xpath(".//g[@data-node='conv_weight']")[0]
    assert gone.get("data-place") == new.get("data-place")
    assert (gone.get("data-role"), gone.get("data-change")) == ("io", "gone")
    assert (new.get("data-role"), new.get("data-change")) == ("param", "new")
    assert new.xpath("./title/text()") == ["conv_weight: get_attr (parameter, constant), new, float32 [8, 3, 3, 3]"]
    assert len(first.xpath(".//*[contains(@class, 'fx-frame') and contains(@class, 'fx-is-gone')]")) == 6
    assert len(second.xpath(".//*[contains(@class, 'fx-frame') and contains(@class, 'fx-is-new')]")) == 6
    assert len(first.xpath(".//ellipse")) == 8
    assert len(second.xpath(".//*[contains(@class, 'fx-fold')]")) == 6


def test_a_quantize_dequantize_pair_has_one_frame(pt2e):
    drawing = page(Figure(pt2e("conv_bn_relu"))).xpath("//svg[@role='img']")[-1]
    assert len(drawing.xpath(".//*[contains(@class, 'fx-frame')]")) == 3  # x, the weight, the output
    assert len(drawing.xpath(".//*[contains(@class, 'fx-badge')]")) == 3
    pair = drawing.xpath(".//g[@data-node='quantize_per_tensor_default' or @data-node='dequantize_per_tensor_default']")
    assert len({g.get("data-place") for g in pair}) == 1


def test_eight_bit_values_have_thick_lines(pt2e):
    drawing = page(Figure(pt2e("conv_bn_relu"), show_params=True)).xpath("//svg[@role='img']")[-1]
    thick = {(e.get("data-from"), e.get("data-to")) for e in drawing.xpath(".//g[contains(@class, 'fx-int8')]")}
    assert thick == {
        ("quantize_per_tensor_default", "dequantize_per_tensor_default"),
        ("quantize_per_tensor_default_1", "dequantize_per_tensor_default_1"),
        ("quantize_per_channel_default", "dequantize_per_channel_default"),
    }


def test_the_legend_explains_what_occurs_and_nothing_else(editing, pt2e):
    assert text(page(Figure([(editing["start"], "")])).xpath("//ul/li")) == ["placeholder / output", "operation"]
    legend = text(page(Figure(pt2e("conv_bn_relu"), lang="zh-TW")).xpath("//ul/li"))
    assert legend == [
        "placeholder／output",
        "運算",
        "標註（spec）",
        "observer／fake-quant",
        "quantize／dequantize",
        "8 位元的值",
        "[—, —]：尚未看過資料",
    ]


def test_the_text_twin_is_in_the_page(pt2e):
    figure = Figure(pt2e("branches"), title="Annotations")
    (twin,) = page(figure).xpath("//details//pre")
    assert twin.text_content() == figure.text
    assert (twin.get("tabindex"), twin.get("aria-label")) == ("0", "Text version")


def test_the_text_twin_says_what_the_figure_shows(editing):
    figure = Figure([(editing["rewired"], "step 2"), (editing["function"], "step 4")], title="Replace")
    assert figure.text.splitlines() == [
        "Replace",
        "[1] step 2  −1 gone in the next stage",
        "   x = placeholder : float32 [N, 3, 16, 16]",
        "   conv2d = conv2d(x, ‹conv_weight›, ‹conv_bias›) : float32 [N, 8, 16, 16]",
        "   relu = relu(conv2d) : float32 [N, 8, 16, 16]",
        "−  scale_out = Scale(relu)",
        "   output = output(scale_out)",
        "[2] step 4  +1 new",
        "   x = placeholder : float32 [N, 3, 16, 16]",
        "   conv2d = conv2d(x, ‹conv_weight›, ‹conv_bias›) : float32 [N, 8, 16, 16]",
        "   relu = relu(conv2d) : float32 [N, 8, 16, 16]",
        "+  mul_tensor = mul(relu, 2.0)",
        "   output = output(mul_tensor)",
    ]


def test_the_language_follows_title_and_labels(editing):
    gm = editing["start"]
    languages = [
        Figure([(gm, "")], title="conv → relu").language,
        Figure([(gm, "")], title="起點").language,
        Figure([(gm, "起點")], title="start").language,
        Figure([(gm, "")], title="起點", lang="en").language,
    ]
    assert languages == ["en", "zh-TW", "zh-TW", "en"]


def test_data_for_scripts(pt2e):
    figure = Figure(pt2e("conv_bn_relu"))
    (block,) = page(figure).xpath("//script[@type='application/json']")
    data = json.loads(block.text)
    converted = data["stages"][4]["nodes"]
    quantize = converted["quantize_per_tensor_default"]
    assert data["stages"][4]["label"] == "converted"
    assert (quantize["role"], quantize["change"]) == ("quantize", ["new"])
    assert quantize["details"]["target"] == "quantized_decomposed.quantize_per_tensor.default"
    assert set(quantize["details"]) >= {"args", "users", "scale", "zero_point", "value"}
    assert len(data["places"]) == len(figure._places)
    place = figure._places[quantize["place"]]
    assert place.x > 0
    assert data["places"][quantize["place"]] == [place.x, place.y]
    assert data["stages"][3]["nodes"]["activation_post_process_0"]["details"]["module"] == "HistogramObserver"


def test_nothing_of_this_machine_is_in_the_page(pt2e):
    content = Figure(pt2e("branches"), show_params=True).html("f")
    assert not re.search(r"0x[0-9a-f]{6}|site-packages|/home/|/root/|/tmp/|\.py", content)


def test_html_can_stand_in_markdown(pt2e):
    assert not re.search(r"\n\s*\n|^\s{4}", Figure(pt2e("conv_bn_relu"), title="t").html("f"), re.MULTILINE)


def test_a_wide_figure_scrolls_and_says_so(pt2e, editing):
    wide = page(Figure(pt2e("conv_bn_relu"), show_params=True, title="Wide"))
    regions = wide.xpath("//div[@class='fx-scroll']")
    assert len(regions) == 5
    assert [(r.get("tabindex"), r.get("role"), r.get("aria-label")) for r in regions[:2]] == [
        ("0", "region", "exported (scroll sideways)"),
        ("0", "region", "annotated (scroll sideways)"),
    ]
    assert len(wide.xpath("//p[@class='fx-hint']")) == 5
    narrow = page(Figure([(editing["start"], "")]))
    assert not narrow.xpath("//div[@tabindex] | //p[@class='fx-hint']")


def test_per_row_is_in_the_style(program):
    stages = [(program.graph_module, "a"), (program.module(), "b")]
    assert "--fx-per-row: 1" in page(Figure(stages, per_row=1)).get("style")
    assert "--fx-per-row: 2" in page(Figure(stages)).get("style")


def test_standing_alone(editing):
    alone = Figure([(editing["start"], "")], title="Start")._repr_html_()
    card = html.fromstring(alone)
    assert card.get("class") == "fx-card"
    assert re.fullmatch("fx-[0-9a-f]{10}", card.get("id"))
    assert all(i.startswith(card.get("id")) for i in card.xpath("//@id"))
    assert not card.xpath("//script")
    style = card.xpath("./style")[0].text
    assert "data-md-color-scheme" not in style
    selectors = re.findall(r"(?:^|[{};])([^{};@]+)\{", style)
    assert len(selectors) > 50
    assert all(part.strip().startswith(f"#{card.get('id')}") for rule in selectors for part in rule.split(","))
    assert style.count("{") == style.count("}")


def test_the_graph_is_read_when_the_figure_is_made(editing):
    import copy

    gm = copy.deepcopy(editing["start"])
    figure = Figure([(gm, "")])
    before = figure.text
    relu = next(node for node in gm.graph.nodes if node.name == "relu")
    relu.replace_all_uses_with(relu.args[0])
    gm.graph.erase_node(relu)
    assert figure.text == before
    assert 'data-node="relu"' in figure.html("f")


def test_backticks_mark_code_in_captions_and_labels(editing):
    figure = Figure([(editing["start"], "`gm` before"), (editing["created"], "after")], title="What `add` does")
    shown = page(figure)
    assert [code.text for code in shown.xpath("//figcaption/code | //p/span/code")] == ["add", "gm"]
    assert shown.xpath("//svg/title/text()")[0] == "gm before"
    assert figure.text.splitlines()[:2] == ["What add does", "[1] gm before"]
