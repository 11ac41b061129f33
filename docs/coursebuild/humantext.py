"""What people read in code: its comments and its strings."""

import ast
import io
import tokenize
from dataclasses import dataclass
from functools import lru_cache

from coursebuild.cells import MAGIC, Text, parse_code


@dataclass(frozen=True)
class Comment:
    """A comment (`text` includes its #); `own` if nothing stands before it on its line."""

    line: int
    text: str
    own: bool


@lru_cache(maxsize=4096)
def comments(code: Text) -> list[Comment]:
    """The comments of a cell's code, in order. The code must parse."""
    if "#" not in code.text:
        return []
    source = MAGIC.sub("", code.text)
    return [
        Comment(token.start[0] + code.line - 1, token.string, not token.line[: token.start[1]].strip())
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]


@lru_cache(maxsize=4096)
def strings(code: Text) -> list[Text]:
    """The strings in a cell's code, in order; in an f-string each expression is `{}`. The code must parse."""
    collector = _Strings()
    collector.visit(parse_code(code))
    return collector.found


class _Strings(ast.NodeVisitor):
    def __init__(self):
        self.found: list[Text] = []

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.found.append(Text(node.lineno, node.value))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
        self.found.append(Text(node.lineno, "".join(parts)))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)
