"""Where links lead: `chapter:` links, and their counterparts in downloads."""

import posixpath
import re

from coursebuild.course import Course, Entry

LINK = re.compile(r"chapter:(?P<key>[A-Za-z0-9_]+)(?:#(?P<id>[\w-]+))?")
MAP = "index.md"  # the page with the course map, in each language


def target(course: Course, link: str) -> tuple[str, str]:
    """(page source below docs/<language>, fragment) of `chapter:<key>#<id>`: the page itself, or, while it isn't
    written, its line on the course map. An unknown key raises KeyError."""
    match = LINK.fullmatch(link)
    if not match or match["key"] not in course.by_key:
        raise KeyError(link)
    entry = course.by_key[match["key"]]
    if course.exists(entry):
        return entry.page, match["id"] or ""
    return MAP, entry.anchor


def relative(course: Course, link: str, page: str) -> str:
    """The link as Markdown wants it on the page `page` (its source below docs/<language>)."""
    source, fragment = target(course, link)
    path = posixpath.relpath(source, posixpath.dirname(page) or ".")
    return path + (f"#{fragment}" if fragment else "")


def absolute(course: Course, link: str, page: str, home: str) -> str:
    """The link's address; `home`: that of the language's home page. Addresses of other sites come back as they are."""
    if re.match(r"[a-z]+://|mailto:", link):
        return link
    if link.startswith("chapter:"):
        source, fragment = target(course, link)
    else:
        path, _, fragment = link.partition("#")
        source = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return home + address(source) + (f"#{fragment}" if fragment else "")


def address(source: str) -> str:
    """A page's address below its language's home: `m00/index.md` → `m00/`, `m00/x.md` → `m00/x/`."""
    stem, extension = posixpath.splitext(source)
    if extension not in (".md", ".ipynb"):
        return source
    return stem.removesuffix("index") if posixpath.basename(stem) == "index" else f"{stem}/"


def page_of(entry: Entry) -> str:
    """An entry's address below its language's home."""
    return address(entry.page)
