"""Calls that stand behind a question about the signature of what they call: `"x" in signature(f).parameters`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from layline.source.fingerprint import dotted_text
from layline.source.walking import walk

Asked: TypeAlias = tuple[str, bool]
"""A parameter, and whether what is called must have it."""
MARK = b"signature("
"""What the text of a module has that asks for signatures."""
_DEEPEST = 4
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_HOLD = frozenset({"set", "list", "tuple", "dict"})


def find_asked(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> Iterator[Asked]:
    """What a function asks of the signature of a callee before it calls that."""
    callee = dotted_text(call.func)
    held = _find_held(function)
    for test, holds in _find_tests(function.body, call.lineno) if callee is not None else ():
        yield from _read(test, holds, callee or "", held)


def _find_held(function: ast.AST) -> dict[str, ast.expr]:
    """Variables that are given one value only."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.Name(id=name, ctx=ast.Store()):
                found.setdefault(name, []).append(None)
    # the target of each assignment is met once more by itself
    return {name: given[0] for name, given in found.items() if len(given) == 2 and given[0] is not None}


def _find_tests(body: Iterable[ast.stmt], line: int) -> Iterator[tuple[ast.expr, bool]]:
    """The tests around a line and those that an early end left behind, each with what it must be."""
    for statement in body:
        if statement.lineno > line:
            return
        is_around = line <= (statement.end_lineno or 0)
        match statement:
            case ast.If(test=test, body=yes, orelse=no) if is_around:
                is_first = any(one.lineno <= line <= (one.end_lineno or 0) for one in yes)
                yield test, is_first
                yield from _find_tests(yes if is_first else no, line)
            case ast.If(test=test, body=[*_, last], orelse=[]) if isinstance(last, _LEAVES):
                yield test, False
            case _ if is_around and not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for name in ("body", "orelse", "finalbody"):
                    yield from _find_tests(getattr(statement, name, ()), line)


def _read(test: ast.expr, holds: bool, callee: str, held: dict[str, ast.expr]) -> Iterator[Asked]:
    match _settle(test, held):
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _read(inner, not holds, callee, held)
        case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And) is holds:
            for value in values:
                yield from _read(value, holds, callee, held)
        case ast.Compare(left=ast.Constant(value=str(name)), ops=[ast.In() | ast.NotIn() as how], comparators=[table]):
            if _is_signature(table, callee, held):
                yield name, isinstance(how, ast.In) is holds


def _is_signature(node: ast.expr, callee: str, held: dict[str, ast.expr], depth: int = 0) -> bool:
    """Whether an expression is the parameters of a callee, by name."""
    match _settle(node, held):
        case ast.Attribute(value=inner, attr="parameters"):
            match _settle(inner, held):
                case ast.Call(func=asks, args=[one]):
                    return (dotted_text(asks) or "").endswith("signature") and dotted_text(one) == callee
        case ast.Call(func=ast.Attribute(value=inner, attr="keys")) if depth < _DEEPEST:
            return _is_signature(inner, callee, held, depth + 1)
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _HOLD and depth < _DEEPEST:
            return _is_signature(inner, callee, held, depth + 1)
    return False


def _settle(node: ast.expr, held: dict[str, ast.expr], depth: int = 0) -> ast.expr:
    if isinstance(node, ast.Name) and node.id in held and depth < _DEEPEST:
        return _settle(held[node.id], held, depth + 1)
    return node
