"""Where a value of ours comes from: the attributes and items that lead to it from something whose class is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from layline.coupling.variables import EACH, ITEM, ITEMS
from layline.source.fingerprint import text_of

_SAME = frozenset({"sorted", "reversed", "list", "tuple", "set", "iter"})
"""What gives the items of what it is given."""

_COPIES = frozenset({"copy", "deepcopy"})
"""What gives a copy of what it is given."""
_PART = ".[:]"
"""Behind the road to a value of which a part is taken."""


def step_on(origin: str, step: str) -> str:
    """What an attribute, or an item, of a value stands for; nothing where nothing is known of the value."""
    whole, is_part, _ = origin.partition(_PART)
    if is_part:
        return step_on(whole, step) if step in {EACH, ITEM} else ""
    way, _, kind = origin.partition(":")
    match way:
        case "" | "alias" | "name":
            return ""
        case "items" | "values" if " " not in kind:
            known = step == ITEM or (step == EACH and way == ITEMS)
            return f"type:{kind}" if known and kind else ""
        case _ if not kind:
            return ""
    return f"{origin}{'.' if ' ' in origin else ' '}{step}"


def _cut(origin: str) -> str:
    """What a part of a value is: of a list its items are known, and nothing else."""
    if origin.startswith(f"{ITEMS}:"):
        return origin
    return f"{origin}{_PART}" if " " in origin else ""


def trace(node: ast.expr, known: Mapping[str, str], fields: Mapping[str, str]) -> str:
    """The origin of what an expression holds: of a variable, of an attribute or an item of one."""
    match node:
        case ast.Name(id=name):
            return known.get(name, "")
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[inner, *_]) if called in _COPIES:
            return trace(inner, known, fields)
        case ast.Call(func=ast.Name() | ast.Attribute() as func):
            return f"call:{text_of(func)}"
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return fields.get(name) or f"self:{name}"
        case ast.Attribute(value=inner, attr=name):
            return step_on(trace(inner, known, fields), name)
        case ast.Subscript(value=inner, slice=ast.Slice()):
            return _cut(trace(inner, known, fields))
        case ast.Subscript(value=inner, slice=index) if not isinstance(index, ast.Tuple):
            return step_on(trace(inner, known, fields), ITEM)
    return ""


def find_looped(
    target: ast.expr, source: ast.expr, known: Mapping[str, str], fields: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What the names of a loop stand for."""
    match target, source:
        case _, ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in _SAME:
            yield from find_looped(target, inner, known, fields)
        case ast.Tuple(elts=[_, second]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            yield from find_looped(second, inner, known, fields)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=sources):
            for one, inner in zip(targets, sources, strict=False):
                yield from find_looped(one, inner, known, fields)
        case ast.Tuple(elts=[_, ast.Name(id=name)]), ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]):
            yield name, step_on(trace(inner, known, fields), ITEM)
        case ast.Name(id=name), ast.Call(func=ast.Attribute(value=inner, attr="values"), args=[]):
            yield name, step_on(trace(inner, known, fields), ITEM)
        case ast.Name(id=name), _:
            yield name, step_on(trace(source, known, fields), EACH)
