"""The tests that a line stands behind, in the words of the source."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from layline.core.condition import ALWAYS as ALL_HOLD
from layline.core.condition import NEVER as NONE_HOLDS
from layline.core.condition import Condition, ConditionKind, say
from layline.interpreter.implied import drop_implied
from layline.interpreter.line_tests import (
    ALWAYS,
    LONGEST,
    NEVER,
    LineTest,
    combine,
    find_line_tests,
    invert,
    shorten,
)
from layline.source.walking import walk

_OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_MOST_CHECKS = 3
"""Checks of a caller that are told one by one."""


def read_caller_tests(body: list[ast.stmt], line: int) -> Condition:
    """What a caller asks before it calls at `line`; many checks that only raise are counted, for what decides would be
    lost among them.
    """
    return _read_asked(list(find_line_tests(body, line)), body, lambda _: True)


def read_far_tests(body: list[ast.stmt], line: int, is_short: Callable[[Condition], bool]) -> Condition:
    """The same far above: not whether a file is run, and checks only as far as all stays short."""
    tests = [test for test in find_line_tests(body, line) if not _asks_for_main(test)]
    return _read_asked(tests, body, is_short)


def _read_asked(found: list[LineTest], body: list[ast.stmt], is_short: Callable[[Condition], bool]) -> Condition:
    tests = _drop_first(found, body)
    checks = sum(test.is_check and not test.is_sanity for test in tests)
    whole = read_own_tests(tests, body)
    if not checks or (checks <= _MOST_CHECKS and is_short(whole)):
        return whole
    deciding = read_line_tests([test for test in tests if not test.is_check], body)
    told = _count(deciding, sum(test.is_check for test in tests))
    return told if is_short(told) else deciding


def read_own_tests(tests: list[LineTest], body: list[ast.stmt]) -> Condition:
    """The tests as one condition, without those for the first run; of assertions about values, which choose nothing, only
    how many stand beside it.
    """
    deciding = [test for test in _drop_first(tests, body) if not test.is_sanity]
    whole, asserted = read_line_tests(deciding, body), sum(test.is_sanity for test in tests)
    return _count(whole, asserted) if asserted and whole not in (ALL_HOLD, NONE_HOLDS) else whole


def _count(deciding: Condition, checks: int) -> Condition:
    counted = say(f"none of {checks} earlier checks raises" if checks > 1 else "an earlier check does not raise")
    parts = deciding.parts if deciding.kind is ConditionKind.ALL else (deciding,)
    return Condition(kind=ConditionKind.ALL, parts=(*parts, counted))


def _find_once(body: list[ast.stmt]) -> Iterator[str]:
    """Globals by which a function notes that it has run: `global _done; if _done: return; …; _done = True`."""
    shared = {name for statement in body if isinstance(statement, ast.Global) for name in statement.names}
    for node in (node for statement in body for node in walk(statement)) if shared else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=True)) if name in shared:
                yield name


def _drop_first(tests: list[LineTest], body: list[ast.stmt]) -> list[LineTest]:
    """The tests without those that ask whether the function runs for the first time: that it does something once says
    nothing of when it does.
    """
    once = frozenset(_find_once(body))
    return [left for test in tests if (left := _keep_later(test, once)) != ALWAYS] if once else tests


def _keep_later(test: LineTest, once: frozenset[str]) -> LineTest:
    if test.operator == "and":
        left = combine("and", tuple(_keep_later(part, once) for part in test.parts))
        return replace(left, is_check=test.is_check, is_sanity=test.is_sanity)
    return ALWAYS if isinstance(test.node, ast.Name) and not test.holds and test.node.id in once else test


def _asks_for_main(test: LineTest) -> bool:
    match test.node:
        case ast.Compare(left=ast.Name(id="__name__")):
            return True
    return False


def read_line_tests(tests: list[LineTest], body: list[ast.stmt]) -> Condition:
    """The tests as one condition in the words of the source; names that the block assigns once are explained."""
    whole = combine("and", tuple(drop_implied(tests, body)))
    return _tell(whole, {} if whole in (ALWAYS, NEVER) else _find_assigned(body, _last_line(whole)))


def read_words(node: ast.expr) -> Condition:
    """A test as it is written."""
    match node:
        case ast.BoolOp(op=operator, values=values):
            kind = ConditionKind.ALL if isinstance(operator, ast.And) else ConditionKind.ANY
            return Condition(kind=kind, parts=tuple(map(read_words, values)))
    return say(ast.unparse(node))


def _tell(test: LineTest, known: dict[str, str]) -> Condition:
    if test.operator == "or" and test.parts and all(not part.holds and not part.operator for part in test.parts):
        positive = Condition(kind=ConditionKind.ALL, parts=tuple(_tell(invert(part), known) for part in test.parts))
        return Condition(kind=ConditionKind.NOT, parts=(positive,))
    if test.operator:
        kind = ConditionKind.ALL if test.operator == "and" else ConditionKind.ANY
        return Condition(kind=kind, parts=tuple(_tell(part, known) for part in test.parts))
    if test.node is None:
        return say(test.text if test.holds else test.opposite)
    return say(_show_test(test.node, known) if test.holds else _show_opposite(test.node, known))


def _show_test(node: ast.expr, known: dict[str, str]) -> str:
    text = shorten(ast.unparse(node))
    if isinstance(node, ast.Name) and node.id in known:
        return f"{text} (= {known[node.id]})"
    return text


def _show_opposite(node: ast.expr, known: dict[str, str]) -> str:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        return shorten(f"{left} {_OPPOSITE[type(node.ops[0])]} {right}")
    text = _show_test(node, known)
    simple = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"not {text}" if simple else f"not ({text})"


def _last_line(test: LineTest) -> int:
    """The last line on which a part of it stands."""
    return max((test.node.lineno if test.node is not None else 0, *(_last_line(part) for part in test.parts)))


_TELLS_NOTHING = (ast.Constant, ast.List, ast.Dict, ast.Set)
"""What a name is at first: a list that is asked for is filled in between."""


def _mentions(value: ast.expr, name: str) -> bool:
    """`x = x[1:]`: before it the name stands for something else."""
    return any(isinstance(node, ast.Name) and node.id == name for node in walk(value))


def _find_assigned(body: list[ast.stmt], before: int) -> dict[str, str]:
    """Names that a block assigns exactly once, ahead of a line, with what from."""
    found: dict[str, list[str]] = {}
    for statement in body:
        for node in walk(statement):
            match node:
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    found.update((name, ["", ""]) for name in names)
                case ast.If(body=[ast.Assign(targets=[ast.Name(id=name)])], test=ast.Compare(left=ast.Name(id=asked))):
                    found.update({name: ["", ""]} if asked == name else {})  # `if x is None: x = …`: one of two values
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    is_plain = isinstance(value, _TELLS_NOTHING) or node.lineno > before or _mentions(value, name)
                    found.setdefault(name, []).extend(["", ""] if is_plain else [ast.unparse(value)])
                case ast.Name(id=name, ctx=ast.Store()):
                    found.setdefault(name, [])
    return {name: values[0] for name, values in found.items() if len(values) == 1 and len(values[0]) <= LONGEST}
