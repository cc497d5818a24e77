"""Through which functions the owner of a write is handed: `def outer(cls): give(cls)`, where `give` writes onto it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from layline.source.walking import remember, walk

if TYPE_CHECKING:
    from collections.abc import Iterator


@remember
def find_owners(function: ast.AST, line: int) -> frozenset[str]:
    """The parameters that a write or a call at this line has its owner from."""
    given = _find_kept(function)
    roots: set[str] = set()
    for part in walk(function):
        if getattr(part, "lineno", 0) != line:
            continue
        match part:
            case ast.Assign(targets=[ast.Attribute(value=owner), *_]):
                roots.add(_find_root(owner))
            case ast.Call(args=[owner, *_]):
                roots.add(_find_root(owner))
    return frozenset(roots & given) | frozenset(_find_sources(function, roots - given) & given)


@remember
def find_handed_owners(function: ast.AST, line: int, helper: ast.AST, owners: frozenset[str]) -> frozenset[str]:
    """Those of its own parameters that a function hands to `owners` of a helper, in a call that covers this line."""
    given, name = _find_kept(function), getattr(helper, "name", "")
    found: set[str] = set()
    for part in walk(function):
        match part:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called == name:
                if part.lineno <= line <= (part.end_lineno or part.lineno):
                    found |= {value for word, value in _pair(part, helper) if word in owners and value in given}
    return frozenset(found)


def _pair(call: ast.Call, helper: Any) -> Iterator[tuple[str, str]]:
    """Parameter of the helper → the plain name that is handed to it."""
    names = _list_parameters(helper)
    yield from ((word, value.id) for word, value in zip(names, call.args, strict=False) if isinstance(value, ast.Name))
    yield from ((word.arg, word.value.id) for word in call.keywords if word.arg and isinstance(word.value, ast.Name))


def _list_parameters(function: Any) -> list[str]:
    arguments = function.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in names if name != "self"]


def _find_kept(function: ast.AST) -> set[str]:
    """Parameters that hold what a caller gave: nothing else is put there."""
    stored = {part.id for part in walk(function) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return set(_list_parameters(function)) - stored


def _find_sources(function: ast.AST, names: set[str]) -> set[str]:
    """Every name that a local is made of."""
    found: set[str] = set()
    for part in walk(function) if names else ():
        match part:
            case ast.Assign(targets=[target, *_], value=value) | ast.For(target=target, iter=value):
                if names & {item.id for item in walk(target) if isinstance(item, ast.Name)}:
                    found |= {item.id for item in walk(value) if isinstance(item, ast.Name)}
    return found


def _find_root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
