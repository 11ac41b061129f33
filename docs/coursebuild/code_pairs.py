"""Whether the code of two cells is one program, told in two languages."""

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest

from coursebuild import asserts, humantext, invariants
from coursebuild.cells import Text, parse_code
from coursebuild.chinese import cjk
from coursebuild.project import LANGUAGES

Difference = tuple[int, int, str, str]  # line in the Chinese file, line in the English one, what differs, what to do

SAME_CODE = "make the code the same; only words in strings and comments may differ"
SAME_STRING = "what has no Chinese in it is the same in both languages (but for zh-TW and en)"
SAME_FACTS = "keep the numbers, the code and the placeholders of the Chinese text"
IGNORED = {"ctx", "kind", "type_comment"}


def compare(zh: Text, en: Text) -> Iterator[Difference]:
    """Each difference between the code of a Chinese cell and its English twin. Raises SyntaxError."""
    zh_tree, en_tree = parse_code(zh), parse_code(en)
    there, here = asserts.count(zh_tree), asserts.count(en_tree)
    if there != here:
        yield zh.line, en.line, f"{here} asserts, and {there} in the Chinese cell", "assert the same in both languages"
    for a, b in zip_longest(zh_tree.body, en_tree.body):
        if a is None:
            yield zh.line, b.lineno, f"{_shown(b)} isn't in the Chinese", SAME_CODE
            break
        if b is None:
            yield a.lineno, en.line, f"{_shown(a)} is missing", SAME_CODE
            break
        found = list(_nodes(a, b, a, b))
        yield from found
        if found and len(zh_tree.body) != len(en_tree.body):
            break  # the rest is shifted
    yield from _comments(zh, en)


def _nodes(a: ast.AST, b: ast.AST, zh: ast.AST, en: ast.AST) -> Iterator[Difference]:
    """Differences between the node `a` and its English twin `b`; `zh` and `en`: the expressions to show for them."""
    if isinstance(a, ast.expr | ast.stmt) and isinstance(b, ast.expr | ast.stmt):
        zh, en = a, b
    match a, b:
        case ast.Constant(value=str()), ast.Constant(value=str()):
            yield from _words(a.value, b.value, a.lineno, b.lineno)
            return
        case ast.JoinedStr(), ast.JoinedStr() if cjk(_literal(a)):
            yield from _f_strings(a, b)
            return
    pairs = [] if type(a) is type(b) else None
    for name in (n for n in a._fields if n not in IGNORED) if pairs is not None else ():
        x, y = getattr(a, name, None), getattr(b, name, None)
        if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
            pairs += zip(x, y, strict=True)
        elif isinstance(x, ast.AST) and isinstance(y, ast.AST):
            pairs.append((x, y))
        elif type(x) is not type(y) or x != y:
            pairs = None
            break
    if pairs is None:
        yield zh.lineno, en.lineno, f"{_shown(en)}, and {_shown(zh)} in the Chinese", SAME_CODE
        return
    for x, y in pairs:
        if isinstance(x, ast.AST) and isinstance(y, ast.AST):
            yield from _nodes(x, y, zh, en)
        elif x != y:  # names in a `global` statement, keys left out in a dict
            yield zh.lineno, en.lineno, f"{_shown(en)}, and {_shown(zh)} in the Chinese", SAME_CODE


def _f_strings(a: ast.JoinedStr, b: ast.JoinedStr) -> Iterator[Difference]:
    """Words may change, and with them the order of the expressions; the expressions themselves may not."""
    there, here = ([part for part in node.values if isinstance(part, ast.FormattedValue)] for node in (a, b))
    if len(there) != len(here):
        yield a.lineno, b.lineno, f"{_shown(b)}, and {_shown(a)} in the Chinese", SAME_CODE
        return
    unmatched = Counter(map(ast.dump, there))
    unmatched.subtract(map(ast.dump, here))
    changed = ([x for x in parts if unmatched[ast.dump(x)]] for parts in (there, here))
    for x, y in zip(*changed, strict=True):
        yield from _nodes(x, y, a, b)
    yield from _words(_literal(a), _literal(b), a.lineno, b.lineno)


def _literal(node: ast.JoinedStr) -> str:
    """The words of an f-string."""
    return " ".join(part.value for part in node.values if isinstance(part, ast.Constant))


def _words(zh: str, en: str, zh_line: int, en_line: int, what: str = "the string") -> Iterator[Difference]:
    if not cjk(zh):
        if zh.replace(*LANGUAGES) != en:
            yield zh_line, en_line, f"{what} is {en!r:.80}, and {zh!r:.80} in the Chinese", SAME_STRING
        return
    if report := invariants.report(*invariants.string(zh, en)):
        yield zh_line, en_line, f"{what} {en!r:.80} doesn't say the same as the Chinese one: {report}", SAME_FACTS


def _comments(zh: Text, en: Text) -> Iterator[Difference]:
    there, here = _blocks(zh), _blocks(en)
    if len(there) != len(here):
        lines = (there[0].line if there else zh.line), (here[0].line if here else en.line)
        yield *lines, f"{len(here)} comments in the code, and {len(there)} in the Chinese", "comment the same places"
        return
    for a, b in zip(there, here, strict=True):
        yield from _words(a.text, b.text, a.line, b.line, "the comment")


def _blocks(code: Text) -> list[humantext.Comment]:
    """The comments, those on adjacent lines of their own as one: each language breaks its lines where it likes."""
    blocks, last = [], None
    for comment in humantext.comments(code):
        if last and last.own and comment.own and comment.line == last.line + 1:
            text = f"{blocks[-1].text} {comment.text.lstrip('# ')}"
            blocks[-1] = humantext.Comment(blocks[-1].line, text, True)
        else:
            blocks.append(comment)
        last = comment
    return blocks


def _shown(node: ast.AST) -> str:
    """A node's code, its first line, cut short."""
    return f"`{ast.unparse(node).partition(chr(10))[0][:70]}`"
