"""Syntax trees in one normal form: positions, formatting, comments and docstrings do not count."""

from __future__ import annotations

import ast
import hashlib
from typing import Any

_IGNORED = frozenset({"lineno", "col_offset", "end_lineno", "end_col_offset", "ctx", "kind", "type_comment"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


def fingerprint(body: list[ast.stmt] | list[ast.expr]) -> str:
    """A short hash of statements or expressions, the docstring in front left out."""
    words: list[str] = []
    for node in strip_docstring(body):
        normalise(node, words)
    return digest(words)


def digest(words: list[str]) -> str:
    return hashlib.blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def strip_docstring(body: list[Any]) -> list[Any]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def normalise(node: ast.AST, words: list[str]) -> None:
    """Appends the tree as words: class names, identifiers, constants; lists in brackets. The grammar makes it unambiguous."""
    words.append(node.__class__.__name__)
    if not node._fields:
        return  # operators are shared by all trees, and other tools hang attributes on them
    scope = isinstance(node, _SCOPES)
    for name, value in node.__dict__.items():
        if name in _IGNORED:
            continue
        if isinstance(value, ast.AST):
            normalise(value, words)
        elif value.__class__ is list:
            words.append("[")
            for item in strip_docstring(value) if scope and name == "body" else value:
                if isinstance(item, ast.AST):
                    normalise(item, words)
                else:
                    words.append(repr(item))
            words.append("]")
        else:
            words.append(value if value.__class__ is str and name != "value" else repr(value))


def text_of(node: ast.expr) -> str:
    """An expression in one normal spelling; the common short ones without the cost of `ast.unparse`."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=value) if value is None or value.__class__ in {bool, int, str}:
            return repr(value)
        case ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=attr):
            return f"{text_of(owner)}.{attr}"
        case ast.Subscript(value=ast.Name() | ast.Attribute() as owner, slice=ast.Name() | ast.Attribute() as inner):
            return f"{text_of(owner)}[{text_of(inner)}]"
    return ast.unparse(node)


def dotted_text(node: ast.expr) -> str | None:
    """`a.b.c` of a chain of names; None for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=attr):
            root = dotted_text(owner)
            return f"{root}.{attr}" if root else None
    return None
