"""Addresses that readers may have kept: every published page and id stays, or leads to where its content went.

`docs/addresses.txt` lists them, one a line, below the language's folder: `m00/`, `m00/#map`, … An address that a build
no longer has must stand in `docs/redirects.yml` (`old: new`).
"""

import html
import json
import re
from pathlib import Path

import yaml
from lxml import html as lxml_html

from coursebuild.problems import BuildError, Problem
from coursebuild.project import LANGUAGES

HEAD = "# Every address ever published, below /zh-TW/ and /en/. Written by `make golden`; no line is ever removed.\n"
LIST, REDIRECTS = "docs/addresses.txt", "docs/redirects.yml"
ADDRESS = re.compile(r"(?:\./|(?:[\w-]+/)+)(?:#[\w.-]+)?")
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}


def of_site(site: Path, language: str) -> set[str]:
    """The addresses of a built language: its pages, and in each the ids of headings, figures, tables and list items."""
    found = set()
    for path in (site / language).rglob("index.html"):
        page = path.parent.relative_to(site / language).as_posix()
        page = f"{page}/"  # the home page is "./"
        tree = lxml_html.fromstring(path.read_bytes())
        if tree.find(".//meta[@name='redirect']") is not None:
            continue
        found.add(page)
        for article in tree.iter("article"):
            for element in article.iter("h1", "h2", "h3", "h4", "h5", "h6", "figure", "div", "li"):
                own = element.get("id")
                if (
                    own
                    and (
                        element.tag in HEADINGS
                        or element.tag == "figure"
                        or element.tag == "li"
                        or "fx-table" in (element.get("class") or "")
                    )
                    and not inside_figure(element)
                ):
                    found.add(f"{page}#{own}")
    return found


def inside_figure(element) -> bool:
    """Whether an element is a part of a figure: those ids are the figure's own affair."""
    return any("fx" in (a.get("class") or "").split() for a in element.iterancestors("figure"))


def published(root: Path) -> list[str]:
    """The addresses of the list, in its order."""
    path = root / LIST
    return (
        [line for line in path.read_text(encoding="utf-8").split("\n") if line and not line.startswith("# ")]
        if path.exists()
        else []
    )


def redirects(root: Path) -> dict[str, str]:
    """Old address → new address."""
    path = root / REDIRECTS
    if not path.exists():
        return {}
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        mark = getattr(error, "problem_mark", None)
        said = str(getattr(error, "problem", error))
        raise BuildError(
            [Problem(REDIRECTS, mark.line + 1 if mark else 1, f"can't be read: {said}", "write YAML, as UTF-8")]
        ) from None
    if not isinstance(found, dict) or not all(isinstance(k, str) and isinstance(v, str) for k, v in found.items()):
        raise BuildError(
            [Problem(REDIRECTS, 1, "isn't a list of `old: new`", "write each as `m00/old/#id: m00/new/#id`")]
        )
    if wrong := [text for pair in found.items() for text in pair if not ADDRESS.fullmatch(text)]:
        places = _places(root)
        raise BuildError(
            Problem(
                REDIRECTS,
                places.get(text, 1),
                f"`{text}` is no address below a language's folder",
                "write it as in docs/addresses.txt: `m00/old/#id`",
            )
            for text in wrong
        )
    return found


def check(root: Path, site: Path) -> list[Problem]:
    """Addresses that were published and are gone, redirects that lead nowhere or are in the way."""
    moved, problems = redirects(root), []
    lines = {line: i for i, line in enumerate(_lines(root, LIST), 1)}
    places = _places(root)
    for language in LANGUAGES:
        there = of_site(site, language)
        for address in published(root):
            page = address.partition("#")[0]
            if address not in there and address not in moved and page not in moved:
                problems.append(
                    Problem(
                        LIST,
                        lines[address],
                        f"{language}/{address} was published and is gone",
                        f"bring it back, or say in {REDIRECTS} where it went: `{address}: …`",
                    )
                )
        for old, new in moved.items():
            if old in there:
                problems.append(
                    Problem(
                        REDIRECTS,
                        places.get(old, 1),
                        f"{language}/{old} exists, so nothing is to be redirected",
                        "remove the line",
                    )
                )
            if new not in there:
                problems.append(
                    Problem(
                        REDIRECTS, places.get(old, 1), f"{language}/{new} doesn't exist", "name an address that does"
                    )
                )
    return problems


