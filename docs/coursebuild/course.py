"""The course as data: `docs/course.yml` says which modules and chapters there are, and which are still planned."""

import re
from dataclasses import dataclass
from functools import cached_property

import yaml

from coursebuild.problems import BuildError, Problem
from coursebuild.project import LABS, LANGUAGES, Project

FILE = "docs/course.yml"


@dataclass(frozen=True)
class Entry:
    """A module, a chapter or a lab: what a link `chapter:<key>` leads to."""

    key: str  # "m00", "m00_1_export_and_aten", "fx_basics", "lab_m00"
    kind: str  # "module", "chapter", "lab", or "page" (of the appendix, written by hand)
    module: str
    label: str
    title: dict[str, str]
    goal: dict[str, str]

    @property
    def page(self) -> str:
        """Its page's source, below docs/<language>."""
        if self.kind == "module":
            return f"{self.module}/index.md"
        folder, ending = {"lab": (f"{LABS}/", ".ipynb"), "page": ("", ".md")}.get(self.kind, (f"{self.module}/", ".md"))
        return f"{folder}{self.key}{ending}"

    @property
    def anchor(self) -> str:
        """Its id on the course map, and its short address."""
        return (self.label or self.key).lower().replace(" ", "-").replace("_", "-")


class Course:
    """The entries of the course in reading order, and which of them exist."""

    def __init__(self, project: Project):
        self.project = project
        path = project.root / FILE
        try:
            self.data = yaml.safe_load(path.read_text(encoding="utf-8"))
            self.entries = list(self._entries())
        except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
            line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
            raise BuildError(
                [
                    Problem(
                        FILE,
                        line,
                        f"can't be read: {type(error).__name__}: {error}",
                        "see CONTRIBUTING.md for its form",
                    )
                ]
            ) from None

    def _entries(self):
        for module in self.data["modules"]:
            yield Entry(
                module["id"], "module", module["id"], module["id"].upper(), module["title"], module.get("goal", {})
            )
            for item in module["chapters"]:
                yield Entry(item["stem"], "chapter", module["id"], item["label"], item["title"], item["goal"])
            if lab := module.get("lab"):
                yield Entry(lab["stem"], "lab", module["id"], "", lab["title"], lab.get("goal", {}))
        for item in self.data.get("appendix", []):
            written = self.project.root / "docs" / LANGUAGES[0] / f"{item['stem']}.md"
            kind = "page" if written.exists() else "chapter"
            yield Entry(item["stem"], kind, "appendix", item.get("label", ""), item["title"], item["goal"])

    @cached_property
    def by_key(self) -> dict[str, Entry]:
        """Entries by what `chapter:` links call them."""
        return {entry.key: entry for entry in self.entries}

    @cached_property
    def by_page(self) -> dict[str, Entry]:
        """Entries by their page's source."""
        return {entry.page: entry for entry in self.entries}

    def exists(self, entry: Entry) -> bool:
        """Whether it is written (in the first language; the twin check sees to the others)."""
        root, language = self.project.root, LANGUAGES[0]
        if entry.kind == "page":
            return True
        if entry.kind == "module":
            return (root / "examples" / language / entry.module / "README.md").exists()
        if entry.kind == "lab":
            return (root / "docs" / language / LABS / f"{entry.key}.ipynb").exists()
        return (root / "examples" / language / entry.module / f"{entry.key}.py").exists()

    def module_entries(self, module: str) -> list[Entry]:
        """The chapters and the lab of a module, in order."""
        return [e for e in self.entries if e.module == module and e.kind != "module"]

    def check(self) -> list[Problem]:
        """Chapters that the file doesn't know, and titles that differ from the script's own."""
        problems = []
        text = (self.project.root / FILE).read_text(encoding="utf-8")
        for chapter in self.project.chapters():
            entry = self.by_key.get(chapter.stem)
            if entry is None or entry.module != chapter.module:
                problems.append(
                    Problem(
                        str(chapter),
                        1,
                        f"{FILE} has no chapter {chapter.stem} in {chapter.module}",
                        f"add it to {FILE}, or correct the file's name or folder",
                    )
                )
                continue
            source = (self.project.root / chapter.source).read_text(encoding="utf-8")
            wanted = (
                f"# {entry.label} | {entry.title[chapter.language]}"
                if entry.label
                else f"# {entry.title[chapter.language]}"
            )
            if wanted not in source.split("\n"):
                lines = source[: source.index('"""', source.index('"""') + 3)].split("\n")
                at = next((i for i, line in enumerate(lines, 1) if re.match(r"# (?!zh:)", line)), 1)
                line = text[: text.index(entry.key)].count("\n") + 1
                problems.append(
                    Problem(
                        str(chapter), at, f"its title isn't the one in {FILE}:{line}: {wanted}", "make both the same"
                    )
                )
        return problems
