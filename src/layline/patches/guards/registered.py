"""The condition of a patch: followed through lambdas and helpers, reduced, read aloud."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.core.condition import ALWAYS, NEVER, say
from layline.core.patch import Guard
from layline.interpreter.condition_reader import build_condition
from layline.interpreter.conditions import Reader, simplify
from layline.interpreter.values import Argument, Function, Literal, Partial, Unknown, Value, truth

if TYPE_CHECKING:
    from layline.interpreter.calls import Interpreter
    from layline.interpreter.config_paths import Roots

CONTEXT = "ctx"


def build_guard(machine: Interpreter, condition: Value | None, roots: Roots) -> Guard:
    """What must hold for a patch to apply; without a condition: always."""
    match condition:
        case None | Literal(value=None):
            return Guard()
        case Function():
            text = write_source(condition)
        case Partial(function=Function() as function):
            text = write_source(function)
        case _:
            return Guard(when=say("not decided: the condition is computed at run time"), written=say("<computed>"))
    result = call_on_context(machine, condition)
    reader, test = Reader(roots), simplify(result)
    decided = truth(test)
    when = build_condition(test, reader) if decided is None else ALWAYS if decided else NEVER
    return Guard(when=when, written=say(text))


def call_on_context(machine: Interpreter, function: Value) -> Value:
    """What a function of the downstream returns for the context of a patch engine."""
    inner = function.function if isinstance(function, Partial) else function
    if not isinstance(inner, Function):
        return Unknown("what a condition returns")
    with machine.from_outside(inner.module):
        return machine.call(function, [Argument(_first_parameter(inner), context=True)], {}, inner.node)


def _first_parameter(function: Value) -> str:
    """How the condition calls what it is given: `ctx`, or `args` where that is the config itself."""
    if not isinstance(function, Function):
        return CONTEXT
    parameters = function.node.args
    names = [arg.arg for arg in (*parameters.posonlyargs, *parameters.args)]
    return names[0] if names else CONTEXT


def write_source(function: Function) -> str:
    """The condition as it is written: a lambda in full, a function by its name."""
    if isinstance(function.node, ast.Lambda):
        return ast.unparse(function.node)
    return function.name
