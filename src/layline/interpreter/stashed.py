"""Originals that a file keeps beside what it replaces: `C._first = C.go; C.go = ours` … `C.go = C._first`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.interpreter.values import Instance, Member, Outside, find_alternatives
from layline.source.walking import remember, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.modules import Module
    from layline.interpreter.values import Value

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


def find_kept_inside(keeper: Instance, owner: Value) -> Iterator[str]:
    """Methods of an object that another one keeps and calls: `self.old = model.forward` … `self.old(x)`."""
    used = _find_called(keeper.of.node)
    for name, value in keeper.attributes.items():
        for found in find_alternatives(value) if name in used else ():
            match found, owner:
                case Member(owner=whose, name=original), _ if whose == owner:
                    yield original
                case Outside(path=path), Outside(path=whole) if path.rpartition(".")[0] == whole:
                    yield path.rpartition(".")[2]
        if name.startswith("<") and value == owner:  # handed to a constructor that was too long to be read
            taken = _find_taken(keeper.of.node, int(name[1:-1]) + 1)
            yield from (original for kept, original in taken if kept in used)


@remember
def _find_called(node: ast.ClassDef) -> frozenset[str]:
    """Attributes of its object that a class calls."""
    calls = (part.func for part in walk(node) if isinstance(part, ast.Call))
    return frozenset(
        callee.attr
        for callee in calls
        if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name) and callee.value.id == "self"
    )


def _find_taken(node: ast.ClassDef, number: int) -> Iterator[tuple[str, str]]:
    """(name it is kept under, name of the original): what a constructor takes of its parameter of this number."""
    maker = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    parameters = [] if maker is None else [one.arg for one in (*maker.args.posonlyargs, *maker.args.args)]
    for statement in maker.body if maker is not None and number < len(parameters) else ():
        match statement:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=kept)],
                value=ast.Attribute(value=ast.Name(id=name), attr=original),
            ) if name == parameters[number]:
                yield kept, original
