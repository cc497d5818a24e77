"""What the words of a file, a method or an object tell before anything is resolved."""

from __future__ import annotations

import ast
from collections.abc import Iterable

_COMMON = frozenset(name for kind in (str, dict, list, set, bytes, int) for name in dir(kind))


def is_telling(method: str) -> bool:
    """A name that hardly means anything else: an object of unknown class that has it may be one of these."""
    return method not in _COMMON and "_" in method.strip("_")


def is_named_after(receiver: ast.expr, classes: Iterable[str]) -> bool:
    """`self.template` and `BaseTemplate`: the object is called like its class."""
    match receiver:
        case ast.Call(func=ast.Name(id="type"), args=[inner]) | ast.Attribute(value=inner, attr="__class__"):
            receiver = inner
    name = (receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")).strip("_").lower()
    return len(name) > 2 and any(known.lower().endswith(name.replace("_", "")) for known in classes)
