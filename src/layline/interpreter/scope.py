"""Names and what they stand for, one table per function, class or module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.interpreter.values import Choice, Unknown

if TYPE_CHECKING:
    from layline.interpreter.modules import Module
    from layline.interpreter.values import Function, Value


@dataclass(slots=True, eq=False)
class Scope:
    """The names of one block; a class body is not visible from the functions inside it."""

    module: Module
    parent: Scope | None = None
    names: dict[str, Value] = field(default_factory=dict)
    outer: dict[str, Scope] = field(default_factory=dict)
    """Names declared `global` or `nonlocal` and where they live."""
    is_class: bool = False

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self if name in self.names else self.outer.get(name, self)
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope.names[name]
            scope = scope.parent
        return None

    def bind(self, name: str, value: Value) -> None:
        if name in self.outer:
            self.outer[name].names[name] = value
        self.names[name] = value

    def put(self, names: dict[str, Value]) -> None:
        """The names after two branches; those of outer scopes too, where either may have run."""
        self.names = names
        for name, owner in self.outer.items():
            if name in self.names:
                owner.names[name] = self.names[name]

    def declare_global(self, names: list[str]) -> None:
        top = self
        while top.parent is not None:
            top = top.parent
        self.outer.update(dict.fromkeys(names, top))
        self.names.update({name: top.names[name] for name in names if name in top.names and top is not self})

    def declare_nonlocal(self, names: list[str]) -> None:
        for name in names:
            scope = self.parent
            while scope is not None and (scope.is_class or name not in scope.names):
                scope = scope.parent
            if scope is not None:
                self.outer[name] = scope


def open_closure(function: Function) -> Scope:
    """The names a function sees: those around it now, and those of the branch it was defined in."""
    scope, captured = function.scope, function.captured
    if captured is None or captured is scope.names:
        return scope
    names = dict(scope.names)
    for name, value in captured.items():
        now = names.get(name)
        names[name] = value if now is None or now is value or now == value else Choice(_WHEN, value, now)
    return Scope(scope.module, scope.parent, names, scope.outer, scope.is_class)


_WHEN = Unknown("which branch was taken")


def merge_names(test: Value, yes: dict[str, Value], no: dict[str, Value]) -> dict[str, Value]:
    """The names after an `if`: what both branches agree on, a choice where they differ."""
    merged: dict[str, Value] = {}
    for name in {**yes, **no}:
        left, right = yes.get(name), no.get(name)
        if left is None or right is None:
            merged[name] = right if left is None else left  # type: ignore[assignment]  # one of the two is there
        else:
            merged[name] = left if left is right or left == right else Choice(test, left, right)
    return merged
