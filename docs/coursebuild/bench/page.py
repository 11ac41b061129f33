"""The results of `make bench` as the page shows them: a table whose bars are the plot, and the targets."""

import statistics
from html import escape

WORDS = {
    "zh-TW": {
        "this": "這個建置",
        "mkdocs-gallery": "mkdocs-gallery",
        "sphinx-gallery": "sphinx-gallery（平行）",
        "mkdocs": "只有 `mkdocs build`",
        "cold": "第一次建置",
        "nothing": "什麼都沒改",
        "chapter": "改了一章（{chapter}，兩種語言）",
        "common": "改了 `common/`",
        "large-cold": "第一次建置，章數 {copies} 倍",
        "large-nothing": "什麼都沒改，章數 {copies} 倍",
        "columns": ["", "時間（秒）", "中位數", "最小–最大", "執行的程式", "主行程的記憶體（MB）"],
        "targets": ["比較", "測得", "目標", "達成"],
        "failed": "，失敗 {}",
        "yes": "是",
        "no": "否",
        "machine": "{date} 在一台 {cores} 核心、{gigabytes} GB 記憶體的機器上測量（{processor}，{system}）；"
        "每種情況輪流各執行 {runs} 次；{scripts} 個程式（兩種語言）。版本：{versions}。",
        "t-cold-b": "第一次建置 ÷ mkdocs-gallery",
        "t-cold-c": "第一次建置 ÷ sphinx-gallery",
        "t-nothing": "什麼都沒改 ÷ 只有 `mkdocs build`",
        "t-chapter": "改了一章，減去 `mkdocs build` 的時間（秒；這一章自己的程式要 {body} 秒）",
        "t-large-cold": "章數 {copies} 倍 ÷ 原來的章數，第一次建置",
        "t-large-nothing": "章數 {copies} 倍 ÷ 原來的章數，什麼都沒改",
        "t-memory": "主行程的記憶體 ÷ mkdocs-gallery（第一次建置）",
    },
    "en": {
        "this": "this build",
        "mkdocs-gallery": "mkdocs-gallery",
        "sphinx-gallery": "sphinx-gallery, parallel",
        "mkdocs": "`mkdocs build` alone",
        "cold": "First build",
        "nothing": "Nothing changed",
        "chapter": "One chapter changed ({chapter}, both languages)",
        "common": "`common/` changed",
        "large-cold": "First build, {copies} times the chapters",
        "large-nothing": "Nothing changed, {copies} times the chapters",
        "columns": ["", "time (s)", "median", "min–max", "scripts run", "memory of the main process (MB)"],
        "targets": ["comparison", "measured", "target", "reached"],
        "failed": ", {} failed",
        "yes": "yes",
        "no": "no",
        "machine": "Measured on {date} on a machine with {cores} cores and {gigabytes} GB ({processor}, {system}); "
        "every case {runs} times, in turn; {scripts} scripts (both languages). Versions: {versions}.",
        "t-cold-b": "First build ÷ mkdocs-gallery",
        "t-cold-c": "First build ÷ sphinx-gallery",
        "t-nothing": "Nothing changed ÷ `mkdocs build` alone",
        "t-chapter": "One chapter changed, less `mkdocs build` (s; the chapter's own code takes {body} s)",
        "t-large-cold": "{copies} times the chapters ÷ all chapters once, first build",
        "t-large-nothing": "{copies} times the chapters ÷ all chapters once, nothing changed",
        "t-memory": "Memory of the main process ÷ mkdocs-gallery (first build)",
    },
}
CONTENDERS = ("this", "mkdocs-gallery", "sphinx-gallery", "mkdocs")


def median(results: dict, case: str, contender: str, what: str = "seconds") -> float:
    """The median of the runs of one contender in one case."""
    return statistics.median(results["cases"][case][contender][what])


