"""A condition of ours, taken apart as far as two upstream refs can decide it: one value, made by the interpreter.

What it is about is a field, never a text that is taken apart again. It is shown by `patches.guards.show`, asked for its
keys here, and decided at a ref by `coupling.decide`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum


class ConditionKind(StrEnum):
    """What a condition is about."""

    ALL = "all"
    ANY = "any"
    NOT = "not"
    NAME = "name"
    """An upstream name that must be bound: hasattr, callable, `is not None`, a caught import."""
    CLASS = "class"
    """An upstream name that must be a class: `isinstance(x, type)`, `inspect.isclass(x)`."""
    KEY = "key"
    """A config key that must be set to something true."""
    VERSION = "version"
    """The version of a name (or distribution) beside another one."""
    DEMAND = "demand"
    """Handed as a requirement to the function `text` of another package: asked only where that raises."""
    ENV = "env"
    """An environment variable."""
    OPAQUE = "opaque"
    """Only a run can tell."""
    HELPER = "helper"
    """Asked inside the function `text`, which the line calls."""
    CALLER = "caller"
    """Asked by the function `text` before it calls the one around the line."""
    CALLERS = "callers"
    """Asked along one of `text` calls that lead to the one around the line; no parts: too much to be told."""
    IMPORTER = "importer"
    """Asked by the module `text` before it imports the one around the line."""
    SITE = "site"
    """Asked at a place that `text` describes."""
    OPTIONS = "options"
    """What a registration was given beside its path."""


ELSEWHERE = frozenset(
    {
        ConditionKind.HELPER,
        ConditionKind.CALLER,
        ConditionKind.CALLERS,
        ConditionKind.IMPORTER,
        ConditionKind.OPTIONS,
    }
)
"""What is not asked around the line itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One test, or several joined."""

    kind: ConditionKind
    text: str = ""
    """The name, key or variable asked for; of anything else the expression as a person would write it."""
    operator: str = ""
    """Of a version: how it is compared; of a name `IMPORTED` where an import asks for it, `VALUED` where it may be bound
    to None; of calls whose they are, where those are not of the function around the line."""
    wanted: str = ""
    """Of a version: what it is compared with."""
    parts: tuple[Condition, ...] = ()
    shown: str = ""
    """As a person would write it, where its text and parts do not say that."""
    keys: tuple[str, ...] = ()
    """Config keys that it reads."""
    needs: tuple[str, ...] = ()
    """What else it reads: environment variable, importable package, platform, version …"""
    told: Condition | None = None
    """The same in the words of the source, where those are shown instead."""

    def __str__(self) -> str:
        """What one part asks for; `patches.guards.show` says the whole."""
        return f"{self.text} {self.operator} {self.wanted}" if self.kind is ConditionKind.VERSION else self.text

    def walk(self) -> Iterator[Condition]:
        """Itself, and everything it is made of."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class VersionPattern:
    """A version pattern that a registration carries: patterns of one parameter are alternatives."""

    parameter: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.parameter}: {self.pattern}"


IMPORTED = "import"
VALUED = "is not None"
OPAQUE = Condition(kind=ConditionKind.OPAQUE)
ALWAYS, NEVER = Condition(kind=ConditionKind.ALL), Condition(kind=ConditionKind.ANY)
_DECIDABLE = frozenset({ConditionKind.NAME, ConditionKind.CLASS, ConditionKind.KEY, ConditionKind.VERSION})


def say(text: str) -> Condition:
    """A condition that is only told."""
    return Condition(kind=ConditionKind.OPAQUE, text=text)


def need_name(name: str) -> Condition:
    return Condition(kind=ConditionKind.NAME, text=name)


def need_import(name: str) -> Condition:
    return Condition(kind=ConditionKind.NAME, text=name, operator=IMPORTED)


def need_value(name: str) -> Condition:
    """That a name stands for something: it may be there and None."""
    return Condition(kind=ConditionKind.NAME, text=name, operator=VALUED)


def need_class(name: str) -> Condition:
    return Condition(kind=ConditionKind.CLASS, text=name)


def need_key(key: str) -> Condition:
    return Condition(kind=ConditionKind.KEY, text=key, keys=(key,))


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


def leave_out_contraries(ways: tuple[Condition, ...]) -> Iterator[Condition]:
    """Alternatives of which none says that another one does not hold: `a or (not a and b)` is `a or b`."""
    for way in ways:
        if way.kind is ConditionKind.ALL:
            kept = tuple(part for part in way.parts if negate(part) not in ways)
            yield way if kept == way.parts else combine(ConditionKind.ALL, kept)
        else:
            yield way


def asks_about(condition: Condition | None, *kinds: ConditionKind) -> bool:
    """True if a part of it is of one of these kinds."""
    return condition is not None and any(part.kind in kinds for part in condition.walk())


