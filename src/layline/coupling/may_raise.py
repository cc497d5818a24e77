"""Whether a function of upstream's raises by itself, or by a function of its own module that it calls."""

from __future__ import annotations

import ast

from layline.source.definitions import DefinitionKind
from layline.source.resolve import Resolver
from layline.source.walking import walk

_DEEPEST = 2


def may_raise(side: Resolver, name: str, depth: int = 0) -> bool:
    """False where the function only warns, or cannot be read."""
    found = side.resolve(name)
    if found.module is None or found.definition is None or found.definition.kind is not DefinitionKind.FUNCTION:
        return False
    node = side.index.read_node(found.module, found.definition)
    parts = list(walk(node)) if node is not None else []
    if any(isinstance(part, ast.Raise | ast.Assert) for part in parts):
        return True
    called = {part.func.id for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
    return depth < _DEEPEST and any(may_raise(side, f"{found.module}.{one}", depth + 1) for one in sorted(called))
