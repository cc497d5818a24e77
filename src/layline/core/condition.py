"""A condition of ours, taken apart as far as two upstream refs can decide it: one value, made by the interpreter.

What it is about is a field, never a text that is taken apart again. Shown and asked for its keys by the patch explorer,
decided at a ref by `coupling.decide`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class ConditionKind(StrEnum):
    """What a condition is about."""

    ALL = "all"
    ANY = "any"
    NOT = "not"
    NAME = "name"
    """An upstream name that must be bound: hasattr, callable, `is not None`, a caught import."""
    KEY = "key"
    """A config key that must be set to something true."""
    VERSION = "version"
    """The version of a name (or distribution) beside another one."""
    ENV = "env"
    """An environment variable."""
    OPAQUE = "opaque"
    """Only a run can tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One test, or several joined."""

    kind: ConditionKind
    text: str = ""
    """The name, key or variable asked for; of anything else the expression as a person would write it."""
    operator: str = ""
    wanted: str = ""
    """Of a version: what it is compared with."""
    parts: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        return f"{self.text} {self.operator} {self.wanted}" if self.kind is ConditionKind.VERSION else self.text

    def walk(self) -> Iterator[Condition]:
        """Itself, and everything it is made of."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class VersionGate:
    """A version pattern that a registration carries: patterns of one parameter are alternatives."""

    parameter: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.parameter}: {self.pattern}"


OPAQUE = Condition(kind=ConditionKind.OPAQUE)
ALWAYS, NEVER = Condition(kind=ConditionKind.ALL), Condition(kind=ConditionKind.ANY)
_DECIDABLE = frozenset({ConditionKind.NAME, ConditionKind.KEY, ConditionKind.VERSION})


def need_name(name: str) -> Condition:
    return Condition(kind=ConditionKind.NAME, text=name)


def need_key(key: str) -> Condition:
    return Condition(kind=ConditionKind.KEY, text=key)


def need_version(of: str, operator: str, wanted: str) -> Condition:
    return Condition(kind=ConditionKind.VERSION, text=of, operator=operator, wanted=wanted)


def negate(condition: Condition) -> Condition:
    if condition in (ALWAYS, NEVER):
        return NEVER if condition == ALWAYS else ALWAYS
    if condition.kind is ConditionKind.NOT:
        return condition.parts[0]
    return Condition(kind=ConditionKind.NOT, parts=(condition,))


def combine(kind: ConditionKind, parts: Iterable[Condition]) -> Condition:
    """Several as one (`ALL` or `ANY`), without those that cannot change it; opaque where all are."""
    listed = tuple(parts)
    nothing, decided = (ALWAYS, NEVER) if kind is ConditionKind.ALL else (NEVER, ALWAYS)
    if decided in listed:
        return decided
    kept = tuple(dict.fromkeys(part for part in listed if part != nothing))
    if all(part == OPAQUE for part in kept):
        return OPAQUE if kept else nothing
    return kept[0] if len(kept) == 1 else Condition(kind=kind, parts=kept)


def asks_about(condition: Condition | None, *kinds: ConditionKind) -> bool:
    """True if a part of it is of one of these kinds."""
    return condition is not None and any(part.kind in kinds for part in condition.walk())


def is_decidable(condition: Condition) -> bool:
    """True if reading upstream can decide a part of it."""
    return asks_about(condition, *_DECIDABLE)


def find_keys(condition: Condition | None) -> Iterator[str]:
    """The config keys that it asks for."""
    for part in condition.walk() if condition is not None else ():
        if part.kind is ConditionKind.KEY:
            yield part.text
