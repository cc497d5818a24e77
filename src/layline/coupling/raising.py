"""The test in front of a line that raises at the tip, because it asks `isinstance` of what is no class there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.source.walking import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from layline.interpreter.modules import Module


def find_raising_test(at: Location, raising: Collection[Location], module: Module) -> Location | None:
    """The line of a test that must hold for a line to be reached, and asks `isinstance` of what is no class."""
    for node in (node for statement in module.body for node in walk(statement)):
        if isinstance(node, ast.If) and any(_covers(one, at.line) for one in node.body):
            lines = (call.lineno for part in _find_asked(node.test) for call in _find_isinstance(part))
            found = next((place for line in lines if (place := Location(at.path, line)) in raising), None)
            if found is not None:
                return found
    return None


def _find_asked(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a test that are all asked before its body runs."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            for part in parts:
                yield from _find_asked(part)
        case ast.UnaryOp(op=ast.Not(), operand=inner) if not isinstance(inner, ast.BoolOp):
            yield from _find_asked(inner)
        case ast.BoolOp(values=[first, *_]):
            yield from _find_asked(first)
        case _:
            yield test


def _find_isinstance(part: ast.expr) -> Iterator[ast.Call]:
    match part:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
            yield part


def _covers(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or statement.lineno)
