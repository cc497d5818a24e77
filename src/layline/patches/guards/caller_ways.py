"""What must hold along the calls that lead to a function: of one caller after another, or one of several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layline.core.condition import ALWAYS, NEVER, Condition, ConditionKind, combine, say
from layline.interpreter.callers.above import MOST_LEVELS, MOST_SITES, find_function, find_leading
from layline.interpreter.line_tests import find_body
from layline.interpreter.line_words import read_caller_tests, read_far_tests
from layline.patches.guards.checking import read_checks
from layline.patches.guards.import_gates import ImportGates
from layline.patches.guards.reaching import Line, is_denied, keep_reaching, tell_denied
from layline.patches.guards.show import FROM_OUTSIDE, show_condition

if TYPE_CHECKING:
    import ast

    from layline.interpreter.callers.sites import Callers, KnownCallers, Site
    from layline.interpreter.callers.uses import Body
    from layline.interpreter.modules import Modules

_LONGEST = 400
"""What several callers ask is told up to this length; then only what all of them ask, and how many they are."""
_LONGEST_ABOVE = 200


@dataclass(eq=False)
class CallerWays:
    """Reads the tests along the calls that lead to functions."""

    known: KnownCallers
    """Functions, and those around their calls, with their callers."""
    modules: Modules
    gates: ImportGates = field(init=False)
    _found: dict[tuple[str, tuple[Site, ...]], Condition] = field(default_factory=dict)
    _met: set[str] = field(default_factory=set)
    """Functions that a way came back to: what was found there holds for that way alone."""

    def __post_init__(self) -> None:
        self.gates = ImportGates(self.known, self.modules)

    def find(self, within: str, callers: Callers) -> Condition:
        """What must hold for a function to be called by these; nothing where some calls cannot be seen."""
        sites = find_leading(callers.sites)
        is_only = len(sites) == 1 == len(callers.sites) and sites[0].use is not None and sites[0].use.is_call
        if not callers.is_function or callers.unknown or (_may_be_called_elsewhere(callers) and not is_only):
            return ALWAYS
        found = self._join(sites, (within,))
        if found in (ALWAYS, NEVER):
            return ALWAYS
        return _or_from_outside(found, len(sites)) if callers.is_offered else found

    def _find_above(self, function: Body, line: int, path: tuple[str, ...]) -> Condition:
        """What must hold for a function on the way to be called; `NEVER` of one that the way has passed."""
        name = function.name
        if name in path:
            self._met.add(name)
            return NEVER
        if len(path) >= MOST_LEVELS or name not in self.known:
            return ALWAYS
        asked = Line(line, function.node, function.outer.node if function.outer is not None else None)
        denied = tell_denied(self.known[name], asked)
        if denied != ALWAYS:
            return denied
        callers = keep_reaching(self.known[name], asked)
        key = name, callers.sites
        if key in self._found:
            return self._found[key]
        before, self._met = self._met, set()
        found = self._read_above(function, callers, (*path, name))
        above = self._met - {name}
        self._met = before | above
        if not above:
            found = self._found[key] = ALWAYS if found == NEVER else found  # called by itself alone: by others, unseen
        return found

    def _read_above(self, function: Body, callers: Callers, path: tuple[str, ...]) -> Condition:
        sites, outer = find_leading(callers.sites), find_function(function.outer)
        if not sites and outer is not None and function.node is not None:
            return self._follow(outer, _line_of(function.node), path)
        if callers.unknown or callers.is_offered:
            return ALWAYS
        return self._join(sites, path)

    def _join(self, sites: list[Site], path: tuple[str, ...]) -> Condition:
        if not sites or len(sites) > MOST_SITES:
            return ALWAYS
        ways = [way for way in (self._find_way(site, path) for site in sites) if way != NEVER]
        asked = [way for way in ways if not is_denied(way)]
        return _factor(list(dict.fromkeys(asked or ways)), len(asked or ways)) if ways else NEVER

    def _find_way(self, site: Site, path: tuple[str, ...]) -> Condition:
        if site.use is None:
            return ALWAYS
        function = find_function(site.use.place)
        if function is not None:
            return _choose(self._follow(function, site.line, path), _name(function.name), site)
        module = self.modules.find(self.modules.names_by_path.get(site.path, ""))
        asked = _read(module.body, site.line, path) if module is not None else ALWAYS
        gate = self.gates.find(module.name) if module is not None else ALWAYS
        return combine(ConditionKind.ALL, (_ask(_name(site.use.place.name), asked), gate))

    def _follow(self, function: Body, line: int, path: tuple[str, ...]) -> Condition:
        """What a function asks before a line of it, and what is asked before it is called."""
        body = find_body(function.node) if function.node is not None else []
        asked = _read(body, line, path)
        if asked == NEVER:
            return NEVER
        checked = read_checks(function.node, line, (path[-1], function.name), self.modules) if function.node else ()
        name, above = _name(function.name), _parts(self._find_above(function, line, path))
        told = (_name_called(one, name) for one in above)
        return combine(ConditionKind.ALL, (_ask(name, asked), *filter(_is_short, checked), *told))


def _name_called(asked: Condition, name: str) -> Condition:
    """Calls of a function further up are not calls of the one around the line."""
    is_nameless = asked.kind is ConditionKind.CALLERS and not asked.operator
    return replace(asked, operator=name) if is_nameless else asked


def _choose(way: Condition, name: str, site: Site) -> Condition:
    """A table that is asked for one thing leads to what it holds there, and to nothing else."""
    if not site.asked or not site.keys or way == NEVER:
        return way
    wanted = f"== {site.keys[0]}" if len(site.keys) == 1 else f"in [{', '.join(site.keys)}]"
    is_in = say(f"{site.asked} in {site.table}")  # which it then is
    tests = [pair for pair in _split(way) if pair != (name, is_in)]
    return _join([(name, say(f"{site.asked} {wanted}")), *tests])


def _or_from_outside(way: Condition, calls: int) -> Condition:
    """Of a function that a package offers: its users ask what they like."""
    if way.kind is ConditionKind.CALLERS:
        return replace(way, wanted=FROM_OUTSIDE)
    return Condition(kind=ConditionKind.CALLERS, text=str(calls), parts=(way,), wanted=FROM_OUTSIDE)


def _may_be_called_elsewhere(callers: Callers) -> bool:
    return callers.is_offered and (callers.is_method or any(not s.use or not s.use.is_call for s in callers.sites))


def _read(body: list[ast.stmt], line: int, path: tuple[str, ...]) -> Condition:
    """What stands before a line; of a long list of tests far above the nearest."""
    if len(path) == 1:
        return read_caller_tests(body, line)
    asked = read_far_tests(body, line, _is_short)
    parts = list(_parts(asked))
    while parts and not _is_short(combine(ConditionKind.ALL, parts)):
        del parts[0]
    return combine(ConditionKind.ALL, parts)


def _is_short(asked: Condition) -> bool:
    return len(show_condition(asked)) <= _LONGEST_ABOVE


def _line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _name(dotted: str) -> str:
    """`__init__` says little without its class."""
    last = dotted.rpartition(".")[2]
    return ".".join(dotted.split(".")[-2:]) if last.startswith("__") else last


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if condition.kind is ConditionKind.ALL else (condition,)


def _factor(ways: list[Condition], calls: int) -> Condition:
    """What all ways ask, and then what one of them asks beside; a way that asks for more than another adds nothing."""
    split = [list(_split(way)) for way in ways]
    least = [way for way in split if not any(set(other) < set(way) for other in split)]
    shared = [test for test in least[0] if all(test in way for way in least)]
    rests = [[test for test in way if test not in shared] for way in least]
    if not all(rests):
        return _join(shared)
    nearest = [[pair for pair in rest if pair[0] == rest[0][0]] for rest in rests]
    whole = (_build_several(told, calls) for told in (rests, nearest))
    several = next((one for one in whole if len(show_condition(one)) <= _LONGEST), _build_several([], calls))
    return combine(ConditionKind.ALL, (*_parts(_join(shared)), several))


def _build_several(ways: list[list[tuple[str, Condition]]], calls: int) -> Condition:
    parts = tuple(dict.fromkeys(_join(way) for way in ways))
    return Condition(kind=ConditionKind.CALLERS, text=str(calls), parts=parts)


def _split(way: Condition) -> Iterator[tuple[str, Condition]]:
    """Each test with the function that asks it."""
    for part in _parts(way) if way != ALWAYS else ():
        if part.kind is ConditionKind.CALLER:
            yield from ((part.text, test) for asked in part.parts for test in _parts(asked))
        else:
            yield "", part


def _join(tests: list[tuple[str, Condition]]) -> Condition:
    """What each function asks; a test of none keeps its place."""
    asked: dict[str | int, list[Condition]] = {}
    for number, (name, test) in enumerate(tests):
        asked.setdefault(name or number, []).append(test)
    return combine(
        ConditionKind.ALL,
        (
            part
            for name, found in asked.items()
            for part in ([_ask(name, combine(ConditionKind.ALL, found))] if isinstance(name, str) else found)
        ),
    )


def _ask(name: str, asked: Condition) -> Condition:
    return asked if asked == ALWAYS else Condition(kind=ConditionKind.CALLER, text=name, parts=(asked,))
