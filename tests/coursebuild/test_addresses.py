"""Published addresses stay, or lead to where their content went."""

import pytest

from coursebuild import addresses
from coursebuild.problems import BuildError

PAGE = (
    '<html><head><title>t</title></head><body><article><h1 id="title">T</h1><h2 id="a">A</h2>'
    '<figure class="fx" id="a-figure-1"><svg><g id="a-figure-1-n"/></svg></figure>'
    '<div class="fx-table" id="a-table-1"></div><ul><li id="m00-3">x</li></ul></article>'
    '<h2 id="outside">O</h2></body></html>'
)


@pytest.fixture
def place(tmp_path):
    """A project root, and a site with one page a language."""
    site = tmp_path / "site"
    for language in ("zh-TW", "en"):
        for page in ("", "m00/"):
            (site / language / page).mkdir(parents=True, exist_ok=True)
            (site / language / page / "index.html").write_text(PAGE)
    (tmp_path / "docs").mkdir()
    return tmp_path, site


def test_what_counts_as_an_address(place):
    _, site = place
    ids = {"title", "a", "a-figure-1", "a-table-1", "m00-3"}
    assert addresses.of_site(site, "en") == {"./", "m00/"} | {f"{page}#{i}" for page in ("./", "m00/") for i in ids}


def test_recording_adds_and_never_removes(place):
    root, site = place
    assert len(addresses.record(root, site)) == 12
    assert addresses.record(root, site) == [] == addresses.unlisted(root, site)
    for language in ("zh-TW", "en"):
        (site / language / "m00").rename(site / language / "m99")
    assert addresses.record(root, site)[0] == "m99/"
    assert {"m00/#a", "m99/#a"} <= set(addresses.published(root))


def test_an_address_that_is_gone_is_named_with_its_line(place):
    root, site = place
    addresses.record(root, site)
    for language in ("zh-TW", "en"):
        (site / language / "m00" / "index.html").write_text(PAGE.replace('id="a"', 'id="b"'))
    found = addresses.check(root, site)
    line = (root / addresses.LIST).read_text().split("\n").index("m00/#a") + 1
    assert [(p.path, p.line, p.message) for p in found] == [
        (addresses.LIST, line, f"{language}/m00/#a was published and is gone") for language in ("zh-TW", "en")
    ]


def redirected(root, site, text):
    (root / addresses.REDIRECTS).write_text(text)
    addresses.write_redirects(root, site, "/base/")
    return addresses.check(root, site)


def test_a_renamed_id_leads_on_in_its_page(place):
    root, site = place
    addresses.record(root, site)
    for language in ("zh-TW", "en"):
        (site / language / "m00" / "index.html").write_text(PAGE.replace('id="a"', 'id="b"'))
    assert redirected(root, site, "m00/#a: m00/#b\n") == []
    assert '<span id="a"></span><h2 id="b">' in (site / "en" / "m00" / "index.html").read_text()


def test_a_page_that_moved_leads_on_with_its_fragment(place):
    root, site = place
    addresses.record(root, site)
    for language in ("zh-TW", "en"):
        (site / language / "m00").rename(site / language / "m99")
    assert redirected(root, site, "m00/: m99/\nm00/#a-table-1: ./#a\n") == []
    text = (site / "en" / "m00" / "index.html").read_text()
    assert '"#a-table-1": "/base/en/./#a"' in text and '"/base/en/m99/"+location.hash' in text
    assert 'http-equiv="refresh" content="0;url=/base/en/m99/"' in text
    assert "m00/" not in addresses.of_site(site, "en"), "a page that sends its reader on is no page"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("m00/: m99/\na: [\n", 3, "can't be read: expected the node"),
        ("m00/: m99/\n../../x/: m00/\n", 2, "`../../x/` is no address"),
        ("/etc/x/: m00/\n", 1, "`/etc/x/` is no address"),
        ("m00/: https://example.org/\n", 1, "`https://example.org/` is no address"),
    ],
)
def test_redirects_that_are_no_addresses(place, text, line, words):
    root, _ = place
    (root / addresses.REDIRECTS).write_text(text)
    with pytest.raises(BuildError) as error:
        addresses.redirects(root)
    (problem,) = error.value.problems
    assert (problem.path, problem.line) == (addresses.REDIRECTS, line) and words in problem.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("m00/#a: m00/#nowhere\n", "m00/#nowhere doesn't exist"),
        ("m00/#a: m00/#title\n", "m00/#a exists, so nothing is to be redirected"),
    ],
)
def test_wrong_redirects(place, text, words):
    root, site = place
    assert words in " ".join(p.message for p in redirected(root, site, text))


def test_redirects_that_cannot_be_read(place):
    root, site = place
    with pytest.raises(BuildError, match="isn't a list of `old: new`"):
        redirected(root, site, "- m00/\n")


def test_short_links(place):
    _, site = place
    addresses.write_short_links(site, "/base/", {"m00-1": "m00/m00_1_export_and_aten/"})
    text = (site / "m00-1" / "index.html").read_text()
    assert '"zh-TW": "/base/zh-TW/m00/m00_1_export_and_aten/"' in text and "+location.hash" in text
    assert 'href="/base/en/m00/m00_1_export_and_aten/"' in text
