"""Lay the results of the chapters out as plain files beside the hand-written pages, for the rendering step."""

import json
import shutil
from pathlib import Path

from coursebuild import downloads, links, stamps
from coursebuild.course import Course
from coursebuild.info import Info
from coursebuild.project import LABS, Chapter, Project

BUNDLE = "downloads/pt2e-graph-by-graph-{language}.zip"


def lay_out(project: Project, language: str, results: dict[Chapter, Path], course: Course, info: Info) -> None:
    """Write docs/<language>/<module>/ for every module, and the zip of all scripts; remove what no chapter made."""
    docs = project.root / "docs" / language
    home = f"{info.site_url}{language}/"
    wanted, scripts = set(), {}
    for chapter, result in results.items():
        page = f"{chapter.module}/{chapter.stem}.md"
        address = home + links.address(page)

        def resolve(link: str, page: str = page) -> str:
            return links.absolute(course, link, page, home)

        source = (project.root / chapter.source).read_text(encoding="utf-8")
        script = downloads.script(source, language, info, address, resolve)
        book = downloads.notebook(
            (result / "notebook.ipynb").read_text(encoding="utf-8"), language, info, address, resolve
        )
        ledger = json.dumps(downloads.ledger(result, chapter, info), ensure_ascii=False, indent=1) + "\n"
        markdown = (result / "page.md").read_text(encoding="utf-8")
        scripts[f"{chapter.module}/{chapter.stem}.py"] = script
        for suffix, text in ((".md", markdown), (".py", script), (".ipynb", book), (".json", ledger)):
            wanted.add(_write(docs / chapter.module / f"{chapter.stem}{suffix}", text))
    for module in project.modules(language):
        readme = project.root / "examples" / language / module / "README.md"
        if readme.exists():
            wanted.add(_write(docs / module / "index.md", stamps.strip(readme.read_text(encoding="utf-8")).lstrip()))
        for path in (docs / module).rglob("*") if (docs / module).is_dir() else []:
            if path.is_file() and path not in wanted:
                path.unlink()
    for folder in docs.iterdir():  # a module whose folder is gone from examples/
        if (
            folder.is_dir()
            and folder.name not in {*project.modules(language), LABS, "downloads"}
            and _generated(folder)
        ):
            shutil.rmtree(folder)
    (docs / "downloads").mkdir(exist_ok=True)
    downloads.bundle(docs / BUNDLE.format(language=language), scripts, info.epoch)


def _generated(folder: Path) -> bool:
    """Whether a folder holds nothing but what this module writes: a page with its ledger beside it."""
    pages = [p for p in folder.glob("*.md") if p.name != "index.md"]
    return bool(pages) and all(p.with_suffix(".json").exists() for p in pages)


def _write(path: Path, text: str) -> Path:
    """Write whole or not at all, and only what differs, so that a file's time says when it changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        new = path.with_name(f".{path.name}.new")
        new.write_text(text, encoding="utf-8", newline="\n")
        new.replace(path)
    return path
