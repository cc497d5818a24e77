"""What a caller has checked by a helper without arguments before it calls: `cls.check_device()`, which raises."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.core.condition import ALWAYS, NEVER, Condition, ConditionKind
from layline.coupling.demands import find_demands
from layline.interpreter.line_tests import find_body, find_line_tests
from layline.interpreter.line_words import read_own_tests
from layline.source.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.modules import Module, Modules


def read_checks(function: ast.AST, line: int, names: tuple[str, ...], modules: Modules) -> Iterator[Condition]:
    """What such helpers ask that run before a line of a function; `names`: dotted, the function that it calls there, and
    itself: of a method of both classes that of the one called counts.
    """
    for call in find_demands(find_body(function), line):
        if call.args or call.keywords:
            continue  # it may ask about what it is handed, which chooses nothing
        helper = _find_helper(call.func, names, modules)
        asked = _read_helper(helper) if helper is not None else ALWAYS
        if helper is not None and asked not in (ALWAYS, NEVER):
            yield Condition(kind=ConditionKind.HELPER, text=helper.name, parts=(asked,))


def _find_helper(called: ast.expr, names: tuple[str, ...], modules: Modules) -> ast.FunctionDef | None:
    match called:
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            holders = [one.rpartition(".")[0] for one in names]
        case ast.Name(id=name):
            holders = [next((one for one in _parents(names[-1]) if modules.find(one) is not None), "")]
        case _:
            return None
    return next((found for one in holders if (found := _find_function(one, name, modules)) is not None), None)


def _find_function(holder: str, name: str, modules: Modules) -> ast.FunctionDef | None:
    """A function that a module or a class at its top defines."""
    module = modules.find(holder)
    body = module.body if module is not None else _find_class(holder, modules)
    return next((one for one in body if isinstance(one, ast.FunctionDef) and one.name == name), None)


def _find_class(dotted: str, modules: Modules) -> list[ast.stmt]:
    owner, _, name = dotted.rpartition(".")
    module: Module | None = modules.find(owner) if owner else None
    body = module.body if module is not None else []
    return next((one.body for one in body if isinstance(one, ast.ClassDef) and one.name == name), [])


def _read_helper(helper: ast.FunctionDef) -> Condition:
    """What holds where it comes back, if all it can do is raise."""
    if any(isinstance(node, ast.Return | ast.Yield) for statement in helper.body for node in walk(statement)):
        return ALWAYS
    tests = list(find_line_tests(helper.body, (helper.end_lineno or helper.lineno) + 1))
    return read_own_tests(tests, helper.body) if all(test.is_check for test in tests) else ALWAYS


def _parents(dotted: str) -> Iterator[str]:
    while dotted:
        dotted = dotted.rpartition(".")[0]
        yield dotted
