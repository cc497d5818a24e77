"""Values that a person may set in the place of what would be found: `if NUMBER: number = NUMBER`."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def find_assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            yield from ((part.id, value) for one in targets for part in ast.walk(one) if isinstance(part, ast.Name))


def asks_for(test: ast.expr, value: ast.expr) -> bool:
    """True if a test asks whether this very value is there: `x.y is not None` for `x.y`, `"K" in d` for `d["K"]`."""
    if isinstance(value, ast.Constant):
        return False
    if ast.dump(value) in {ast.dump(part) for part in ast.walk(test)}:
        return True
    wanted, asked = (set(_find_keys(one)) for one in (value, test))
    return bool(wanted) and wanted <= asked


def _find_keys(node: ast.expr) -> Iterator[str]:
    """Words by which an expression takes something out of a table, or asks whether it is in one."""
    for part in ast.walk(node):
        match part:
            case (
                ast.Subscript(slice=ast.Constant(value=str(word))) | ast.Call(args=[ast.Constant(value=str(word)), *_])
            ):
                yield word
            case ast.Compare(left=ast.Constant(value=str(word)), ops=[ast.In() | ast.NotIn()]):
                yield word
