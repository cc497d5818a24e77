"""Effects outside any registration, over all modules: which are worth reading, and what the readings say together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layline.core.condition import excludes, find_told, keep_callers
from layline.core.evidence import Skipped
from layline.core.patch import Effect, Fate, Unregistered
from layline.interpreter.prefilter import (
    find_helpers,
    find_holders,
    find_lambdas,
    find_passed,
    is_worth_following,
    look_at,
    may_write,
)
from layline.patches.inventory.hook_tables import find_hooked
from layline.patches.inventory.inherited import find_installing_classes, names_heir
from layline.patches.inventory.merge import drop_handed, settle, weigh
from layline.patches.inventory.units import Leaks, Units
from layline.patches.inventory.unregistered import (
    Read,
    enclosing,
    find_functions,
    find_in_module,
    tells_unnamed,
)

if TYPE_CHECKING:
    from layline.patches.installer import Installer
    from layline.source.facts import Facts


_MOST_HANDS = 3
"""Functions that a target is handed through before it comes to the one that writes."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What one module offers to others that change upstream."""

    helpers: tuple[str, ...]
    """Functions that write onto what they are given."""
    installs: tuple[str, ...]
    """Classes with a method, their own or inherited, that writes something it reads from itself."""
    leaks: Leaks = ()
    passed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Functions that hand one of their parameters to others, and to which."""
    holders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Classes whose methods hand what their objects hold to others, and to which."""


@dataclass(frozen=True, slots=True)
class ReadStrays:
    """The effects of one module outside any registration."""

    items: tuple[Unregistered, ...]
    skipped: tuple[Skipped, ...]
    silent: dict[str, Fate] = field(default_factory=dict)
    """Lines that were read and make no row: `path:line` → why."""
    handed: tuple[str, ...] = ()
    """Lines of helpers that a caller here hands an object of ours."""


@dataclass(frozen=True, slots=True)
class Strays:
    """The effects of the downstream outside any registration, and what they were found in."""

    items: tuple[Unregistered, ...]
    skipped: tuple[Skipped, ...]
    paths: tuple[str, ...]
    merged: tuple[Unregistered, ...] = ()
    """What the readings said before it was settled: several of them become one row."""
    silent: tuple[tuple[str, Fate], ...] = ()


def find_unregistered(
    installer: Installer,
    units: Units,
    facts: dict[str, Facts],
    packages: tuple[str, ...],
    given: list[object],
    only: Mapping[str, frozenset[str]] | None = None,
) -> Strays:
    """Every effect of the downstream that no handler has run, by place; read once for all backends.

    `given` is what all readings depend on beside the files; `only` some functions of some files are read (`Read`).
    """
    modules, configured = installer.machine.modules, installer.machine.registries.configured
    ours = {path: one for path, one in facts.items() if path in modules.names_by_path}
    outlines = _read_outlines(
        [path for path, one in ours.items() if may_write(one, packages) or configured & one.words], units
    )
    for _ in range(3):  # modules with subclasses of an installing class: the base does the work, they say on what
        names = frozenset(name for outline in outlines.values() for name in outline.installs)
        fresh = [path for path, one in ours.items() if path not in outlines and names_heir(one, names)]
        outlines |= _read_outlines(fresh, units)
        if not fresh:
            break
    helpers, hands, outlines = _find_helpers(outlines, ours, units)
    paths = list(outlines)
    read = Read(helpers | configured, find_hooked(modules, facts), packages, only, hands)
    leaks = tuple(dict.fromkeys(leak for outline in outlines.values() for leak in outline.leaks))
    shared = [*given, packages, read.hooked]
    find_called = _note_called(read.calls | read.hands, units)
    subjects = {path: [*shared, sorted(find_called(path)), *units.describe_leaks(leaks, path)] for path in paths}

    def read_one(path: str) -> ReadStrays:
        units.read_leaks(leaks, path)
        return _read_strays(path, installer, read)

    strays = units.read(ReadStrays, subjects, read_one, "looking for patches in")
    handed = frozenset(line for stray in strays.values() for line in stray.handed)

    def enclose(effect: Effect) -> str | None:
        return enclosing(effect, installer)

    best = _keep_best((item for stray in strays.values() for item in stray.items), enclose)
    items = settle(drop_handed(best, handed), enclose, tells_unnamed)
    return Strays(
        tuple(items),
        tuple(row for stray in strays.values() for row in stray.skipped),
        tuple(paths),
        tuple(item for stray in strays.values() for item in stray.items),
        tuple(pair for stray in strays.values() for pair in stray.silent.items()),
    )