def lacks(condition: Condition | None, name: str) -> bool:
    """True if it can only hold where `name` is not bound."""
    if condition is None:
        return False
    match condition.kind:
        case ConditionKind.ALL:
            return any(lacks(part, name) for part in condition.parts)
        case ConditionKind.ANY:
            return bool(condition.parts) and all(lacks(part, name) for part in condition.parts)
        case ConditionKind.NOT:
            return _implied_by(condition.parts[0], name)
    return False


def needs(condition: Condition | None, name: str) -> bool:
    """True if it can only hold where `name` is bound."""
    if condition is None:
        return False
    match condition.kind:
        case ConditionKind.ALL:
            return any(needs(part, name) for part in condition.parts)
        case ConditionKind.ANY:
            return bool(condition.parts) and all(needs(part, name) for part in condition.parts)
    return condition.kind is ConditionKind.NAME and condition.text == name


def _implied_by(condition: Condition, name: str) -> bool:
    """True if it holds wherever `name` is bound."""
    if condition.kind is ConditionKind.ANY:
        return any(_implied_by(part, name) for part in condition.parts)
    return condition.kind is ConditionKind.NAME and condition.text == name


_CONTRARY = {">=": "<", "<": ">=", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def excludes(one: Condition | None, other: Condition | None) -> bool:
    """True if a part of one is the contrary of a part of the other: they never hold together."""
    if one is None or other is None:
        return False
    parts = other.parts if other.kind is ConditionKind.ALL else (other,)
    plain = {_strip(part) for part in parts}
    return any(_strip(_turn_round(part)) in plain for part in (one.parts if one.kind is ConditionKind.ALL else (one,)))


def _turn_round(condition: Condition) -> Condition:
    if condition.kind is ConditionKind.VERSION and condition.operator in _CONTRARY:
        return replace(condition, operator=_CONTRARY[condition.operator])
    return negate(condition)


def _strip(condition: Condition) -> Condition:
    """What it asks, without the words."""
    parts = tuple(_strip(part) for part in condition.parts)
    return replace(
        condition, parts=parts, shown="" if condition.text or parts else condition.shown, needs=(), told=None
    )


def is_decidable(condition: Condition) -> bool:
    """True if reading upstream can decide a part of it."""
    return asks_about(condition, *_DECIDABLE)


def tell(condition: Condition | None, told: Condition) -> Condition | None:
    """The condition with other words for it; None where there is nothing to decide and nothing to say."""
    if condition is None and told == ALWAYS:
        return None
    return replace(condition or OPAQUE, told=told)


def find_told(condition: Condition | None) -> Condition:
    """What a person is shown of it."""
    return ALWAYS if condition is None else condition if condition.told is None else condition.told


def keep_callers(condition: Condition | None, keep: Callable[[Condition], bool]) -> Condition | None:
    """The condition without what it tells of callers that do not count: another way leads to the line without it."""
    told = find_told(condition)
    parts = told.parts if told.kind is ConditionKind.ALL else (told,)
    kept = [part for part in parts if part.kind is not ConditionKind.CALLER or keep(part)]
    return condition if len(kept) == len(parts) else tell(condition, combine(ConditionKind.ALL, kept))


def find_keys(condition: Condition | None) -> tuple[str, ...]:
    """The config keys that it reads, in order."""
    return tuple(sorted({key for part in _walk_all(condition) for key in part.keys}))


def find_needs(condition: Condition | None) -> tuple[str, ...]:
    """What it reads beside config keys, in the order of its parts."""
    return tuple(dict.fromkeys(_find_needs(condition, holds=True)))


def _find_needs(condition: Condition | None, *, holds: bool | None) -> Iterator[str]:
    """`holds`: whether this part must hold, must not, or (None) may do either."""
    if condition is None:
        return
    yield from map(_turn, condition.needs) if holds is False else condition.needs
    inside = holds
    if condition.kind is ConditionKind.NOT:
        inside = None if holds is None else not holds
    elif len(condition.parts) > 1 and condition.kind in {ConditionKind.ALL, ConditionKind.ANY}:
        inside = holds if holds is (condition.kind is ConditionKind.ALL) else None
    for part in condition.parts:
        yield from _find_needs(part, holds=inside)
    yield from _find_needs(condition.told, holds=holds)


def _turn(need: str) -> str:
    """What is needed where the contrary is asked: a name or package must be missing; the rest is read all the same."""
    if need.startswith("attr:"):
        return f"no {need.partition(' (')[0]}"
    return f"{need.removesuffix(' importable')} not importable" if need.endswith(" importable") else need


def _walk_all(condition: Condition | None) -> Iterator[Condition]:
    """Every part of it, and of what is shown instead."""
    for part in condition.walk() if condition is not None else ():
        yield part
        yield from _walk_all(part.told)
