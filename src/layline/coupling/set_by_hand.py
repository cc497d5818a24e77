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
    if ast.dump(value) in {ast.dump(part) for part in ast.walk(test)}:
        return True
    words = [{part.value for part in ast.walk(one) if isinstance(part, ast.Constant)} for one in (value, test)]
    return bool(words[0]) and words[0] <= words[1] and not isinstance(value, ast.Constant)