def _find_helpers(
    outlines: dict[str, Outline], ours: Mapping[str, Facts], units: Units
) -> tuple[frozenset[str], frozenset[str], dict[str, Outline]]:
    """Functions whose callers decide the target, those that only hand it on to one, and the outlines of all files that
    call one.
    """
    helpers = first = frozenset(name for outline in outlines.values() for name in outline.helpers)
    for _ in range(_MOST_HANDS):
        fresh = [path for path, one in ours.items() if path not in outlines and not helpers.isdisjoint(one.called)]
        outlines = outlines | _read_outlines(fresh, units)
        held = (pair for outline in outlines.values() for pair in outline.holders)
        writers = helpers | {name for name, callees in held if not helpers.isdisjoint(callees)}
        passed = (pair for outline in outlines.values() for pair in outline.passed)
        more = helpers | {name for name, callees in passed if not writers.isdisjoint(callees)}
        if more == helpers and not fresh:
            break
        helpers = more
    fresh = [path for path, one in ours.items() if path not in outlines and not helpers.isdisjoint(one.called)]
    return first, helpers - first, outlines | _read_outlines(fresh, units)


def _keep_best(items: Iterable[Unregistered], enclose: Callable[[Effect], str | None]) -> list[Unregistered]:
    """Of several ways to one effect the one that is told best, with what all of their callers ask."""
    found: dict[tuple[object, ...], list[list[Unregistered]]] = defaultdict(list)
    for item in items:
        effect = item.effect
        key = (
            effect.location,
            effect.target,
            effect.mutates,
            effect.target or effect.reason,
            effect.helper,
            effect.called_at,
        )
        ways = next((ways for ways in found[key] if not _is_apart(item, ways[0])), None)
        if ways is None:
            found[key].append([item])
        else:
            ways.append(item)
    every = (ways for listed in found.values() for ways in listed)
    return [_name_definer(_keep_shared(min(ways, key=weigh), ways), ways, enclose) for ways in every]


def _is_apart(item: Unregistered, other: Unregistered) -> bool:
    """Whether two put different things in one place, on contrary conditions."""
    one, two = item.effect, other.effect
    if one.replacement == two.replacement:
        return False
    return excludes(one.when, two.when) or excludes(find_told(one.when), find_told(two.when))


def _name_definer(
    item: Unregistered, ways: list[Unregistered], enclose: Callable[[Effect], str | None]
) -> Unregistered:
    """What a method does by itself, or for several that inherit it, is its own effect, not that of one heir."""
    several = len({way.within for way in ways}) > 1
    return replace(item, within=enclose(item.effect) or item.within) if several else item


def _keep_shared(item: Unregistered, ways: list[Unregistered]) -> Unregistered:
    asked = [set(find_told(way.effect.when).walk()) for way in ways]
    when = keep_callers(item.effect.when, lambda part: all(part in one for one in asked))
    return replace(item, effect=replace(item.effect, when=when))


def _note_called(names: frozenset[str], units: Units) -> Callable[[str], set[str]]:
    """Which of these names are called in a file, or in one that it can see."""
    called: dict[str, frozenset[str]] = {}

    def find(path: str) -> set[str]:
        found: set[str] = set()
        for seen in units.reach.see(path):
            if seen not in called:
                called[seen] = names & units.reach.facts_of(seen).called
            found |= called[seen]
        return found

    return find


def _read_outlines(paths: Iterable[str], units: Units) -> dict[str, Outline]:
    return units.read(Outline, dict.fromkeys(paths), lambda path: _read_outline(path, units), "looking for writes in")


def _read_outline(path: str, units: Units) -> Outline:
    machine = units.machine
    module = machine.modules.find(machine.modules.names_by_path[path])
    if module is None:
        return Outline((), ())
    with machine.aside_from_others():
        machine.read_module(module)
        functions = list(find_functions(module))
        helpers = dict.fromkeys((*find_helpers(functions), *find_lambdas(module)))
        installs = tuple(sorted(find_installing_classes([module])))
        passed, holders = tuple(find_passed(functions)), tuple(find_holders(functions))
        return Outline(tuple(helpers), installs, units.find_leaks(path), passed, holders)


def _read_strays(path: str, installer: Installer, read: Read) -> ReadStrays:
    machine = installer.machine
    module = machine.modules.find(machine.modules.names_by_path[path])
    if module is None:
        return ReadStrays((), ())
    skipped: list[Skipped] = []
    with installer.reading(module):
        machine.follows = lambda function: (
            is_worth_following(function) or not (read.calls | read.hands).isdisjoint(look_at(function.node).passes)
        )
        items = tuple(find_in_module(module, list(find_functions(module)), installer, read, skipped))
        silent = {str(line): fate for line, fate in installer.silent.items()}
        handed = tuple(sorted(map(str, installer.handed)))
    return ReadStrays(items, tuple(skipped), silent, handed)
