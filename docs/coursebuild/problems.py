"""What is wrong, where, and what to do about it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from coursebuild.project import LANGUAGES

ROOM = re.compile(rf"(?:^|/)((?:examples|docs)/(?:{'|'.join(LANGUAGES)})(?:/.*)?)$")


@dataclass(frozen=True)
class Problem:
    """One thing that stops the build. `path` is relative to the project's root, `hint` says what to do."""

    path: str
    line: int
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}\n    {self.hint}"


class BuildError(Exception):
    """Stops the build; `problems` is everything that is known to be wrong."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = list(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self):
        return type(self), (self.problems,)  # else its text would come back from another process as the problems


def shown(path: PurePath) -> str:
    """`path` as messages show it: relative to the project's root, wherever that and the working directory are."""
    inside = ROOM.search(path.as_posix())
    return inside[1] if inside else path.as_posix()
