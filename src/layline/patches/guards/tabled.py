"""A line behind `key in TABLE`, of which one target is told: the keys whose entries lead to it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from layline.interpreter.line_tests import LineTest
from layline.interpreter.values import Class, Items, Literal, Outside, Table, Value
from layline.source.names import is_within

LookUp: TypeAlias = "Callable[[str], Value | None]"


def narrow(test: LineTest, target: str, look_up: LookUp) -> LineTest:
    """The test as far as it leads to the target; `look_up` tells what a name of the module stands for."""
    if test.operator:
        return replace(test, parts=tuple(narrow(part, target, look_up) for part in test.parts))
    match test.node:
        case ast.Compare(left=asked, ops=[ast.In()], comparators=[ast.Name(id=name)]) if test.holds:
            table = look_up(name)
            node = _choose(asked, table, target) if isinstance(table, Table) and table.whole else None
            return test if node is None else LineTest(ast.unparse(node), node)
    return test


def _choose(asked: ast.expr, table: Table, target: str) -> ast.expr | None:
    """`key == "a"`; None where every key leads there, or none is seen to."""
    chosen = [key for key, value in table.entries if _leads_to(value, target)]
    wanted: list[ast.expr] = [
        ast.Constant(key.value) for key in chosen if isinstance(key, Literal) and isinstance(key.value, str | int)
    ]
    if not wanted or len(wanted) < len(chosen) or len(wanted) == len(table.entries):
        return None
    if len(wanted) == 1:
        return ast.copy_location(ast.Compare(left=asked, ops=[ast.Eq()], comparators=wanted), asked)
    several = ast.List(wanted, ast.Load())
    return ast.copy_location(ast.Compare(left=asked, ops=[ast.In()], comparators=[several]), asked)


def _leads_to(value: Value, target: str) -> bool:
    """The names an entry holds, one after the other, lead to the target: a module and a class in it."""
    return is_within(target, ".".join(_find_names(value)) or "?")


def _find_names(value: Value) -> Iterator[str]:
    match value:
        case Literal(value=str(text)):
            yield text
        case Outside(path=path):
            yield path
        case Class():
            yield value.dotted
        case Items(values=values):
            for item in values:
                yield from _find_names(item)
