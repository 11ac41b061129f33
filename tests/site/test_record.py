"""What the chapters show today is what the repository has on record; so are the site's addresses."""

from lxml import html

from coursebuild import addresses, golden
from coursebuild.execution.cache import Cache
from coursebuild.project import Project, find_root
from tests.site.built import plain


def test_outputs_are_those_on_record(site):
    project = Project(find_root())
    cache = Cache(project.root)
    results = {chapter: cache.find(chapter) for chapter in project.chapters()}
    problems = golden.compare(project.root, golden.texts(results))
    assert not problems, "\n".join(map(str, problems))


def test_every_address_is_on_record(site):
    new = addresses.unlisted(find_root(), site.root)
    assert not new, f"run `make golden` to add to {addresses.LIST}:\n" + "\n".join(new)


def test_a_page_written_by_hand_is_called_what_its_heading_says(site):
    """MkDocs takes the heading if nothing stands before it, else the file's name; other pages have names from nav."""
    seen = set()
    for path in sorted(site.root.glob("*/*/index.html")):
        tree = html.fromstring(path.read_bytes())
        headings = tree.xpath("//article//h1")
        if (find_root() / "docs" / path.parent.relative_to(site.root)).with_suffix(".md").exists():
            seen.add(path.parent.name)
            title = " ".join(tree.xpath("string(//head/title)").split())
            assert title.startswith(f"{plain(headings[0])} - "), path
    assert {"about", "benchmark", "glossary", "verification"} <= seen


def test_short_links_lead_to_pages(site):
    for folder in site.root.iterdir():
        if folder.is_dir() and folder.name not in ("zh-TW", "en", "wheels"):
            text = (folder / "index.html").read_text(encoding="utf-8")
            for language in ("zh-TW", "en"):
                target = text.split(f'"{language}": "{site.base_path}')[1].split('"')[0]
                assert (site.root / target / "index.html").exists(), target
