"""What surrounds a chapter on the site, in both languages: navigation, download bar, course map, ledger line."""

import json
import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment

from coursebuild import links
from coursebuild.bench import page as bench
from coursebuild.bench.results import load as load_bench
from coursebuild.course import Course, Entry
from coursebuild.info import Info
from coursebuild.project import LABS, Project

NAMES = {"zh-TW": "繁體中文", "en": "English"}
WORDS = {
    "zh-TW": {
        "home": "首頁",
        "lab": "實作",
        "appendix": "附錄",
        "planned": "尚未寫完",
        "columns": ["章", "assert", "表", "圖", "輸出雜湊"],
        "total": "合計",
        "versions": "執行時的版本：",
        "stop": "。",
        "colab": "在 Colab 開啟",
        "script": "下載程式（.py）",
        "notebook": "下載 notebook（.ipynb，含輸出）",
        "bundle": "全部程式（.zip）",
        "lab-notebook": "下載 notebook（.ipynb）",
        "ledger": "本頁由建置程式執行：{asserts} 個 assert 全部成立；{tables} 張表、{figures} 張圖。{versions}。",
        "commit": "原始碼版本",
        "wrong": "發現哪裡不對？",
    },
    "en": {
        "home": "Home",
        "lab": "Lab",
        "appendix": "Appendix",
        "planned": "not written yet",
        "columns": ["chapter", "asserts", "tables", "figures", "output hash"],
        "total": "total",
        "versions": "Run with ",
        "stop": ".",
        "colab": "Open in Colab",
        "script": "Script (.py)",
        "notebook": "Notebook (.ipynb, with outputs)",
        "bundle": "All scripts (.zip)",
        "lab-notebook": "Notebook (.ipynb)",
        "ledger": "The build ran this page: {asserts} assertions hold; {tables} tables, {figures} figures. {versions}.",
        "commit": "source commit",
        "wrong": "Is something wrong here?",
    },
}
HAND_WRITTEN = ("glossary.md", "benchmark.md", "about.md")  # in the appendix of the navigation, where they exist


def navigation(course: Course, language: str, docs: Path) -> list:
    """`nav` for MkDocs: the home page, a section a module (its overview as index), the appendix."""
    words = WORDS[language]
    nav: list = [{words["home"]: "index.md"}]
    for module in (entry for entry in course.entries if entry.kind == "module"):
        pages = [entry for entry in course.module_entries(module.key) if course.exists(entry)]
        if course.exists(module):
            children = [module.page] + [{_nav_title(e, language): e.page} for e in pages]
            nav.append({f"{module.label} {module.title[language]}": children})
    appendix = [{_nav_title(e, language): e.page} for e in course.module_entries("appendix") if course.exists(e)]
    appendix += [name for name in HAND_WRITTEN if (docs / name).exists()]
    return nav + ([{words["appendix"]: appendix}] if appendix else [])


def _nav_title(entry, language: str) -> str:
    if entry.kind == "lab":
        return (
            f"{WORDS[language]['lab']}：{entry.title[language]}"
            if language == "zh-TW"
            else f"Lab: {entry.title[language]}"
        )
    return f"{entry.label} {entry.title[language]}".strip()


def source_of(page: str, language: str, project: Project) -> str:
    """The file, relative to the root, that a page is made from."""
    module, _, name = page.rpartition("/")
    if module and (project.root / "examples" / language / module).is_dir():
        return f"examples/{language}/{module}/" + ("README.md" if name == "index.md" else name.replace(".md", ".py"))
    return f"docs/{language}/{page}"


def fill(
    markdown: str, course: Course, language: str, page: str, info: Info, docs: Path, templates: Environment
) -> str:
    """Replace the markers of a page's source: a module's chapters, the course map, the ledger, the home page's figure;
    and put the download bar and the ledger's line on a chapter."""

    def list_of(entries: list[Entry]) -> list[dict]:
        return [_listed(entry, course, language, page) for entry in entries]

    makers = {
        "chapters": lambda: _template(
            templates, "chapters", language, entries=list_of(course.module_entries(posixpath.dirname(page)))
        ),
        "course-map": lambda: _template(templates, "course-map", language, modules=_modules(course, language, list_of)),
        "home-figure": lambda: _home_figure(docs),
        "ledger": lambda: _ledger(course, language, page, docs),
        "bench-machine": lambda: _bench(course, bench.machine, language),
        "bench-times": lambda: _bench(course, bench.times, language),
        "bench-targets": lambda: _bench(course, bench.targets_table, language),
    }
    for name, make in makers.items():
        marker = f"<!-- {name} -->"
        if marker in markdown:
            markdown = markdown.replace(marker, make())
    if is_chapter(page, docs):
        front, title, rest = re.match(r"(---\n.*?\n---\n+)?([^\n]*)\n(.*)", markdown, re.S).groups()
        module, _, name = page.rpartition("/")
        bar = _bar(Path(name).stem, module, language, info, page)
        markdown = f"{front or ''}{title}\n\n{bar}\n{rest}{_foot(docs, page, language, info)}"
    return markdown


def is_chapter(page: str, docs: Path) -> bool:
    """Whether a page was made from a chapter: its ledger lies beside it."""
    return (docs / page).with_suffix(".json").exists()


def _template(templates: Environment, name: str, language: str, **values: object) -> str:
    text = templates.get_template(f"partials/{name}.html").render(words=WORDS[language], **values).strip()
    return re.sub(r"\n\s*(?=\n)", "", text)  # a blank line would end the block


