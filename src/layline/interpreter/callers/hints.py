"""What the words of a file, a method or an object tell before anything is resolved."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.source.facts import Facts

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


def may_name(facts: Facts, module: str, name: str) -> bool:
    """Whether a call of the file may be given a function and its module as text."""
    if "." not in module and any(module in row for row in facts.rows):
        return True
    return any(text in {module, f"{module}.{name}", f"{module}:{name}"} for _, text in facts.texts)


def may_import(facts: Facts, module: str) -> bool:
    last = module.rpartition(".")[2]
    if last in facts.words or any(item.module.rpartition(".")[2] == last for item in facts.imports):
        return True
    return any(text == module for _, text in facts.texts)
