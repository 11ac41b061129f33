"""MkDocs hooks: what a page needs at render time. Loaded by `hooks:` in mkdocs.yml; reads only what execution left."""

import json
import posixpath
import re
import sys
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import get_toc

sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[1:3]]

from common.figures.markup import stylesheet  # noqa: E402
from coursebuild import chrome, downloads, lab_page, links, reflow  # noqa: E402
from coursebuild.course import Course  # noqa: E402
from coursebuild.info import Info  # noqa: E402
from coursebuild.page_markdown import PageExtension  # noqa: E402
from coursebuild.project import LABS, LANGUAGES, Project  # noqa: E402
from coursebuild.stamps import WRITTEN  # noqa: E402

LINK = re.compile(r"(?<=\]\()chapter:[^)\s]+(?=\))|(?<=href=\")chapter:[^\"]+(?=\")")


class _State:
    """One render's project, course and build information."""

    def __init__(self, config: MkDocsConfig):
        root = Path(config.config_file_path).parent
        self.project = Project(root)
        self.course = Course(self.project)
        self.language = Path(config.docs_dir).name
        self.templates = config.theme.get_env()
        try:
            self.info = Info.load(root)
        except OSError:
            raise PluginError("the chapters haven't been executed yet: run `make build` first") from None


_state: _State | None = None


def _now() -> _State:
    assert _state is not None, "on_config runs first"
    return _state


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Addresses, navigation and what the templates read."""
    global _state
    _state = state = _State(config)
    if state.language not in LANGUAGES:
        raise PluginError(
            f"docs_dir must be docs/<language> with a language of {', '.join(LANGUAGES)}, not {config.docs_dir}"
        )
    config.site_url = f"{state.info.site_url}{state.language}/"
    config.nav = chrome.navigation(state.course, state.language, Path(config.docs_dir))
    config.markdown_extensions.append(PageExtension())
    config.extra["info"] = state.info
    config.extra["language"] = state.language
    config.extra["alternate"] = [
        {"name": chrome.NAMES[language], "link": f"{state.info.base_path}{language}/", "lang": language}
        for language in LANGUAGES
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The figures' stylesheet is common's own."""
    files.append(File.generated(config, "assets/figures.css", content=stylesheet()))
    return files


@event_priority(50)
def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Resolve `chapter:` links and fill in what is generated."""
    state = _now()
    uri = page.file.src_uri

    def link(match: re.Match) -> str:
        try:
            return links.relative(state.course, match[0], uri)
        except KeyError:
            raise PluginError(f"{uri}: the link {match[0]} names no chapter of docs/course.yml") from None

    markdown = LINK.sub(link, WRITTEN.sub("", markdown))  # with a stamp before it, MkDocs doesn't see the title
    if state.language == "zh-TW" and not chrome.is_chapter(
        uri, Path(config.docs_dir)
    ):  # a chapter's are joined already
        markdown = reflow.join(markdown)
    if (entry := state.course.by_page.get(uri)) and (goal := entry.goal.get(state.language)):
        page.meta.setdefault("description", goal)
    return chrome.fill(markdown, state.course, state.language, uri, state.info, Path(config.docs_dir), state.templates)


@event_priority(-50)
def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page of a lab in the chapters' markup; drawings stay out of the search index, which has their text twins."""
    if page.file.src_uri.endswith(".ipynb"):
        content = _lab(content, page, config)
    return content.replace("<svg ", "<svg data-search-exclude ")


def _lab(content: str, page: Page, config: MkDocsConfig) -> str:
    state, uri = _now(), page.file.src_uri
    book = nbformat.read(page.file.abs_src_path, as_version=4)
    permalink = config.mdx_configs["toc"]["permalink_title"]
    content, tokens = lab_page.page(content, book, f"docs/{state.language}/{uri}", state.language, permalink)
    page.toc = get_toc(tokens)
    page.present_anchor_ids = set(re.findall(r' id="([^"]+)"', content))  # so that MkDocs checks links into labs
    bar = chrome.lab_bar(posixpath.basename(uri), state.language, state.info)
    content = content.replace("</h1>", f"</h1>\n{bar}", 1)
    home = f"{state.info.site_url}{state.language}/"

    def link(match: re.Match) -> str:
        target = links.absolute(state.course, match[0], uri, home).removeprefix(home)
        path, _, fragment = target.partition("#")
        return (
            posixpath.relpath(path.rstrip("/") or ".", page.url.rstrip("/"))
            + "/"
            + (f"#{fragment}" if fragment else "")
        )

    return LINK.sub(link, content)


@event_priority(50)
def on_page_context(context: dict, page: Page, config: MkDocsConfig, nav) -> dict:
    """Where the page is edited, its other language, and its ledger line."""
    state = _now()
    page.edit_url = (
        f"{state.info.repo_url}/edit/main/{chrome.source_of(page.file.src_uri, state.language, state.project)}"
    )
    context["alternates"] = {language: f"{state.info.site_url}{language}/{page.url}" for language in LANGUAGES}
    ledger = Path(config.docs_dir, page.file.src_uri).with_suffix(".json")
    if ledger.exists():
        context["ledger"] = json.loads(ledger.read_text(encoding="utf-8"))
    return context


def on_post_build(config: MkDocsConfig) -> None:
    """The labs' notebooks for download, beside their pages and as free of the site's own as the chapters' are."""
    state = _now()
    home = f"{state.info.site_url}{state.language}/"
    for path in sorted(Path(config.docs_dir, LABS).glob("*.ipynb")):
        page = f"{LABS}/{path.name}"

        def resolve(link: str, page: str = page) -> str:
            return links.absolute(state.course, link, page, home)

        text = path.read_text(encoding="utf-8")
        book = downloads.lab(text, state.language, state.info, home + links.address(page), resolve)
        Path(config.site_dir, page).write_text(book, encoding="utf-8")
