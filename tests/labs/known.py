"""The labs as the tests see them: puzzles, a solution of each, and wrong answers with the messages they must get."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import mistakes_m00
import mistakes_m01
import mistakes_m02
import mistakes_m03
import solutions_m00
import solutions_m01
import solutions_m02
import solutions_m03

from common.checks.annotation_words import ANNOTATION_MISTAKES, ANNOTATION_WORDS
from common.checks.annotations import ANNOTATION_PUZZLES
from common.checks.conversion_words import CONVERSION_MISTAKES
from common.checks.conversions import CONVERSION_PUZZLES
from common.checks.number_words import NUMBER_MISTAKES, NUMBER_WORDS
from common.checks.numbers import NUMBER_PUZZLES
from common.checks.puzzles import PUZZLES
from common.checks.words import MISTAKES, WORDS

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("zh-TW", "en")


@dataclass(frozen=True)
class Lab:
    """One lab. ``mistakes`` are (puzzle, code of the message, function); ``picture`` selects what each puzzle shows.

    ``messages`` are the lab's own; the M02 lab has the M00 lab's, too.
    """

    stem: str
    puzzles: tuple[str, ...]
    solutions: ModuleType
    mistakes: list[tuple[str, str, Callable]]
    messages: dict[str, dict[str, tuple[str, str]]]
    words: dict[str, dict[str, str]]
    picture: str

    def path(self, lang: str) -> Path:
        """The notebook, relative to the project."""
        return Path(f"docs/{lang}/labs/{self.stem}.ipynb")


LABS = [
    Lab("lab_m00", tuple(PUZZLES), solutions_m00, mistakes_m00.MISTAKES, MISTAKES, WORDS, "figure.fx"),
    Lab(
        "lab_m01",
        tuple(NUMBER_PUZZLES),
        solutions_m01,
        mistakes_m01.MISTAKES,
        NUMBER_MISTAKES,
        NUMBER_WORDS,
        "div.fx-table",
    ),
    Lab(
        "lab_m02",
        tuple(CONVERSION_PUZZLES),
        solutions_m02,
        mistakes_m02.MISTAKES,
        CONVERSION_MISTAKES,
        WORDS,
        "figure.fx",
    ),
    Lab(
        "lab_m03",
        tuple(ANNOTATION_PUZZLES),
        solutions_m03,
        mistakes_m03.MISTAKES,
        ANNOTATION_MISTAKES,
        ANNOTATION_WORDS,
        "figure.fx",
    ),
]
