"""What a function calls, hands on or returns, as far as the names it closes over tell; nothing is run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.interpreter.objects import open_closure
from layline.interpreter.values import Function, Later, Outside, find_alternatives
from layline.source.walking import remember, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.modules import Scope
    from layline.interpreter.values import Value

INERT = frozenset(
    [
        "functools.wraps",
        "functools.update_wrapper",
        "inspect.signature",
        "inspect.getsource",
        "inspect.getfile",
        "inspect.unwrap",
        "inspect.getsourcefile",
        "inspect.getsourcelines",
        "inspect.iscoroutinefunction",
        "asyncio.iscoroutinefunction",
        "builtins.getattr",
        "builtins.hasattr",
        "builtins.isinstance",
        "builtins.issubclass",
        "builtins.callable",
        "builtins.id",
        "builtins.repr",
        "builtins.str",
        "builtins.print",
        "builtins.type",
        "builtins.setattr",
        "builtins.dir",
        "builtins.vars",
        "types.MethodType",
    ]
)
"""Calls that look at a function without calling it."""


def find_references(function: Function) -> Iterator[str]:
    """Outside names in the places where a function can use what it is given: called, passed on, returned."""
    own = {arg.arg for arg in walk(function.node.args) if isinstance(arg, ast.arg)}
    scope = open_closure(function)
    for node in walk(function.node):
        for used in _used(node, scope, own):
            yield from _resolve(used, scope, own)


def _used(node: ast.AST, scope: Scope, own: set[str]) -> Iterator[ast.expr]:
    match node:
        case ast.Call(func=callee, args=arguments, keywords=keywords):
            yield callee
            if not any(path in INERT for path in _resolve(callee, scope, own)):
                yield from arguments
                yield from (keyword.value for keyword in keywords)
        case ast.Return(value=value) if value is not None:
            yield value
        case ast.Lambda(body=body):
            yield body


def _resolve(node: ast.expr, scope: Scope, own: set[str]) -> Iterator[str]:
    """Dotted outside names that an expression of names and attributes may stand for."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id in own:
        return
    found = scope.find(node.id)
    if isinstance(found, Later):
        found = found.value
    if found is None:
        return
    for value in find_alternatives(found):
        if isinstance(value, Outside):
            yield ".".join([value.path, *reversed(parts)])
        elif isinstance(value, Function):  # a function of ours may be what an installer replaces
            yield ".".join([value.dotted, *reversed(parts)])


def find_captured(function: Function) -> Iterator[Value]:
    """What a function calls of the names around it: `held(*args)` in a closure over `held`."""
    scope = open_closure(function)
    for name in _find_called(function.node):
        found = scope.find(name)
        if found is not None and not isinstance(found, Later):
            yield from find_alternatives(found)


def find_read(function: Function) -> Iterator[Value]:
    """What a function reads of the names around it, whether it calls it or not."""
    scope = open_closure(function)
    for name in _find_names(function.node):
        found = scope.find(name)
        if found is not None and not isinstance(found, Later):
            yield from find_alternatives(found)


@remember
def _find_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> tuple[str, ...]:
    """Names that a function reads and does not take as parameters, each once."""
    own = {arg.arg for arg in walk(node.args) if isinstance(arg, ast.arg)}
    names = (part.id for part in walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))
    return tuple(dict.fromkeys(name for name in names if name not in own))


@remember
def _find_called(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> tuple[str, ...]:
    """Names that a function calls and does not take as parameters, each once."""
    own = {arg.arg for arg in walk(node.args) if isinstance(arg, ast.arg)}
    called = (part.func.id for part in walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name))
    return tuple(dict.fromkeys(name for name in called if name not in own))


def find_own_attributes(function: Function) -> Iterator[str]:
    """Attributes of its own object that a method reads anywhere: `self.forward_origin`."""
    first = next((arg.arg for arg in (*function.node.args.posonlyargs, *function.node.args.args)), None)
    for node in walk(function.node):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Load()) if name == first:
                yield attribute


@remember
def makes_callable(node: ast.AST) -> bool:
    """Whether what a function returns can be called, by what stands behind `return`: a function or class it defines, a
    lambda, a partial.
    """
    if isinstance(node, ast.Lambda):
        return isinstance(node.body, ast.Lambda)
    if not isinstance(node, ast.FunctionDef):
        return False
    made = {part.name for part in ast.walk(node) if isinstance(part, _DEFINES) and part is not node}
    made |= {
        target.id
        for part in ast.walk(node)
        if isinstance(part, ast.Assign) and _is_callable(part.value, made)
        for target in part.targets
        if isinstance(target, ast.Name)
    }
    returned = [part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value is not None]
    return any(_is_callable(value, made) for value in returned)


_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MAKERS = frozenset({"partial", "partialmethod", "MethodType", "wraps", "update_wrapper", "compile", "jit", "type"})


def _is_callable(value: ast.expr, made: set[str]) -> bool:
    match value:
        case ast.Lambda():
            return True
        case ast.Name(id=name):
            return name in made
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
            return name in _MAKERS or any(_is_callable(item, made) for item in args)
        case ast.Call(args=args):
            return any(_is_callable(item, made) for item in args)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_callable(body, made) or _is_callable(orelse, made)
    return False


@remember
def gives_value(node: ast.AST) -> bool:
    """Whether a function returns anything but nothing, True or False."""
    found = [part.value for part in walk(node) if isinstance(part, ast.Return) and part.value is not None]
    return any(not (isinstance(value, ast.Constant) and value.value in (None, True, False)) for value in found)
