"""Names and what they stand for, one table per function, class or module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.patches.reading.values import Choice

if TYPE_CHECKING:
    from layline.patches.reading.modules import Module
    from layline.patches.reading.values import Value


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
        scope: Scope | None = self.outer.get(name, self)
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope.names[name]
            scope = scope.parent
        return None

    def bind(self, name: str, value: Value) -> None:
        self.outer.get(name, self).names[name] = value

    def declare_global(self, names: list[str]) -> None:
        top = self
        while top.parent is not None:
            top = top.parent
        self.outer.update(dict.fromkeys(names, top))

    def declare_nonlocal(self, names: list[str]) -> None:
        for name in names:
            scope = self.parent
            while scope is not None and (scope.is_class or name not in scope.names):
                scope = scope.parent
            if scope is not None:
                self.outer[name] = scope


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
