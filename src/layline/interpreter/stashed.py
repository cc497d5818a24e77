"""Originals that a file keeps beside what it replaces: `C._first = C.go; C.go = ours` … `C.go = C._first`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.source.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.modules import Module

UNWRAPPED = ".__wrapped__"
"""Where a decorated function keeps the one it stands for: to call it is to call the original."""


def find_stashed(module: Module) -> frozenset[tuple[str, str]]:
    """(name it is stashed under, name of the original), wherever in the file the two stand; read when first asked."""
    if module.stashed is None:
        module.stashed = frozenset(_find_pairs(module.body))
    return module.stashed


def _find_pairs(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """What is copied on one owner counts only if the file puts something else in the place of the original."""
    copied: set[tuple[str, str, str]] = set()
    put: dict[tuple[str, str], set[str | None]] = {}
    for owner, name, value in _find_writes(body):
        source = _read(value)
        copy = source[1] if source is not None and ast.unparse(source[0]) == owner and source[1] != name else None
        put.setdefault((owner, name), set()).add(copy)
        if copy is not None:
            copied.add((owner, name, copy))
    for owner, name, original in copied:
        if put.get((owner, original), set()) - {name}:
            yield name, original


def _find_writes(body: list[ast.stmt]) -> Iterator[tuple[str, str, ast.expr]]:
    for statement in body:
        for node in walk(statement):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if isinstance(target, ast.Attribute):
                            yield ast.unparse(target.value), target.attr, value
                case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), value]):
                    yield ast.unparse(owner), name, value


def _read(value: ast.expr) -> tuple[ast.expr, str] | None:
    match value:
        case ast.Attribute(value=owner, attr=name):
            return owner, name
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
            return owner, name
    return None
