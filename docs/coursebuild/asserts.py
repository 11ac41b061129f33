"""The asserts of a chapter: each must be one that runs whenever the chapter does, and one that can fail."""

import ast
from collections.abc import Iterator

AT_TOP = "move it to the top level (directly, or in a `with`), where a run of the chapter can't miss it"
EXCHANGE = "assert something that a wrong result would break, or leave it out"
CONSTRUCTS = {
    ast.FunctionDef: "a function", ast.AsyncFunctionDef: "a function", ast.ClassDef: "a class", ast.If: "a branch",
    ast.Match: "a branch", ast.For: "a loop", ast.AsyncFor: "a loop", ast.While: "a loop", ast.Try: "a `try`",
    ast.TryStar: "a `try`",
}  # fmt: skip
SWALLOWING = {"suppress", "raises", "warns"}  # a `with` of these goes on after the with block when its body stops
SAME_IS_TRUE = (ast.Eq, ast.Is, ast.LtE, ast.GtE)
EQUALITIES = {"equal", "allclose", "isclose", "array_equal"}
NEVER_NEGATIVE = {"abs", "norm", "vector_norm", "matrix_norm", "len", "square", "numel"}
KEEPS_SIGN = {"max", "min", "amax", "amin", "mean", "sum", "item", "float", "int", "detach", "sqrt", "tolist"}


def count(tree: ast.Module) -> int:
    """How many asserts the code holds."""
    return sum(1 for _ in _asserts(tree.body))


def check(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, message, hint) for each assert that a run might miss or that can't fail."""
    for node, inside in _asserts(tree.body):
        if inside:
            yield node.lineno, f"assert inside {inside}", AT_TOP
        if reason := _cannot_fail(node.test):
            yield node.lineno, f"this assert can't fail: {reason}", EXCHANGE


def _asserts(statements: list[ast.stmt], inside: str = "") -> Iterator[tuple[ast.Assert, str]]:
    """Every assert, with what it stands in that may keep it from running, or ""."""
    for node in statements:
        if isinstance(node, ast.Assert):
            yield node, inside
        elif isinstance(node, ast.With):
            swallowing = next((n for n in map(_with_name, node.items) if n in SWALLOWING), "")
            yield from _asserts(node.body, inside or (f"a `with {swallowing}`" if swallowing else ""))
        else:
            for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                for body in ("body", "orelse", "finalbody"):
                    yield from _asserts(getattr(part, body, []), inside or CONSTRUCTS.get(type(node), ""))


def _with_name(item: ast.withitem) -> str:
    return _name(item.context_expr.func) if isinstance(item.context_expr, ast.Call) else ""


def _name(function: ast.expr) -> str:
    """The last part of a called function's name."""
    return getattr(function, "attr", getattr(function, "id", ""))


def _cannot_fail(test: ast.expr) -> str:
    """Why the condition says nothing, or ""."""
    match test:
        case ast.Constant():
            return "it is a constant"
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict():
            return "a tuple, list, set or dict that isn't empty is always true"
        case ast.JoinedStr() | ast.GeneratorExp() | ast.Lambda():
            return "a string, generator or lambda is always true"
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant()):
            return "it is a constant"
        case ast.BoolOp(op=ast.Or()):
            return next((reason for value in test.values if (reason := _cannot_fail(value))), "")
        case ast.BoolOp(op=ast.And()):
            reason = next((reason for value in test.values if (reason := _cannot_fail(value))), "")
            return reason and f"in part, {reason}"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _empty_comparison(left, op, right)
        case ast.Call(func=function, args=[first, second, *_]) if _name(function) in EQUALITIES:
            return "both sides are the same expression" if ast.dump(first) == ast.dump(second) else ""
        case ast.Call(func=ast.Attribute(value=first, attr=name), args=[second, *_]) if name in EQUALITIES:
            return "both sides are the same expression" if ast.dump(first) == ast.dump(second) else ""
    return ""


def _empty_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
    if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
        return "it compares two constants"
    if isinstance(op, SAME_IS_TRUE) and ast.dump(left) == ast.dump(right):
        return "both sides are the same expression"
    if isinstance(op, ast.LtE | ast.Lt):  # 0 <= x is x >= 0
        left, right, op = right, left, ast.GtE() if isinstance(op, ast.LtE) else ast.Gt()
    bound = _number(right)
    always = bound is not None and (bound < 0 or (bound == 0 and isinstance(op, ast.GtE)))
    if always and isinstance(op, ast.GtE | ast.Gt | ast.NotEq) and _never_negative(left):
        return "a length, norm or absolute value is never negative"
    return ""


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int | float) else None


def _never_negative(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int(power))) if power % 2 == 0:
            return True
        case ast.Call(func=function) if _name(function) in NEVER_NEGATIVE:
            return True
        case ast.Call(func=ast.Name(id=name), args=[value, *_]) if name in KEEPS_SIGN:
            return _never_negative(value)
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in KEEPS_SIGN:
            return _never_negative(value)
    return False
