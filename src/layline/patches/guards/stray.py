"""On which condition an unregistered effect happens: around its line, inside its helpers, by its caller, by its
target.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from layline.core.evidence import Location
from layline.interpreter.conditions import Reader, simplify
from layline.interpreter.config_paths import Roots
from layline.interpreter.events import Call, Write
from layline.interpreter.gates import find_body, find_chain, find_gates, show_gates
from layline.interpreter.prefilter import find_handed, look_at
from layline.interpreter.values import (
    Choice,
    Class,
    Inside,
    Literal,
    Outside,
    Value,
    conjoin,
    find_alternatives,
    negate,
)
from layline.patches.guards.filters import find_filters
from layline.source.walking import remember

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from layline.core.patch import Effect
    from layline.interpreter.events import Event
    from layline.patches.installer import Installer

_LONGEST = 80
"""A test about which object is meant is said in full up to this length, else as it is written."""


def find_listed(event: Event, place: Location, *, is_named: bool = True) -> tuple[Location, int]:
    """Where an effect is listed: where its helper was called, if the caller decides it; and how many callers stand
    above. Of an object without a name it is the nearest call.
    """
    trail: tuple[tuple[Location, Any], ...] = getattr(event, "trail", ())
    while len(trail) > 1 and look_at(trail[-1][1]).is_helper and _is_decided(event, trail[-1][1], place):
        left, trail = trail[-1][1], trail[:-1]
        place = trail[-1][0]
        if not is_named and trail[-1][1] is not left:
            break  # a helper that calls itself stands in nobody's way
    return place, max(len(trail) - 1, 0)


def find_caller(event: Event) -> Location | None:
    """Who handed over the object that a helper writes to; None where nobody did."""
    trail: tuple[tuple[Location, Any], ...] = getattr(event, "trail", ())
    if len(trail) < 2 or not isinstance(event, Write) or not look_at(trail[-1][1]).is_helper:
        return None
    return trail[-2][0] if event.at.line in find_handed(trail[-1][1]).owner else None


def _is_decided(event: Event, helper: Any, place: Location) -> bool:
    """A parameter gives the name or the value, or an object whose name the caller knows."""
    handed = find_handed(helper)
    if not isinstance(event, Write) or place.line in (handed.rest if place == event.at else handed.passed):
        return True
    named = any(isinstance(owner, Outside | Class | Inside) for owner in find_alternatives(event.owner))
    return named and place == event.at and place.line in handed.owner


class Ways:
    """Says when the effects of one run happen."""

    def __init__(self, events: list[Event], installer: Installer) -> None:
        self._installer = installer
        self._reader = Reader(Roots())
        self._seen: dict[tuple[object, ...], set[tuple[Value, ...]]] = {}
        for event in events:
            if isinstance(event, Write):
                self._seen.setdefault(_key(event), set()).add(event.chosen)

    def describe(self, event: Event, effect: Effect) -> str | None:
        """Everything between the function an effect is listed under and the write; what a caller decides is said so."""
        trail: tuple[tuple[Location, ast.AST], ...] = getattr(event, "trail", ())
        _, above = find_listed(event, effect.location, is_named=effect.target is not None)
        places = [*(place for place, _ in trail[:-1]), getattr(event, "at", effect.location)]
        words = [self._around(place, trail[i][1] if trail else None) for i, place in enumerate(places)]
        own = [word for word in words[above : above + 1] if word]
        own += [text for test in getattr(event, "given", ()) if (text := self._say_given(test)) not in own]
        if effect.target is not None:
            own += [text for text in dict.fromkeys(self._find_chosen(event, effect)) if text not in own]
        said = [" and ".join(_bracket(text) if len(own) > 1 else text for text in own)]
        said += [f"in {_name(trail[i][1])}: {word}" for i, word in enumerate(words) if i > above and word]
        said += [f"in the caller {_name(trail[i][1])}: {word}" for i, word in enumerate(words) if i < above and word]
        return "; and ".join(text for text in said if text) or None

    def _around(self, place: Location, function: ast.AST | None) -> str | None:
        if function is not None:
            return _read_gates(function, place.line)
        return _show_around(self._find_top(place), place.line)

    def _find_top(self, place: Location) -> list[ast.stmt]:
        modules = self._installer.machine.modules
        module = modules.find(modules.names_by_path.get(place.path, ""))
        return module.body if module is not None else []

    def _find_chosen(self, event: Event, effect: Effect) -> Iterator[str]:
        """What decides that it is this target, of several the line may mean."""
        tests: list[Value] = []
        match event:
            case Write(chosen=chosen):
                if len(self._seen.get(_key(event), ())) <= 1:
                    tests += chosen
                tests += _find_tests(event.name, effect.target or "")
            case Call(arguments=arguments, keywords=keywords):
                for value in (*arguments, *keywords.values()):
                    tests += _find_tests(value, effect.target or "")
        yield from find_filters(event, self._installer)
        for test in tests:
            text = self._say(test)
            if text is not None:
                yield text

    def _say_given(self, test: Value) -> str:
        """What chose the value: in full where that is short, else as it is written, else that something did."""
        text = self._reader.show(simplify(test))
        if len(text) <= _LONGEST and not _is_vague(text):
            return text
        written = self._installer.machine.say_test(test)
        return written if written and len(written) <= 6 * _LONGEST else "tests before this line choose the value"

    def _say(self, test: Value) -> str | None:
        text = self._reader.show(simplify(test))
        if len(text) <= _LONGEST and not _is_vague(text):
            return text if text not in {"True", "False"} else None
        written = self._installer.machine.say_test(test)
        if written is not None and _contradicts(written):  # one spelling, another object in every round of a loop
            return text if not _is_vague(text) else "of several possible targets, this one is meant"
        if written is None and "importable" in text and not _is_vague(text):
            return text
        return (
            written
            if written is None or len(written) <= 2 * _LONGEST
            else "of several possible targets, this one is meant"
        )


@remember
def _read_gates(function: ast.AST, line: int) -> str | None:
    return _show_around(find_body(function), line)


def _show_around(body: list[ast.stmt], line: int) -> str | None:
    chain = find_chain(body, line)
    inner = find_body(chain[-1]) if chain else body
    return show_gates(list(find_gates(inner, line)), inner)


def _key(event: Write) -> tuple[object, ...]:
    return event.at, event.owner, event.name


def _find_tests(value: Value, target: str) -> list[Value]:
    """The tests that lead to the one alternative of a value that is part of the target; none where it is unclear."""
    every = [(tests, found) for tests, found in _find_ways(value) if _is_part(found, target)]
    longest = max((len(_spell(found)) for _, found in every), default=0)
    ways = [(tests, found) for tests, found in every if len(_spell(found)) == longest]
    return [conjoin(ways[0][0])] if len(ways) == 1 and ways[0][0] else []


def _find_ways(value: Value, tests: tuple[Value, ...] = ()) -> Iterator[tuple[tuple[Value, ...], Value]]:
    if isinstance(value, Choice):
        yield from _find_ways(value.yes, (*tests, value.test))
        yield from _find_ways(value.no, (*tests, negate(value.test)))
    else:
        yield tests, value


def _is_part(value: Value, target: str) -> bool:
    match value:
        case Literal(value=str(text)) if text:
            return f".{target}.".find(f".{text}.") >= 0
        case Outside(path=path):
            return target.startswith(f"{path}.")
    return False


def _spell(value: Value) -> str:
    return value.path if isinstance(value, Outside) else str(getattr(value, "value", ""))


def _is_vague(text: str) -> bool:
    """Whether a part of a test is only described: `<a value too large to follow>`."""
    return re.search(r"<\w", text) is not None


def _contradicts(text: str) -> bool:
    parts = text.split(" and ")
    return any(f"not ({part})" in parts for part in parts)


def _name(function: ast.AST) -> str:
    return str(getattr(function, "name", "a lambda"))


def _bracket(text: str) -> str:
    return f"({text})" if _has_open_or(text) else text


def _has_open_or(text: str) -> bool:
    """Whether an `or` stands outside every bracket."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and text.startswith(" or ", index):
            return True
    return False
