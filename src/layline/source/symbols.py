"""What a dotted name turns out to be in an index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from layline.core.evidence import Location
from layline.source.definitions import Definition, DefinitionKind, Import


class SymbolKind(StrEnum):
    DEFINITION = "definition"
    """A function, class, method or class field stands there."""
    IMPORTED_NAME = "imported-name"
    """The module binds it by an import; `home` is what was imported."""
    MODULE_ASSIGNMENT = "module-assignment"
    SUBMODULE = "submodule"
    ABSENT = "absent"
    """The code is ours to read and does not bind it."""
    EXTERNAL = "external"
    """It belongs to code that is not indexed."""
    UNKNOWN = "unknown"
    """Only a run could tell (`reason` says why): a file that cannot be parsed, a module `__getattr__`, a computed
    value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """The answer to `resolve`: what binds the name, and what is finally behind it."""

    name: str
    """As asked."""
    kind: SymbolKind
    home: str | None = None
    """Dotted name of what is finally behind it, in the module that defines it; for an external name, its full name."""
    module: str | None = None
    """Module of the index that holds `definition` (or that `home` is, for a submodule)."""
    definition: Definition | None = None
    """What is finally behind it, where that is a definition or an assignment."""
    bound_in: str | None = None
    """Module whose line `location` binds the last part of the name."""
    location: Location | None = None
    """Where the name itself is bound: the `def`, the import line, the assignment."""
    inherited_from: str | None = None
    """Dotted name of the base class that really has the member."""
    is_implicit: bool = False
    """Nobody wrote it: the `__init__` of a dataclass, a dunder of `object`."""
    shadowed_by: str | None = None
    """A package binds this name of its submodule to something else (dotted name of it): attribute access misses the
    submodule."""
    reason: str | None = None
    inside: str | None = None
    """Of something outside the index: the innermost indexed name that stands for it."""

    @property
    def exists(self) -> bool:
        """True if the name is bound in the indexed code."""
        return self.kind in {
            SymbolKind.DEFINITION,
            SymbolKind.IMPORTED_NAME,
            SymbolKind.MODULE_ASSIGNMENT,
            SymbolKind.SUBMODULE,
        }

    @property
    def alias_of(self) -> str | None:
        """What an imported name, or an assignment that copies another name, stands for: indexed if possible."""
        if self.kind in {SymbolKind.IMPORTED_NAME, SymbolKind.MODULE_ASSIGNMENT} and self.home != self.name:
            return self.inside or self.home
        return None

    @property
    def reached_as(self) -> str | None:
        """Where a member is defined that is reached through a class which the module only imports."""
        is_reached = self.kind is SymbolKind.DEFINITION and self.home != self.name
        return self.home if is_reached and self.inherited_from is None and not self.is_implicit else None


@dataclass(frozen=True, slots=True)
class Thing:
    """What a name leads to: a module (`definition` is None), a definition in a module, or something outside."""

    home: str | None
    module: str | None = None
    definition: Definition | None = None
    inherited_from: str | None = None
    is_implicit: bool = False
    reason: str | None = None
    inside: str | None = None
    """Of something outside: the innermost name of the index that stands for it."""

    @property
    def is_module(self) -> bool:
        return self.module is not None and self.definition is None


@dataclass(frozen=True, slots=True)
class Binding:
    """One step: how a name is bound, and the thing it leads to."""

    kind: SymbolKind
    thing: Thing
    module: str | None = None
    line: int = 1


def note_inside(binding: Binding, name: str) -> Thing:
    """What a name of the index leads to; of something outside, that this name stands for it."""
    thing = binding.thing
    is_outside = thing.module is None and thing.inside is None and binding.module is not None
    return replace(thing, inside=name) if is_outside else thing


def define(module: str, definition: Definition) -> Thing:
    return Thing(f"{module}.{definition.qualname}", module, definition)


def bind_module(name: str) -> Binding:
    return Binding(SymbolKind.SUBMODULE, Thing(name, name), name)


def bind_outside(dotted: str, reason: str | None) -> Binding:
    return Binding(SymbolKind.EXTERNAL, Thing(dotted, reason=reason))


def bind_absent(reason: str) -> Binding:
    return Binding(SymbolKind.ABSENT, Thing(None, reason=reason))


def bind_unknown(reason: str) -> Binding:
    return Binding(SymbolKind.UNKNOWN, Thing(None, reason=reason))


def wins(best: Definition, imports: list[Import]) -> bool:
    """A def beats an import (its fallback); an assignment only one that it plainly overrides."""
    if not imports or best.kind is not DefinitionKind.ASSIGNMENT:
        return True
    return best.group == 0 and all(item.group == 0 and item.line < best.line for item in imports)
