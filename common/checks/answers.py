"""What a checker raises when a function is not right yet."""

from __future__ import annotations


class WrongAnswer(AssertionError):
    """The checker's no: ``code`` names the mistake, the text explains it."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback: the explanation, without the checker's own stack."""
        return str(self).splitlines()


class NotWrittenYet(WrongAnswer):
    """The reader's function still raises NotImplementedError."""


def refusal(code: str, text: str) -> WrongAnswer:
    """The exception for a mistake: NotWrittenYet for ``not_written``, else WrongAnswer."""
    return (NotWrittenYet if code == "not_written" else WrongAnswer)(code, text)


def first_line(e: Exception) -> str:
    """An exception as one line: its type, and how its message begins."""
    text = str(e).strip().partition("\n")[0]
    return f"{type(e).__name__}: {text}" if text else type(e).__name__
