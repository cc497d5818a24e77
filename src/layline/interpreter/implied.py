"""Tests that another test decides: who knows that `kind` is "b" need not hear that it is not "a"."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from layline.interpreter.line_tests import LineTest, combine
from layline.source.walking import walk

_Values: TypeAlias = tuple[object, ...]


def drop_implied(tests: list[LineTest], body: list[ast.stmt]) -> list[LineTest]:
    """The same tests without those that are true of each value that another test leaves open, where nothing sets the
    subject between the two.
    """
    tests = [_drop_stricter(test, body) for test in tests]
    known = [(subject, values, test) for test in tests for subject, values in _find_values(test)]

    def is_implied(part: LineTest, whole: LineTest) -> bool:
        return any(
            whole is not other and _is_kept(body, subject, whole, other) and _holds_for(part, subject, values)
            for subject, values, other in known
        )

    return [
        combine("and", tuple(part for part in test.parts if not is_implied(part, test)))
        if test.operator == "and"
        else test
        for test in tests
        if not is_implied(test, test)
    ]


def _drop_stricter(test: LineTest, body: list[ast.stmt]) -> LineTest:
    """`x == 1 or x != 2` is `x != 2`: what another part holds for wherever it does itself adds nothing."""
    if test.operator == "and":
        return combine("and", tuple(_drop_stricter(part, body) for part in test.parts))
    if test.operator != "or":
        return test
    kept = list(test.parts)
    for part in test.parts:
        others = [other for other in kept if other is not part]
        if any(
            _is_kept(body, subject, part, other) and _holds_for(other, subject, values)
            for subject, values in _find_values(part)
            for other in others
        ):
            kept = others
    return combine("or", tuple(kept))


def _holds_for(test: LineTest, subject: str, values: _Values) -> bool:
    return all(_decide(test, subject, value) is True for value in values)


def _find_values(test: LineTest) -> Iterator[tuple[str, _Values]]:
    """What a test that holds leaves open: `x == 1`, `x in [1, 2]`."""
    if test.operator == "and":
        yield from (found for part in test.parts for found in _find_values(part))
    match test.node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.In() as operator], comparators=[right]) if test.holds:
            values = _read_values(operator, right)
            if values:
                yield ast.unparse(left), values


def _read_values(operator: ast.cmpop, right: ast.expr) -> _Values | None:
    match right:
        case ast.Constant(value=value) if isinstance(operator, ast.Eq | ast.NotEq):
            return (value,)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) if not isinstance(
            operator, ast.Eq | ast.NotEq
        ):
            return (
                tuple(one.value for one in items if isinstance(one, ast.Constant))
                if all(isinstance(one, ast.Constant) for one in items)
                else None
            )
    return None


def _decide(test: LineTest, subject: str, value: object) -> bool | None:
    """Whether a test holds for one value; None where that is not known."""
    if test.operator:
        return _join([_decide(part, subject, value) for part in test.parts], test.operator == "and")
    found = _evaluate(test.node, subject, value) if test.node is not None else None
    return found if found is None else found is test.holds


def _join(found: list[bool | None], all_: bool) -> bool | None:
    decisive = not all_
    if decisive in found:
        return decisive
    return None if None in found else all_


def _evaluate(node: ast.expr, subject: str, value: object) -> bool | None:
    match node:
        case ast.BoolOp(op=operator, values=parts):
            return _join([_evaluate(part, subject, value) for part in parts], isinstance(operator, ast.And))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            found = _evaluate(inner, subject, value)
            return None if found is None else not found
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn() as operator]):
            values = _read_values(operator, node.comparators[0]) if ast.unparse(left) == subject else None
            if values is None:
                return None
            return (value in values) is isinstance(operator, ast.Eq | ast.In)
        case ast.Call(
            func=ast.Attribute(value=left, attr="startswith" | "endswith" as word), args=[ast.Constant(value=str(text))]
        ) if ast.unparse(left) == subject and isinstance(value, str):
            return value.startswith(text) if word == "startswith" else value.endswith(text)
    return None


def _is_kept(body: list[ast.stmt], subject: str, one: LineTest, other: LineTest) -> bool:
    """Whether no statement between two tests sets what they ask about."""
    lines = sorted((_find_line(one), _find_line(other)))
    root = subject.partition(".")[0].partition("[")[0].partition("(")[0]
    stored = (
        item.lineno
        for statement in body
        for item in walk(statement)
        if isinstance(item, ast.Name | ast.Attribute) and isinstance(item.ctx, ast.Store) and _spell(item) == root
    )
    return lines[0] > 0 and not any(lines[0] <= line <= lines[1] for line in stored)


def _spell(node: ast.Name | ast.Attribute) -> str:
    return ast.unparse(node).partition(".")[0]


def _find_line(test: LineTest) -> int:
    return max((test.node.lineno if test.node is not None else 0, *map(_find_line, test.parts)))
