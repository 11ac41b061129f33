"""Step 2: render both languages with MkDocs, add what belongs to no language, and put the site in its place."""

import contextlib
import datetime
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from coursebuild.info import Info
from coursebuild.problems import BuildError, Problem
from coursebuild.project import CONFIGS, LANGUAGES, Project

Renderers = dict[str, subprocess.Popen]  # by language


@contextlib.contextmanager
def waiting(project: Project) -> Iterator[Renderers]:
    """A MkDocs process for each language (`coursebuild.renderer`), which gets ready beside what else the build does."""
    path = os.pathsep.join([str(project.root), str(Path(__file__).resolve().parents[1])])
    environment = os.environ | {"PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "coursebuild.renderer", str(os.getpid())]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    renderers = {
        language: subprocess.Popen(command, cwd=project.root, env=environment, **pipes) for language in LANGUAGES
    }
    try:
        yield renderers
    finally:
        for process in renderers.values():
            process.kill()
            process.communicate()


def render(project: Project, info: Info, renderers: Renderers, strict: bool = True) -> Path:
    """Render into a new folder below `.cache/` and return it. Nothing of `site/` is touched."""
    staging = Path(tempfile.mkdtemp(prefix="site-", dir=project.cache))
    staging.chmod(0o755)
    try:
        for language, process in renderers.items():
            _tell(process, language, staging, info, strict)
        problems = [p for language, process in renderers.items() for p in _finish(process, CONFIGS[language])]
        if problems:
            raise BuildError(problems)
        _root(project, info, staging)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return staging


def _tell(process: subprocess.Popen, language: str, staging: Path, info: Info, strict: bool) -> None:
    arguments = [
        "build",
        "--strict" if strict else "--no-strict",
        "--quiet",
        "--config-file",
        CONFIGS[language],
        "--site-dir",
        str(staging / language),
    ]
    command = {"arguments": arguments, "environment": {"SOURCE_DATE_EPOCH": str(info.epoch)}}
    with contextlib.suppress(BrokenPipeError):  # it has ended, and `_finish` says why
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()


def _finish(process: subprocess.Popen, config: str) -> list[Problem]:
    output, _ = process.communicate()
    if process.returncode == 0:
        return []
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return [Problem(config, 1, f"MkDocs was ended by {name}", "build again; was there memory enough?")]
    lines = [line for line in output.split("\n") if re.match(r"(WARNING|ERROR|Error|Config)", line)] or output.split(
        "\n"
    )[-15:]
    return [
        Problem(
            config,
            1,
            "MkDocs stopped (every warning is an error here)",
            "\n".join(lines).strip() or "it printed nothing",
        )
    ]


def _root(project: Project, info: Info, staging: Path) -> None:
    """The root page, the one 404 page, sitemap, robots.txt, .nojekyll and the wheel."""
    templates = Environment(
        loader=FileSystemLoader(project.root / "docs" / "theme" / "root"),
        undefined=StrictUndefined,
        autoescape=True,
        keep_trailing_newline=True,
    )
    for name in templates.list_templates(extensions=["html"]):
        text = templates.get_template(name).render(site_url=info.site_url, base_path=info.base_path)
        staging.joinpath(name).write_text(text, encoding="utf-8")
    (staging / ".nojekyll").touch()
    (staging / "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {info.site_url}sitemap.xml\n", encoding="utf-8"
    )
    (staging / "sitemap.xml").write_text(_sitemap(info, staging), encoding="utf-8")
    (staging / "wheels").mkdir()
    shutil.copyfile(project.cache / "wheels" / info.wheel, staging / "wheels" / info.wheel)
    for language in LANGUAGES:
        for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):  # GitHub Pages serves the root's alone
            (staging / language / name).unlink(missing_ok=True)


def _sitemap(info: Info, staging: Path) -> str:
    """Every page with its counterparts in the other languages."""
    day = datetime.datetime.fromtimestamp(info.epoch, datetime.UTC).date().isoformat()
    first = staging / LANGUAGES[0]
    pages = sorted(p.parent.relative_to(first).as_posix() for p in first.rglob("index.html"))
    rows = []
    for page in pages:
        end = "" if page == "." else f"{page}/"
        where = {language: escape(f"{info.site_url}{language}/{end}") for language in LANGUAGES}
        same = "".join(f'<xhtml:link rel="alternate" hreflang="{k}" href="{v}"/>' for k, v in where.items())
        rows += [f"<url><loc>{where[language]}</loc><lastmod>{day}</lastmod>{same}</url>" for language in LANGUAGES]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
        + "\n".join(rows)
        + "\n</urlset>\n"
    )


def aside(project: Project, site: Path) -> Path:
    """Where the old site waits while the new one takes its place."""
    return project.cache / f"old-{hashlib.sha256(str(site).encode()).hexdigest()[:8]}"


def put_in_place(staging: Path, site: Path, old: Path) -> None:
    """Make the new folder the site. The old one is put aside until the new one has its name, and comes back if that
    fails."""
    if site.exists() and not site.is_dir():
        message = f"the site can't be written to {site}, which is a file"
        raise BuildError([Problem("docs/coursebuild/render.py", 1, message, "move it away, or name another folder")])
    try:
        if site.exists():
            site.rename(old)
        staging.rename(site)
    except BaseException:  # also a signal
        if old.exists() and not site.exists():
            old.rename(site)
        raise
    shutil.rmtree(old, ignore_errors=True)
