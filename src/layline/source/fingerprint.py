"""Syntax trees in one normal form: positions, formatting, comments and docstrings do not count."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable
from typing import Any

_IGNORED = frozenset({"ctx", "kind", "type_comment"})
_SCOPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module})


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
    """Appends the tree as words: class names, identifiers, constants; lists in brackets. The grammar makes it
    unambiguous.
    """
    _spell(node, words.append)


def _spell(node: ast.AST, add: Callable[[str], None]) -> None:
    """One node: the four kinds that are three quarters of every tree are spelled out, because this is half of
    indexing.
    """
    kind = node.__class__
    if kind is ast.Name:
        add("Name")
        add(node.id)  # type: ignore[attr-defined]
    elif kind is ast.Attribute:
        add("Attribute")
        _spell(node.value, add)  # type: ignore[attr-defined]
        add(node.attr)  # type: ignore[attr-defined]
    elif kind is ast.Constant:
        add("Constant")
        add(repr(node.value))  # type: ignore[attr-defined]
    elif kind is ast.Call:
        add("Call")
        _spell(node.func, add)  # type: ignore[attr-defined]
        for listed in (node.args, node.keywords):  # type: ignore[attr-defined]
            add("[")
            for item in listed:
                _spell(item, add)
            add("]")
    else:
        add(kind.__name__)
        _spell_fields(node, kind, add)


def _spell_fields(node: ast.AST, kind: type[ast.AST], add: Callable[[str], None]) -> None:
    held = node.__dict__
    plan = _PLANS.get(kind)
    for name in _plan(kind) if plan is None else plan:  # operators have none
        if name not in held:
            continue
        value = held[name]
        if value.__class__ is list:
            add("[")
            for item in strip_docstring(value) if name == "body" and kind in _SCOPES else value:
                if isinstance(item, ast.AST):
                    _spell(item, add)
                else:
                    add(repr(item))
            add("]")
        elif isinstance(value, ast.AST):
            _spell(value, add)
        else:
            add(value if value.__class__ is str and name != "value" else repr(value))


_PLANS: dict[type[ast.AST], tuple[str, ...]] = {}


def _plan(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that count; operators have none (all trees share them, and other tools hang
    attributes on them).
    """
    _PLANS[kind] = tuple(name for name in kind._fields if name not in _IGNORED)
    return _PLANS[kind]


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
