"""Names that code hands on as values: returned, set as an attribute, passed by keyword; not called or asked about."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_ASKING = frozenset({"isinstance", "issubclass"})


def find_handed(node: ast.AST) -> Iterator[str]:
    """The names that one statement or keyword hands on."""
    match node:
        case ast.Return(value=ast.expr() as value):
            yield from _find_values(value)
        case ast.Assign(targets=[ast.Attribute()], value=value):
            yield from _find_values(value)
        case ast.keyword(arg=str() as slot, value=value) if slot != "module":
            yield from _find_values(value)  # a spec of our own names a module, and our own code builds it


def _find_values(node: ast.expr) -> Iterator[str]:
    """Names that stand as values in an expression: not called, not asked about, chosen or passed through."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.IfExp(body=one, orelse=other):
            yield from (*_find_values(one), *_find_values(other))
        case ast.Tuple(elts=items) | ast.List(elts=items):
            yield from (name for item in items for name in _find_values(item))
        case ast.Call(func=ast.Name(id=name), args=items) if name not in _ASKING:
            yield from (name for item in items for name in _find_values(item))
