"""Names that a statement leaves true: `x.on = True`, or `if not x.on: x.on = True`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.source.walking import remember, walk


def find_made_true(statement: ast.stmt) -> frozenset[str]:
    """What is true after a statement, whichever way it goes, as a test would write it."""
    match statement:
        case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=asked), body=body, orelse=[]):
            made = {name for one in body for name in find_made_true(one)}
            return frozenset(made & {_say_asked(asked)})
    return frozenset(name for name, value in _find_set(statement) if value)


@remember
def find_set(statement: ast.stmt) -> frozenset[str]:
    """What a statement may set, anywhere in it."""
    return frozenset(name for one in walk(statement) if isinstance(one, ast.stmt) for name, _ in _find_set(one))


def _find_set(statement: ast.stmt) -> Iterator[tuple[str, bool]]:
    """Names that a statement sets, and whether to True."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                for one in walk(target):
                    if isinstance(one, ast.Name | ast.Attribute):
                        yield ast.unparse(one), one is target and _is_true(value)
        case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), value])):
            yield f"{ast.unparse(owner)}.{name}", _is_true(value)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            yield ast.unparse(target), False


def _say_asked(asked: ast.expr) -> str:
    """`getattr(x, "on", False)` asks what `x.on` does."""
    match asked:
        case ast.Call(
            func=ast.Name(id="getattr"),
            args=[owner, ast.Constant(value=str(name)), ast.Constant(value=False | None)],
        ):
            return f"{ast.unparse(owner)}.{name}"
    return ast.unparse(asked)


def _is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True
