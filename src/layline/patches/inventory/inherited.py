"""Installers that a class inherits: the base loops over a table that each subclass fills in."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.interpreter.prefilter import look_at
from layline.interpreter.values import Class, Function, Instance, bind
from layline.source.walking import remember, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.interpreter.modules import Module
    from layline.interpreter.values import Value
    from layline.source.facts import Facts


@remember
def _mentions(node: ast.ClassDef) -> frozenset[str]:
    """Attributes of `self` or `cls` that the methods of a class read."""
    return frozenset(
        part.attr
        for part in walk(node)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in {"self", "cls"}
    )


def find_inherited(owner: Class) -> Iterator[Function]:
    """Methods of our base classes that write, bound to a subclass that overrides what they read."""
    seen, waiting, depth = set(owner.scope.names), list(owner.bases), 0
    while waiting and depth < 20:
        depth += 1
        base = waiting.pop(0)
        if not isinstance(base, Class) or base is owner:
            continue
        overrides = any(_is_data(owner.scope.names.get(name)) for name in _mentions(base.node))
        for name, value in base.scope.names.items():
            if isinstance(value, Function) and name not in seen and not name.startswith("__"):
                seen.add(name)
                if overrides and look_at(value.node).writes:
                    yield bind(value, owner if value.kind == "classmethod" else Instance(owner))
        waiting.extend(base.bases)


def _is_data(value: Value | None) -> bool:
    """A table or name that a subclass fills in, or a short method that returns one; other overrides are read for
    themselves.
    """
    if isinstance(value, Function):
        seen = look_at(value.node)
        return seen.is_short and not seen.writes
    return value is not None


def find_installing_classes(modules: Iterable[Module]) -> frozenset[str]:
    """Names of classes with a method, their own or inherited, that writes something it reads from itself."""
    return frozenset(
        value.name
        for module in modules
        for value in module.scope.names.values()
        if isinstance(value, Class) and value.module is module and "." not in value.name and _installs(value)
    )


def _installs(owner: Class, depth: int = 0) -> bool:
    methods = [value for value in owner.scope.names.values() if isinstance(value, Function)]
    if any(look_at(method.node).writes and _reads_itself(method.node) for method in methods):
        return True
    return depth < 8 and any(isinstance(base, Class) and _installs(base, depth + 1) for base in owner.bases)


@remember
def _reads_itself(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in {"self", "cls"}
        for part in walk(node)
    )


def names_heir(facts: Facts, names: frozenset[str]) -> bool:
    """Whether a file defines a class with one of these bases."""
    return any(not names.isdisjoint(bases) for _, bases in facts.classes)
