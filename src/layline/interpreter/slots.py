"""Names of a module that begin as a constant and that a function of it gives something else: flags, and slots that are
filled later.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.interpreter.modules import Setter
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.interpreter.modules import Module
    from layline.interpreter.state import Frame


def is_open(module: Module, name: str, frames: list[Frame]) -> bool:
    """Whether the constant that a name begins with says nothing of what a function finds there: another function,
    which none of the running ones is, rebinds it.
    """
    running = [frame.function.node for frame in frames if frame.function is not None]
    setters = find_setters(module).get(name, ()) if running else ()
    return bool(setters) and not any(one.function is node for one in setters for node in running)


def keeps(module: Module, name: str, original: str) -> bool:
    """Whether a function keeps an attribute of this name there: `global _kept; _kept = C.go`."""
    return any(one.taken == original for one in find_setters(module).get(name, ()))


def find_setters(module: Module) -> dict[str, tuple[Setter, ...]]:
    """Name → the functions that declare it `global` and bind it to anything but the constant it begins with."""
    if module.rebound is None:
        first = {name: ast.unparse(value) for node in module.body for name, value in _find_bound(node) if value}
        module.rebound = {}
        for function in _find_functions(module.body):
            for name, value in _find_shared(function):
                if not isinstance(value, ast.Constant) or ast.unparse(value) != first.get(name):
                    taken = value.attr if isinstance(value, ast.Attribute) else None
                    module.rebound[name] = (*module.rebound.get(name, ()), Setter(function, taken))
    return module.rebound


def _find_functions(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


def _find_shared(function: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    parts = list(walk(function))
    shared = {name for part in parts if isinstance(part, ast.Global) for name in part.names}
    for part in parts if shared else ():
        yield from ((name, value) for name, value in _find_bound(part) if name in shared)


def _find_bound(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a statement binds, each with its value; None where that is no expression of its own."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, value
                elif isinstance(target, ast.Tuple | ast.List):
                    yield from ((part.id, None) for part in target.elts if isinstance(part, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, None
