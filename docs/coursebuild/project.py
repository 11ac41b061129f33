"""Where the project keeps its files: the rooms, the languages, and the chapters found in them."""

from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("zh-TW", "en")  # the first is the one that prose is written in first (stamps refer to it)
CONFIGS = {"zh-TW": "mkdocs.yml", "en": "mkdocs.en.yml"}
LABS = "labs"  # the folder of docs/<language> that holds notebooks written by hand


@dataclass(frozen=True, order=True)
class Chapter:
    """One script of one language. `module` is its folder: "m00", …, "appendix"."""

    language: str
    module: str
    stem: str

    @property
    def source(self) -> Path:
        """The script, relative to the project's root."""
        return Path("examples", self.language, self.module, f"{self.stem}.py")

    @property
    def folder(self) -> Path:
        """Where its generated files go, relative to the project's root."""
        return Path("docs", self.language, self.module)

    def __str__(self) -> str:
        return self.source.as_posix()


@dataclass(frozen=True)
class Project:
    """A checkout (or, in the tests, a small site laid out like one)."""

    root: Path

    def chapters(self) -> list[Chapter]:
        """Every chapter of every language, in reading order."""
        return [
            Chapter(language, path.parent.name, path.stem)
            for language in LANGUAGES
            for path in sorted((self.root / "examples" / language).glob("*/*.py"))
            if path.is_file() and not path.name.startswith("_")
        ]

    def modules(self, language: str) -> list[str]:
        """The folders of `examples/<language>`: the modules, and the appendix."""
        home = self.root / "examples" / language
        return sorted(path.name for path in home.iterdir() if path.is_dir() and any(path.glob("*.*")))

    @property
    def cache(self) -> Path:
        """Everything that may be thrown away."""
        return self.root / ".cache"

    @property
    def site(self) -> Path:
        """The finished site."""
        return self.root / "site"


def find_root() -> Path:
    """The checkout that this package is part of."""
    return Path(__file__).resolve().parents[2]