def _listed(entry: Entry, course: Course, language: str, page: str) -> dict:
    """An entry as the templates list it; `url` is relative to the page's address, "" while it isn't written."""
    url = ""
    if course.exists(entry):
        url = posixpath.relpath(links.page_of(entry).rstrip("/"), links.address(page).rstrip("/") or ".") + "/"
    label = WORDS[language]["lab"] if entry.kind == "lab" else entry.label
    return {
        "anchor": entry.anchor,
        "label": label,
        "title": entry.title[language],
        "goal": entry.goal.get(language, ""),
        "url": url,
    }


def _modules(course: Course, language: str, list_of) -> list[dict]:
    """All modules with their chapters; the appendix is the last."""
    found = []
    for module in (entry for entry in course.entries if entry.kind == "module"):
        found.append(list_of([module])[0] | {"entries": list_of(course.module_entries(module.key))})
    appendix = {"anchor": "appendix", "label": "", "title": WORDS[language]["appendix"], "goal": "", "url": ""}
    return [*found, appendix | {"entries": list_of(course.module_entries("appendix"))}]


def _ledger(course: Course, language: str, page: str, docs: Path) -> str:
    """Every chapter of this language with its counts, and the versions, as a Markdown table."""
    words, rows, total, versions = WORDS[language], [], [0, 0, 0], {}
    for entry in course.entries:
        file = docs / entry.module / f"{entry.key}.json"
        if entry.kind == "chapter" and file.exists():
            ledger = json.loads(file.read_text(encoding="utf-8"))
            counts = [ledger[name] for name in ("asserts", "tables", "figures")]
            total = [a + b for a, b in zip(total, counts, strict=True)]
            versions = ledger["versions"]
            link = f"[{_nav_title(entry, language)}]({posixpath.relpath(entry.page, posixpath.dirname(page) or '.')})"
            rows.append(
                "| "
                + " | ".join([link.replace("|", "\\|"), *map(str, counts), f"`{ledger['outputs_sha256'][:12]}`"])
                + " |"
            )
    head = "| " + " | ".join(words["columns"]) + " |\n|---|--:|--:|--:|---|"
    last = f"| **{words['total']}** | " + " | ".join(f"**{n}**" for n in total) + " | |"
    names = ", ".join(f"{name} {number}" for name, number in versions.items())
    return "\n".join([head, *rows, last]) + f"\n\n{words['versions']}{names}{words['stop']}"


def _bench(course: Course, make: Callable[[dict, str], str], language: str) -> str:
    """A part of the page on the build's speed, from the results that `make bench` left."""
    results = load_bench(course.project.root)
    return make(results, language) if results else ""


def _home_figure(docs: Path) -> str:
    """The first figure of M00-1, taken from its page: the home page shows what the course really draws."""
    path = docs / "m00" / "m00_1_export_and_aten.md"
    found = (
        re.search(r'<figure class="[^"]*\bfx\b.*?</figure>', path.read_text(encoding="utf-8"), re.S)
        if path.exists()
        else None
    )
    return re.sub(r"(?<=[\"# ])a2-graph-module-", "home-", found[0]) if found else ""


def _bar(stem: str, module: str, language: str, info: Info, page: str) -> str:
    """Colab badge and download links, above a chapter."""
    words = WORDS[language]
    home = "../" * links.address(page).count("/")
    return (
        _links(
            [
                (info.colab_url(f"{language}/{module}/{stem}.ipynb"), words["colab"]),
                (f"../{stem}.py", words["script"]),
                (f"../{stem}.ipynb", words["notebook"]),
                (f"{home}downloads/pt2e-graph-by-graph-{language}.zip", words["bundle"]),
            ]
        )
        + "\n"
    )


def lab_bar(name: str, language: str, info: Info) -> str:
    """Colab badge and download link, above the lab in the notebook `name`."""
    words = WORDS[language]
    colab = info.colab_url(f"{language}/{LABS}/{name}")
    return _links([(colab, words["colab"]), (f"../{name}", words["lab-notebook"])])


def _links(items: list[tuple[str, str]]) -> str:
    """The bar: the first link opens Colab, the others are downloads."""
    kinds = [' class="pt2e-colab"'] + [" download"] * (len(items) - 1)
    made = [f'<a href="{url}"{kind}>{text}</a>' for (url, text), kind in zip(items, kinds, strict=True)]
    return f'<p class="pt2e-bar">{" ".join(made)}</p>'


def _foot(docs: Path, page: str, language: str, info: Info) -> str:
    """The ledger's line at the foot of a chapter."""
    words = WORDS[language]
    ledger = json.loads((docs / page).with_suffix(".json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {ledger['versions'][name]}" for name in ("torch", "torchao", "Python", "Graphviz"))
    line = words["ledger"].format(versions=versions, **{k: ledger[k] for k in ("asserts", "tables", "figures")})
    commit = ledger["commit"]
    if commit:
        line += f' <a href="{info.repo_url}/tree/{commit}">{words["commit"]} <code>{commit[:10]}</code></a>.'
    wrong = f'<a href="{info.repo_url}/issues/new?template=wrong-claim.yml">{words["wrong"]}</a>'
    return f'\n\n<p class="pt2e-ledger" data-asserts="{ledger["asserts"]}">{line} {wrong}</p>\n'
