"""On which condition an unregistered effect happens: around its line, inside its helpers, by its caller, by its
target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layline.core.condition import ALWAYS, NEVER, Condition, ConditionKind, combine, negate, say
from layline.core.evidence import Location
from layline.core.patch import Holder
from layline.interpreter.condition_reader import tell_condition
from layline.interpreter.conditions import Reader, is_vague, simplify
from layline.interpreter.config_paths import Roots
from layline.interpreter.events import Call, Write
from layline.interpreter.inner import walk
from layline.interpreter.line_tests import find_body, find_chain, find_line_tests
from layline.interpreter.line_words import read_caller_tests, read_own_tests
from layline.interpreter.objects import class_of, find_tested
from layline.interpreter.prefilter import find_handed, look_at
from layline.interpreter.values import (
    FALSE,
    TRUE,
    UNREACHED,
    Argument,
    Called,
    Choice,
    Class,
    Inside,
    Literal,
    Outside,
    Test,
    Value,
    conjoin,
    find_alternatives,
)
from layline.interpreter.values import negate as deny
from layline.patches.guards.filters import find_filters, tell_filter
from layline.patches.guards.handed_on import find_handed_owners, find_owners
from layline.patches.guards.show import show_condition
from layline.patches.guards.tabled import narrow
from layline.source.walking import remember

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from layline.core.patch import Effect
    from layline.interpreter.events import Event
    from layline.interpreter.line_tests import LineTest
    from layline.patches.installer import Installer

_LONGEST = 80
"""A test about which object is meant is said in full up to this length, else as it is written."""
_MOST_WAYS = 4
_ONE_OF_SEVERAL = say("of several possible targets, this one is meant")


def find_listed(event: Event, place: Location, *, is_named: bool = True) -> tuple[Location, int]:
    """Where an effect is listed: where its helper was called, if the caller decides it; and how many callers stand
    above. Of an object without a name it is the nearest call.
    """
    trail: tuple[tuple[Location, Any], ...] = getattr(event, "trail", ())
    owners: frozenset[str] = find_owners(trail[-1][1], place.line) if len(trail) > 2 and is_named else frozenset()
    written = place
    while len(trail) > 1 and (
        _is_decided(event, trail[-1][1], place, is_named=is_named) or (owners and place != written)
    ):
        left, trail = trail[-1][1], trail[:-1]
        place = trail[-1][0]
        owners = find_handed_owners(trail[-1][1], place.line, left, owners) if owners else owners
        if not is_named and trail[-1][1] is not left:
            break  # a helper that calls itself stands in nobody's way
    return place, max(len(trail) - 1, 0)


def find_caller(event: Event) -> Location | None:
    """Who handed over the object that a helper writes to; None where nobody did."""
    trail: tuple[tuple[Location, Any], ...] = getattr(event, "trail", ())
    if len(trail) < 2 or not isinstance(event, Write) or not look_at(trail[-1][1]).is_helper:
        return None
    return trail[-2][0] if event.at.line in find_handed(trail[-1][1]).owner else None


def _is_decided(event: Event, helper: Any, place: Location, *, is_named: bool) -> bool:
    """A parameter gives the name or the value, or an object whose name or class the caller knows."""
    handed, seen = find_handed(helper), look_at(helper)
    if not seen.is_helper or _is_made_by(event, seen.calls):
        return False
    if not isinstance(event, Write) or place.line in (handed.rest if place == event.at else handed.passed):
        return True
    named = any(isinstance(owner, Outside | Class | Inside) for owner in find_alternatives(event.owner))
    told = named or (is_named and not find_tested(event.owner, event.own, event.chosen))
    return told and place == event.at and place.line in handed.owner


def _is_made_by(event: Event, calls: frozenset[str]) -> bool:
    """The object written to is made in this very function, whatever its parameters are."""
    match event:
        case Write(owner=Called(callee=Outside(path=path)) as owner) if class_of(owner) is not None:
            return path.rpartition(".")[2] in calls
    return False


class Ways:
    """Says when the effects of one run happen."""

    def __init__(self, events: list[Event], installer: Installer) -> None:
        self._installer = installer
        self._reader = Reader(Roots())
        self._chosen: dict[tuple[object, ...], dict[tuple[Value, ...], None]] = {}
        """What is written where, and to which class → the tests of each way there."""
        self._tested: dict[Location, list[tuple[Value, ...]]] = {}
        """Line → the tests before each write there: an object may come into a list in several ways."""
        self._passed: dict[tuple[object, ...], list[Write]] = {}
        """What is written where → the writes of each way there: two rounds of a loop may write the same."""
        for event in events:
            if isinstance(event, Write):
                key = _key(event)
                self._chosen.setdefault(key, {})[event.chosen] = None
                self._tested.setdefault(event.at, []).append(event.when)
                self._passed.setdefault(key, []).append(event)

    def describe(self, event: Event, effect: Effect) -> Condition:
        """Everything between the function an effect is listed under and the write; what a caller decides is said so."""
        if UNREACHED in getattr(event, "when", ()):
            return NEVER
        trail: tuple[tuple[Location, ast.AST], ...] = getattr(event, "trail", ())
        _, above = find_listed(event, effect.location, is_named=effect.target is not None)
        places = [*(place for place, _ in trail[:-1]), getattr(event, "at", effect.location)]
        asked = [
            _read_caller(trail[i][1], place.line)
            if i < above
            else self._around(place, trail[i][1] if trail else None, effect.target)
            for i, place in enumerate(places)
        ]
        own = [*asked[above : above + 1], *(self._say_given(test) for test in getattr(event, "given", ()))]
        own += self._find_chosen(event, effect) if effect.target is not None else self._find_passed(event, effect)
        inside = [_ask(ConditionKind.HELPER, trail[i][1], one) for i, one in enumerate(asked) if i > above]
        outside = [
            _ask(ConditionKind.CALLER, trail[i][1], one)
            for i, one in enumerate(asked)
            if i < above and trail[i][1] is not trail[above][1]  # it also runs where it does not call itself
        ]
        return combine(ConditionKind.ALL, (*_drop_implied(own), *inside, *outside))

    def _around(self, place: Location, function: ast.AST | None, target: str | None) -> Condition:
        modules = self._installer.machine.modules
        module = modules.find(modules.names_by_path.get(place.path, ""))
        tests, body = (
            _find_gates(function, place.line)
            if function is not None
            else _find_around(module.body if module is not None else [], place.line)
        )
        if target is not None and module is not None:
            names = module.scope.names
            tests = [narrow(test, target, names.get) for test in tests]
        return read_own_tests(tests, body)

    def _find_chosen(self, event: Event, effect: Effect) -> Iterator[Condition]:
        """What decides that it is this target, of several the line may mean."""
        tests: list[Value] = []
        match event:
            case Write(chosen=chosen, owner=owner):
                is_made = class_of(owner) is not None
                is_object = effect.holder is Holder.OBJECT and not is_made
                # by a test: its class says which; what was handed over is written to either way
                is_told = is_object and (isinstance(owner, Argument) or find_tested(owner, event.when, chosen))
                if not is_told:
                    tests += self._join_ways(event)
                tests += _find_tests(event.name, effect.target or "")
            case Call(arguments=arguments, keywords=keywords):
                for value in (*arguments, *keywords.values()):
                    tests += _find_tests(value, effect.target or "")
        yield from self._find_passed(event, effect)
        for test in tests:
            found = self._say(test)
            if found is not None:
                yield found

    def _join_ways(self, event: Write) -> tuple[Value, ...]:
        """The tests that lead to a target: those of all ways there, and that one of the ways is gone."""
        ways = [*self._chosen.get(_key(event), ())]
        if len(ways) > 1:  # two that are told in the same words are one
            ways = [*{tuple(map(self._say, way)): way for way in reversed(ways)}.values()][::-1]
        if len(ways) <= 1:
            return ways[0] if ways else event.chosen
        shared = tuple(test for test in ways[0] if all(test in way for way in ways))
        left = [tuple(test for test in way if test not in shared) for way in ways]
        either = (Test("or", tuple(map(conjoin, left))),) if len(ways) <= _MOST_WAYS and all(left) else ()
        return (*shared, *either)

    def _find_passed(self, event: Event, effect: Effect) -> Iterator[Condition]:
        """The filters of its list; of an object that may come there in several ways, those of all of them, of a name
        that rounds of a loop write again those of one round or another.
        """
        tests = find_filters(getattr(event, "when", ()), self._installer)
        if isinstance(event, Write) and effect.holder is Holder.OBJECT:
            others = self._tested.get(event.at, [])
            tests = tuple(test for test in tests if all(test in one for one in others))
        elif isinstance(event, Write):
            same = (one for one in self._passed.get(_key(event), ()) if one.value == event.value)
            ways = [*dict.fromkeys(find_filters(one.when, self._installer) for one in same)]
            yield from self._tell_rounds(ways if 1 < len(ways) <= _MOST_WAYS else [tests])
            return
        yield from (tell_filter(test, self._installer) for test in tests)

    def _tell_rounds(self, ways: list[tuple[Value, ...]]) -> Iterator[Condition]:
        shared = [test for test in ways[0] if all(test in way for way in ways)]
        left = [[tell_filter(test, self._installer) for test in way if test not in shared] for way in ways]
        yield from (tell_filter(test, self._installer) for test in shared)
        if all(left):
            yield combine(ConditionKind.ANY, (combine(ConditionKind.ALL, way) for way in left))

    def _say_given(self, test: Value) -> Condition:
        """What chose the value: in full where that is short, else as it is written, else that something did."""
        value = simplify(test)
        found = tell_condition(value, self._reader)
        if _is_short(found) and not is_vague(value):
            return found
        written = self._installer.machine.read_written(test)
        return written if written is not None and _is_short(written, 6) else say("an earlier test chose this value")

    def _say(self, test: Value) -> Condition | None:
        value = simplify(test)
        if value in (TRUE, FALSE):
            return None
        found, vague = tell_condition(value, self._reader), is_vague(value)
        if _is_short(found) and not vague:
            return found
        written = self._installer.machine.read_written(test)
        if written is None:
            return found if _asks_import(value) and not vague else None
        if _contradicts(written):  # one spelling, another object in every round of a loop
            return _ONE_OF_SEVERAL if vague else found
        return written if _is_short(written, 2) else _ONE_OF_SEVERAL


def _drop_implied(asked: list[Condition]) -> list[Condition]:
    """Without a test that one of two things holds where the first of them is asked beside it."""
    flat = [one for part in asked for one in (part.parts if part.kind is ConditionKind.ALL and part.parts else (part,))]
    told = {show_condition(one) for one in flat}
    kept = [one for one in flat if one.kind is not ConditionKind.ANY or told.isdisjoint(map(show_condition, one.parts))]
    return asked if len(kept) == len(flat) else kept


def _ask(kind: ConditionKind, function: ast.AST, asked: Condition) -> Condition:
    """What a helper or a caller asks."""
    name = str(getattr(function, "name", "a lambda"))
    return asked if asked == ALWAYS else Condition(kind=kind, text=name, parts=(asked,))


@remember
def _find_gates(function: ast.AST, line: int) -> tuple[list[LineTest], list[ast.stmt]]:
    return _find_around(find_body(function), line)


@remember
def _read_caller(function: ast.AST, line: int) -> Condition:
    chain = find_chain(find_body(function), line)
    return read_caller_tests(find_body(chain[-1] if chain else function), line)


def _find_around(body: list[ast.stmt], line: int) -> tuple[list[LineTest], list[ast.stmt]]:
    """The tests before a line, and the block that they stand in."""
    chain = find_chain(body, line)
    inner = find_body(chain[-1]) if chain else body
    return list(find_line_tests(inner, line)), inner


def _is_short(condition: Condition, times: int = 1) -> bool:
    return len(show_condition(condition)) <= times * _LONGEST


def _asks_import(value: Value) -> bool:
    return any(isinstance(part, Test) and part.operator == "importable" for part in walk(value, lambda _: False))


def _contradicts(condition: Condition) -> bool:
    if condition.kind is not ConditionKind.ALL:
        return False
    parts = [one for part in condition.parts for one in (part.parts if part.kind is ConditionKind.ALL else (part,))]
    return any(negate(part) in parts for part in parts)


def _key(event: Write) -> tuple[object, ...]:
    """What is one row: where it is listed, and which class or object it is about."""
    return event.at, find_listed(event, event.at), class_of(event.owner) or event.owner, event.name


def _find_tests(value: Value, target: str) -> list[Value]:
    """The tests that lead to the one alternative of a value that is part of the target; none where it is unclear."""
    every = [(tests, found) for tests, found in _find_ways(value) if _is_part(found, target)]
    longest = max((len(_spell(found)) for _, found in every), default=0)
    ways = [(tests, found) for tests, found in every if len(_spell(found)) == longest]
    return [conjoin(ways[0][0])] if len(ways) == 1 and ways[0][0] else []


def _find_ways(value: Value, tests: tuple[Value, ...] = ()) -> Iterator[tuple[tuple[Value, ...], Value]]:
    if isinstance(value, Choice):
        yield from _find_ways(value.yes, (*tests, value.test))
        yield from _find_ways(value.no, (*tests, deny(value.test)))
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
