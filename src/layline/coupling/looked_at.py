"""What our code asks before it reads or calls: `hasattr(x, "y")`, `"y" in inspect.signature(f).parameters`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.source.fingerprint import dotted_text
from layline.source.walking import find_children, walk

_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MAKES = ".__init__"


def find_looked_at(body: list[ast.stmt], *, deep: bool) -> frozenset[str]:
    """Dotted names that statements give to a function of `inspect`; those in functions below only where `deep`."""
    return frozenset(name for statement in body for name in _find(statement, deep=deep))


def _find(statement: ast.stmt, *, deep: bool) -> Iterator[str]:
    for node in walk(statement) if deep else _walk_flat(statement):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="inspect")), args=[asked, *_]):
                name = dotted_text(asked)
                if name is not None:
                    yield name.removesuffix(_MAKES)


def _walk_flat(statement: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(statement, _BLOCKS):
        yield statement
        for below in find_children(statement):
            yield from _walk_flat(below)


def find_asked(function: ast.AST) -> Iterator[str]:
    """`hasattr(x, "word")`, `getattr(x, "word", other)`: what is read of it elsewhere in the function is asked for."""
    for node in walk(function):
        match node:
            case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=str(word))]):
                yield word
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(word)), _]):
                yield word


def asks_first(test: ast.expr) -> bool:
    """`if hasattr(x, "y")` and the like: what follows runs only where the name is there."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr"
        for node in walk(test)
    )