def _places(root: Path) -> dict[str, int]:
    """Old address → its line in the list of redirects."""
    return {line.split(": ")[0].strip("'\""): i for i, line in enumerate(_lines(root, REDIRECTS), 1)}


def _lines(root: Path, name: str) -> list[str]:
    return (root / name).read_text(encoding="utf-8").split("\n") if (root / name).exists() else []


def unlisted(root: Path, site: Path) -> list[str]:
    """Addresses of the site that the list lacks."""
    return sorted(of_site(site, LANGUAGES[0]) - set(published(root)))


def record(root: Path, site: Path) -> list[str]:
    """Add the site's new addresses to the list; nothing is ever removed from it. Returns what was added."""
    new = unlisted(root, site)
    if new:
        (root / LIST).write_text(HEAD + "\n".join(sorted({*published(root), *new})) + "\n", encoding="utf-8")
    return new


def write_redirects(root: Path, site: Path, base_path: str) -> None:
    """Make every redirect work, with its fragment, in the rendered languages below `site`."""
    moved = redirects(root)
    for language in LANGUAGES:
        home = f"{base_path}{language}/"
        for page in sorted({old.partition("#")[0] for old in moved}):
            file = site / language / page / "index.html"
            ids = {
                old.partition("#")[2]: home + new
                for old, new in moved.items()
                if old.partition("#")[0] == page and "#" in old
            }
            if file.exists():
                same = {i: new.partition("#")[2] for i, new in ids.items() if new.partition("#")[0] == home + page}
                other = {i: new for i, new in ids.items() if i not in same}
                text = file.read_text(encoding="utf-8")
                for old, new in same.items():  # an empty place before the new one: works without a script
                    text = re.sub(
                        rf"(<[a-z0-9]+ [^>]*?id=(['\"]?){re.escape(new)}\2[\s>])",
                        rf'<span id="{html.escape(old)}"></span>\1',
                        text,
                        count=1,
                    )
                if other:
                    text = text.replace("</head>", f"<script>{_script(other, '')}</script></head>", 1)
                file.write_text(text, encoding="utf-8")
            else:
                target = home + moved.get(page, next(iter(ids.values()), "").removeprefix(home).partition("#")[0])
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(forward(target, ids, language), encoding="utf-8")


def _script(ids: dict[str, str], target: str) -> str:
    known = json.dumps({f"#{k}": v for k, v in ids.items()}).replace("</", "<\\/")
    rest = f"{json.dumps(target)}+location.hash" if target else "null"
    return f"(()=>{{const to={known}[location.hash]??{rest};if(to)location.replace(to)}})()"


def forward(target: str, ids: dict[str, str], language: str) -> str:
    """A page that sends its reader on and keeps the fragment; without a script, after a moment and without it."""
    words = {"zh-TW": "這一頁搬到", "en": "This page has moved to"}[language]
    safe = html.escape(target, quote=True)
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><meta name="redirect" content="{safe}">'
        f'<meta name="robots" content="noindex"><title>{words}</title>'
        f"<script>{_script(ids, target)}</script>"
        f'<noscript><meta http-equiv="refresh" content="0;url={safe}"></noscript></head>'
        f'<body><p>{words} <a href="{safe}">{safe}</a></p></body></html>\n'
    )


def write_short_links(site: Path, base_path: str, pages: dict[str, str]) -> None:
    """`/m00-1/` and the like: each leads to the page in the reader's language and keeps the fragment.

    `pages`: short name → address below a language's folder."""
    for name, page in pages.items():
        where = {language: f"{base_path}{language}/{page}" for language in LANGUAGES}
        links = "".join(
            f'<p lang="{language}"><a href="{html.escape(url)}">{html.escape(url)}</a></p>'
            for language, url in where.items()
        )
        script = (
            f"(()=>{{const to={json.dumps(where)};"
            "const zh=(navigator.languages||[navigator.language]).find(l=>/^(zh|en)/i.test(l));"
            f'location.replace(to[/^zh/i.test(zh||"")?"{LANGUAGES[0]}":"en"]+location.hash)}})()'
        )
        file = site / name / "index.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            f'<meta name="robots" content="noindex"><title>{name.upper()}</title><link rel="icon" href="data:,">'
            f"<script>{script}</script></head><body>{links}</body></html>\n",
            encoding="utf-8",
        )
