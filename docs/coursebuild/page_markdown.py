"""What every page's Markdown gets on its way to HTML: the title's id, and tables that the keyboard can scroll."""

from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

TITLE_ID = "title"  # an explicit {#id} on the h1 of a source would show in titles and navigation


class _Page(Treeprocessor):
    def run(self, root: Element) -> None:
        """Before toc, which then takes the id for the heading's link, the table of contents and the search index."""
        for heading in root.iter("h1"):
            heading.set("id", TITLE_ID)
        for parent in list(root.iter()):
            for index, table in enumerate(list(parent)):
                if table.tag == "table" and "class" not in table.attrib:
                    headers = ("".join(cell.itertext()) for cell in table.iter("th"))
                    table.set("class", "pt2e-grid")
                    label = ", ".join(headers)
                    names = {"class": "pt2e-table", "tabindex": "0", "role": "region", "aria-label": label}
                    box = Element("div", names)
                    box.append(table)
                    box.tail, table.tail = table.tail, None
                    parent[index] = box


class PageExtension(Extension):
    """Give it to MkDocs in on_config: ``config.markdown_extensions.append(PageExtension())``."""

    def extendMarkdown(self, md: Markdown) -> None:
        # toc is 5; inline patterns, 20, and attr_list, 8, come first
        md.treeprocessors.register(_Page(md), "pt2e_page", 6)
