"""Tests that are decided or not by what stands before them: by defaults, or by earlier tests of the same names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.interpreter.branches import Known, assume, holds
from layline.interpreter.modules import Scope
from layline.interpreter.values import Argument, Instance, Value, truth
from layline.source.walking import remember, walk

if TYPE_CHECKING:
    from layline.interpreter.state import Frame, Machine


def decide_again(node: ast.expr, test: Value, frame: Frame) -> bool | None:
    """Whether a test came out already on the way here; None where it did not, or its names may have changed since."""
    if frame.function is None or not frame.conditions:
        return None
    names = list(_find_asked(node))
    if not names or None in names or not find_settled(frame.function.node).issuperset(names):
        return None
    known: Known = ()
    for earlier, _ in frame.conditions:
        known = assume(earlier, known)
    return holds(test, known)


def ask_caller(machine: Machine, node: ast.expr, test: Value, known: bool, scope: Scope) -> tuple[Value, bool | None]:
    """In a function that nobody called, defaults of parameters and attributes of its object decide nothing yet."""
    function = machine.frame.function
    if function is None or len(machine.frames) != 2 or isinstance(node, ast.Constant):
        return test, known
    names = set(function.defaults)
    if isinstance(function.bound, Instance):
        names.update(arg.arg for arg in function.node.args.args[:1])
    asked = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} & names
    if not asked:
        return test, known
    open_ = Scope(scope.module, scope, {name: Argument(name) for name in asked})
    found = machine.evaluate(node, open_)
    return (test, known) if truth(found) is not None else (found, None)


def _find_asked(node: ast.expr) -> Iterator[str | None]:
    """The names whose truth alone a test asks for; None for anything else in it."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _find_asked(operand)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _find_asked(value)
        case _:
            yield None


@remember
def find_settled(function: ast.AST) -> frozenset[str]:
    """Names of a function that from the first test of their truth on are neither set again nor handed to anybody who
    could fill or empty what they hold.
    """
    asked = {id(found): found for test in _find_tests(function) for found in _find_names(test)}
    first: dict[str, int] = {}
    for one in asked.values():
        first[one.id] = min(one.lineno, first.get(one.id, one.lineno))
    local, changed = set(_find_parameters(function)), set[str]()
    for node in walk(function):
        match node:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                changed.update(names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                local.add(name)
                changed.update({name} if node.lineno >= first.get(name, node.lineno + 1) else ())
            case ast.Name(id=name) if id(node) not in asked and node.lineno >= first.get(name, node.lineno + 1):
                changed.add(name)
    return frozenset(local & first.keys() - changed)


def _find_tests(function: ast.AST) -> Iterator[ast.expr]:
    for node in walk(function):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                yield test


def _find_names(test: ast.expr) -> Iterator[ast.Name]:
    match test:
        case ast.Name():
            yield test
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _find_names(operand)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _find_names(value)


def _find_parameters(function: ast.AST) -> Iterator[str]:
    arguments = getattr(function, "args", None)
    if isinstance(arguments, ast.arguments):
        yield from (arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
