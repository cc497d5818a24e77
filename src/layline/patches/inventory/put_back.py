"""What one method of a class puts in place and another puts back: `self.old = m.f; m.f = ours` … `m.f = self.old`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.interpreter.events import Event, Write
from layline.interpreter.values import Function, Instance
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.interpreter.values import Class


_ENDS = frozenset({"__exit__", "__aexit__"})
"""What leaving a context manager undoes is found by running it (`context_managers`)."""
_COPIES = frozenset({"FunctionType", "copy", "deepcopy"})
"""Functions of the standard library that make the same once more."""


@dataclass(frozen=True, slots=True)
class _Assignment:
    """One attribute set in a method, as texts."""

    method: str
    target: str
    value: str
    line: int
    reads: frozenset[str] = frozenset()
    """Attributes that the value is, or is made of."""


@dataclass(frozen=True, slots=True)
class PutBack:
    """Lines of one class."""

    swaps: frozenset[int] = frozenset()
    """Which put something in the place of what the class keeps."""
    restores: frozenset[int] = frozenset()
    """Which put that back."""


def mark_put_back(events: list[Event], function: Function, known: dict[ast.AST, PutBack]) -> None:
    """Marks the writes of a method that another method of its class undoes, and those that undo."""
    owner: Class | None = function.bound.of if isinstance(function.bound, Instance) else None
    if owner is None:
        return
    if owner.node not in known:
        known[owner.node] = find_put_back(owner.node)
    lines = known[owner.node]
    for event in events if lines.restores else ():
        if isinstance(event, Write) and event.at.path == function.module.path:
            event.restores = event.restores or event.at.line in lines.restores
            event.transient = event.transient or event.at.line in lines.swaps


def find_put_back(owner: ast.ClassDef) -> PutBack:
    found = list(_find_assignments(owner))
    kept = {(one.target, read): one.method for one in found for read in one.reads}
    back = [one for one in found if kept.get((one.value, _unclass(one.target)), one.method) != one.method]
    restored = {(kept[(one.value, _unclass(one.target))], one.target) for one in back if one.method not in _ENDS}
    ends = {(one.method, one.target): one.line for one in back}
    restores = frozenset(one.line for one in back)
    swaps = (
        one.line
        for one in found
        if one.line not in restores
        and ((one.method, one.target) in restored or one.line < ends.get((one.method, one.target), 0))
    )
    return PutBack(frozenset(swaps), restores)


def _find_assignments(owner: ast.ClassDef) -> Iterator[_Assignment]:
    for method in (item for item in owner.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)):
        made = {
            node.targets[0].id: node.value
            for node in walk(method)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for node in walk(method):
            match node:
                case ast.Assign(targets=[ast.Attribute() as target], value=value):
                    yield _build(method.name, ast.unparse(target), value, made, node.lineno)
                case ast.Call(func=ast.Name(id="setattr"), args=[holder, ast.Constant(value=str(name)), value]):
                    yield _build(method.name, f"{ast.unparse(holder)}.{name}", value, made, node.lineno)


def _build(method: str, target: str, value: ast.expr, made: dict[str, ast.expr], line: int) -> _Assignment:
    return _Assignment(method, target, _read(value), line, frozenset(map(_unclass, _find_read(value, made))))


def _find_read(value: ast.expr, made: dict[str, ast.expr]) -> Iterator[str]:
    """The attribute that a value is, or those that a copy is made of: `FunctionType(x.f.__code__, …)`."""
    spelled = made.get(value.id, value) if isinstance(value, ast.Name) else value
    if direct := _read(spelled):
        yield direct
    elif isinstance(spelled, ast.Call) and ast.unparse(spelled.func).rpartition(".")[2] in _COPIES:
        yield from (text for node in ast.walk(spelled) if isinstance(node, ast.expr) and (text := _read(node)))


def _unclass(text: str) -> str:
    """What is read from an object is what its class has."""
    return text.replace(".__class__.", ".")


def _read(value: ast.expr) -> str:
    match value:
        case ast.Call(func=ast.Name(id="getattr"), args=[holder, ast.Constant(value=str(name)), *_]):
            return f"{ast.unparse(holder)}.{name}"
        case ast.Attribute():
            return ast.unparse(value)
    return ""