def targets(results: dict) -> list[tuple[str, float, float]]:
    """(name, measured, at most) of each target; ratios of medians of one run of the comparison."""

    def ratio(a: tuple[str, str], b: tuple[str, str], what: str = "seconds") -> float:
        return median(results, *a, what) / median(results, *b, what)

    body = results["changed"]["seconds"]
    large = [
        ("t-large-cold", ("large-cold", "this"), ("cold", "this"), 4.2),
        ("t-large-nothing", ("large-nothing", "this"), ("nothing", "this"), 2.5),
    ]
    return [
        ("t-cold-b", ratio(("cold", "this"), ("cold", "mkdocs-gallery")), 0.55),
        ("t-cold-c", ratio(("cold", "this"), ("cold", "sphinx-gallery")), 0.70),
        ("t-nothing", ratio(("nothing", "this"), ("nothing", "mkdocs")), 1.25),
        ("t-chapter", median(results, "chapter", "this") - median(results, "chapter", "mkdocs"), 1.5 * body + 2.5),
        *((name, ratio(a, b), limit) for name, a, b, limit in large if a[0] in results["cases"]),
        ("t-memory", ratio(("cold", "this"), ("cold", "mkdocs-gallery"), "megabytes"), 1.0),
    ]


def times(results: dict, language: str) -> str:
    """The table of all cases as HTML; a row's bar ends at the median, the thin line spans the fastest and the slowest
    run. The longest run of a case is the full width."""
    words, rows = WORDS[language], []
    for case, found in results["cases"].items():
        title = words[case].format(chapter=_label(results["changed"]["chapter"]), copies=results["copies"])
        rows.append(f'<tr><th colspan="{len(words["columns"])}" scope="rowgroup">{_code(title)}</th></tr>')
        longest = max(max(values["seconds"]) for values in found.values())
        rows += [_row(found[key], longest, words, key) for key in CONTENDERS if key in found]
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in words["columns"])
    box = f'<div class="pt2e-bench" tabindex="0" role="region" aria-label="{escape(words["columns"][1])}">'
    table = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'{box}<table class="pt2e-bench-table">{table}</table></div>'


def _row(values: dict, longest: float, words: dict, key: str) -> str:
    seconds = values["seconds"]
    low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
    share = [round(100 * value / longest, 1) for value in (low, middle, high)]
    bar = (
        f'<span class="pt2e-bar-track"><span style="width:{share[1]}%"></span>'
        f'<i style="left:{share[0]}%;width:{round(share[2] - share[0], 1)}%"></i></span>'
    )
    memory = [value for value in values["megabytes"] if value]
    count = str(values["executed"]) + (words["failed"].format(values["failed"]) if values["failed"] else "")
    cells = [f"{middle:.1f}", f"{low:.1f}–{high:.1f}", count]
    cells.append(f"{statistics.median(memory):.0f}" if memory else "—")
    kind = ' class="pt2e-bench-own"' if key == "this" else ""
    return f'<tr{kind}><th scope="row">{_code(words[key])}</th><td>{bar}</td><td>{"</td><td>".join(cells)}</td></tr>'


def targets_table(results: dict, language: str) -> str:
    """The targets as a Markdown table."""
    words = WORDS[language]
    rows = ["| " + " | ".join(words["targets"]) + " |", "|---|--:|--:|---|"]
    for name, measured, limit in targets(results):
        title = words[name].format(copies=results["copies"], body=results["changed"]["seconds"])
        verdict = words["yes" if measured <= limit else "no"]
        rows.append(f"| {title} | {measured:.2f} | ≤&nbsp;{limit:.2f} | {verdict} |")
    return "\n".join(rows)


def machine(results: dict, language: str) -> str:
    """Where, when and with what the results were measured."""
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    runs = len(next(iter(results["cases"].values()))["this"]["seconds"])
    return WORDS[language]["machine"].format(
        date=results["date"], runs=runs, scripts=results["scripts"], versions=versions, **results["machine"]
    )


def _label(stem: str) -> str:
    """ "m01_1_end_to_end" → "M01-1"."""
    module, number, *_ = stem.split("_")
    return f"{module.upper()}-{number}"


def _code(text: str) -> str:
    """Escaped, with `backticks` as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
