"""Decorators that give back what they are given: they may write a docstring or a table, and change no call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.source.resolve import Resolver
from layline.source.walking import find_children

_DEEPEST = 4
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def keeps_object(resolver: Resolver, module: str, decorator: str) -> bool:
    """True if every way through the decorator, as it is written above a definition, ends with the object itself."""
    return _follow(resolver, module, decorator.partition("(")[0], 0)


def _follow(resolver: Resolver, module: str, name: str, depth: int) -> bool:
    symbol = resolver.resolve_in(module, name)
    if symbol.module is None or symbol.definition is None or depth > _DEEPEST:
        return False
    node = resolver.index.read_node(symbol.module, symbol.definition)
    return isinstance(node, ast.FunctionDef) and _keeps(resolver, symbol.module, node, {}, depth)


def _keeps(
    resolver: Resolver, module: str, node: ast.FunctionDef, around: dict[str, ast.FunctionDef], depth: int
) -> bool:
    own = list(_walk_own(node))
    inside = {**around, **{item.name: item for item in own if isinstance(item, ast.FunctionDef)}}
    returned = [item.value for item in own if isinstance(item, ast.Return)]
    given = node.args.args[0].arg if node.args.args else ""

    def is_kept(value: ast.expr | None) -> bool:
        match value:
            case ast.Name(id=name) if name == given:
                return True
            case ast.Name(id=name) if name in inside and depth <= _DEEPEST:
                return _keeps(resolver, module, inside[name], inside, depth + 1)
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=first), *_]) if first == given:
                if name in inside and depth <= _DEEPEST:
                    return _keeps(resolver, module, inside[name], inside, depth + 1)
                return _follow(resolver, module, name, depth + 1)
        return False

    return bool(returned) and all(map(is_kept, returned))


def _walk_own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function but those of functions in it."""
    for item in find_children(node):
        yield item
        if not isinstance(item, _SCOPES):
            yield from _walk_own(item)
