"""Every patch of a downstream at one commit: find the registrations, read each, tell which are active."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.ours import is_own
from layline.core.patch import Balance, Effect, Engine, Inventory, Patch
from layline.core.progress import Progress, silent
from layline.interpreter.calls import Interpreter
from layline.interpreter.conditions import forget
from layline.interpreter.modules import Modules, find_own_files
from layline.interpreter.prefilter import find_imported
from layline.interpreter.reach import Reach
from layline.interpreter.registries import read_registries
from layline.patches.guards.callers import build_caller_guard
from layline.patches.installer import Installer, Known, MemberKind, know_no_members, know_nothing
from layline.patches.inventory.activation import find_activation
from layline.patches.inventory.balance import Unlisted, find_candidates, strike_balance, tell_examples, tell_unread
from layline.patches.inventory.engine import ReadEngine, find_engine_modules, read_engine
from layline.patches.inventory.named_by_path import build_path_patch
from layline.patches.inventory.owners import belongs, find_folder_backend, find_homeless, tell_homes
from layline.patches.inventory.reached import Reaching
from layline.patches.inventory.reading import Reading
from layline.patches.inventory.registering import (
    ReadPatches,
    find_registrations,
    read_patches,
)
from layline.patches.inventory.registrations import learn_roots
from layline.patches.inventory.rewriters import find_rewriters
from layline.patches.inventory.strays import Strays, find_unregistered
from layline.patches.inventory.units import Units
from layline.patches.inventory.unregistered import Scope, count_left_out, counts, select
from layline.source.facts import read_facts
from layline.source.memos import Memos

if TYPE_CHECKING:
    from layline.config import Settings
    from layline.source import Cache
    from layline.source.facts import Facts
    from layline.source.tree import Tree

_RECURSION = 12_000
"""Reading goes as deep as the code it reads; the default limit of Python is meant for less."""


def read_downstream(
    tree: Tree,
    settings: Settings,
    cache: Cache | None = None,
    memos: Memos | None = None,
    progress: Progress = silent,
) -> Reading:
    """Find every registration of the downstream at a commit."""
    modules = Modules(tree, settings.project.source_roots)
    registries = read_registries(settings.registries.values())
    machine = Interpreter(modules, registries)
    tops = {package.partition(".")[0] for package in find_packages(settings)}
    machine.is_upstream = lambda text: "." in text and (not tops or text.partition(".")[0] in tops)

    def load(paths: Iterable[str]) -> dict[str, Facts]:
        found = {path: entry.oid for path in paths if (entry := tree.find(path)) is not None}
        return read_facts(tree, found, cache, progress)

    facts = load(find_own_files(tree))
    imported: list[frozenset[str]] = []

    def is_package(top: str) -> bool:
        modules.asked.add(f"{top}?")
        if not imported:  # few projects name targets by text; the others do not pay for the search
            imported.append(frozenset(find_imported(facts)))
        return top in tops or top in imported[0]

    machine.is_package = is_package
    reach = Reach(modules, facts, load)
    machine.circles = reach.find_circles(path for path in facts if path in modules.names_by_path)
    units = Units(machine, reach, memos or Memos(), progress)
    with deep_recursion():
        found = find_registrations(units, facts, registries.handlers)
        registered = [item for one in found.values() for item in one.registrations]
        names = {modules.names_by_path[path] for path, one in found.items() if one.registrations}
        activation = find_activation(modules, names, facts, reach)
        engine = _read_engine(units, sorted({item.registry for item in registered}))
    ours = {name.partition(".")[0] for name in names} | {re.sub(r"[^a-z0-9]", "", settings.project.name.lower())}
    own = frozenset(top.lower() for top in ours if is_own(f"{top}/") and len(top) > 2)
    return Reading(tree, settings, units, facts, found, activation, engine, own, load=load)


def _read_engine(units: Units, registries: list[str]) -> ReadEngine:
    machine = units.machine
    below = sorted(find_engine_modules(machine.modules, registries))

    def read(_: str) -> ReadEngine:
        with machine.aside_from_others():
            roots = learn_roots(machine, below)
            return ReadEngine(tuple(sorted(roots.learned)), read_engine(machine, below))

    if not below:
        return ReadEngine((), Engine())
    first = machine.modules.state_of(below[0]) or ""
    return units.read(ReadEngine, {first: [below, units.digest_modules(below)]}, read)[first]


def find_handler_calls(settings: Settings) -> frozenset[str]:
    return read_registries(settings.registries.values()).handlers


def read_inventory(
    reading: Reading,
    key: str,
    look_up: Callable[[str], Known] = know_nothing,
    pin: str | None = None,
    find_members: Callable[[str], frozenset[MemberKind]] = know_no_members,
    holds_code: Callable[[str], bool] = lambda _: False,
) -> Inventory:
    """The patches of one backend; `look_up` tells what a target is at the pin, `find_members` what classes there
    declare a name as.
    """
    upstream = reading.units.upstream
    upstream.about_name, upstream.about_members, upstream.about_code = look_up, find_members, holds_code
    installer = Installer(
        reading.machine,
        reading.roots,
        upstream.look_up,
        reading.own_names,
        tuple(find_packages(reading.settings)),
        upstream.find_members,
        upstream.holds_code,
    )
    strays = _read_all(reading, installer)
    tell = reading.units.progress
    tell("collecting what our modules change", 0, 0)
    patches = [_judge_activity(patch, key, reading) for patch in _find_mine(reading, key)]
    settled = tuple(_settle_duplicates(patches, reading))
    effects = [effect for patch in settled for effect in patch.effects]
    scope = _open_scope(reading, key)
    stray = select(strays.items, scope, effects)
    left_out = tuple(count_left_out(strays.items, scope, effects))
    reaching = Reaching(reading, stray)
    by_path = [item for item in stray if item.registry is not None]
    with deep_recursion():
        settled += tuple(
            build_path_patch(item, key, build_caller_guard(item, reaching.find_callers(item.within), installer))
            for item in by_path
        )
    listed = [*effects, *(item.effect for item in stray)]
    tell("counting our writes that are not patches", 0, 0)
    balance = _strike_balance(reading, listed, scope, key)
    unregistered = tuple(reaching.add([item for item in stray if item.registry is None]))
    forget()
    return Inventory(
        backend=key,
        commit=reading.tree.commit,
        pin=pin,
        patches=settled,
        unregistered=unregistered,
        skipped=(
            *reading.skipped,
            *left_out,
            *find_homeless(reading.registrations, reading.settings),
            *tell_homes((item.effect for item in stray), key, reading.settings, reading.find_imports),
            *find_rewriters(reading.facts, reading.machine.modules, reading.settings.backend(key).packages, listed),
            *tell_unread(balance),
            *tell_examples(find_candidates(reading.examples, scope.owns, _all_packages(reading.settings))),
        ),
        engine=reading.engine.engine,
        balance=balance,
    )


def _read_all(reading: Reading, installer: Installer) -> Strays:
    """The patches of all backends, and what happens outside any registration."""
    with deep_recursion():
        _read_patches(reading, installer)
        if reading.strays is None:
            given = [*_find_given(reading), sorted(reading.stashes.items())]
            packages = _all_packages(reading.settings)
            reading.machine.stashes = dict(reading.stashes)
            reading.strays = find_unregistered(installer, reading.units, reading.facts, packages, given, reading.only)
    return reading.strays


def _open_scope(reading: Reading, key: str) -> Scope:
    settings, find = reading.settings, reading.find_home
    return Scope(
        settings.backend(key).packages,
        reading.own_names,
        is_near=lambda path: find(path) == key,
        others=tuple(p for name, other in settings.backends.items() if name != key for p in other.packages),
        owns=reading.machine.modules.owns,
        is_anothers=lambda path: find(path) not in {None, key},
    )


def _strike_balance(reading: Reading, listed: list[Effect], scope: Scope, key: str) -> Balance:
    """Every candidate write of the downstream against the rows of one backend and what became of the others."""
    every = (effect for patches in (reading.patches or {}).values() for patch in patches for effect in patch.effects)
    strays = reading.strays
    others = [_open_scope(reading, name) for name in reading.settings.backends if name != key]
    unlisted = Unlisted(
        registered=tuple(every),
        strays=(*strays.items, *strays.merged) if strays is not None else (),
        silent=(*reading.silent.items(), *(strays.silent if strays is not None else ())),
        is_others=lambda effect: any(counts(effect, other) for other in others),
    )
    return strike_balance(find_candidates(reading.facts, scope.owns, _all_packages(reading.settings)), listed, unlisted)


def _find_given(reading: Reading) -> list[object]:
    """What every reading of a patch depends on beside the files in its sight and what upstream answers; settings
    stand for the rest.
    """
    return [sorted(reading.engine.roots), sorted(reading.own_names)]


def _read_patches(reading: Reading, installer: Installer) -> None:
    """The patches of all backends; those that may meet an original kept by another are read again, knowing of it."""
    if reading.patches is not None:
        return
    calls, units = reading.machine.registries.handlers, reading.units
    leaks = tuple(dict.fromkeys(leak for one in reading.found.values() for leak in one.leaks))
    given = {
        path: [*_find_given(reading), *units.describe_leaks(leaks, path)]
        for path, one in reading.found.items()
        if one.registrations
    }

    def read(path: str) -> ReadPatches:
        units.read_leaks(leaks, path)
        return read_patches(path, installer, calls)

    found = units.read(ReadPatches, given, read)
    stashes: dict[str, str] = {}
    for one in found.values():
        stashes = {**one.stashes, **stashes}
    again = [path for path, one in found.items() if _may_meet(path, one, stashes, units)]
    if again:
        reading.machine.stashes = dict(stashes)
        found |= units.read(ReadPatches, {path: [*given[path], sorted(stashes.items())] for path in again}, read)
    reading.stashes = stashes
    reading.patches = {path: one.patches for path, one in found.items()}
    reading.silent = {line: fate for one in found.values() for line, fate in one.silent.items()}


def _may_meet(path: str, read: ReadPatches, stashes: dict[str, str], units: Units) -> bool:
    """Whether patches of a file may come upon an original that another one keeps."""
    if any(effect.target in stashes for patch in read.patches for effect in patch.effects):
        return True
    names = {at.rpartition(".")[2] for at in stashes.keys() - read.stashes.keys()}
    facts = (units.reach.facts_of(seen) for seen in units.reach.see(path)) if names else ()
    return any(names & one.words or names & one.attributes for one in facts)


def _find_mine(reading: Reading, key: str) -> Iterator[Patch]:
    for path, patches in (reading.patches or {}).items():
        for item, patch in zip(reading.found[path].registrations, patches, strict=True):
            if belongs(item, key, reading.settings):
                yield patch


def _all_packages(settings: Settings) -> tuple[str, ...]:
    """What counts as upstream; one backend that names no package opens it to everything."""
    if any(not backend.packages for backend in settings.backends.values()):
        return ()
    return tuple(find_packages(settings))


def find_packages(settings: Settings) -> Iterator[str]:
    for backend in settings.backends.values():
        yield from backend.packages


def _judge_activity(patch: Patch, key: str, reading: Reading) -> Patch:
    active, reason = _explain_activity(patch, reading)
    notes = list(patch.notes)
    home = find_folder_backend(patch.file, reading.settings)
    if home is not None and home != key:
        notes.append(f"registered for {key} in a folder of {home}")
    if reading.engine.engine.phases and patch.phase is not None and patch.phase not in reading.engine.engine.phases:
        notes.append(f"this project has no phase {patch.phase!r}")
    return replace(patch, active=active, active_reason=reason, notes=tuple(notes))


def _explain_activity(patch: Patch, reading: Reading) -> tuple[bool, str]:
    """On import, if anything imports its module; inside a function, if anything calls that."""
    late = next((item.within for item in reading.registrations if item.at == patch.location and item.within), None)
    if late is None:
        return reading.activation.explain(reading.machine.modules.names_by_path.get(patch.file, ""))
    callers = reading.open_search([late]).find(late)
    if callers.sites:
        return True, f"registered when {late} is called, from {', '.join(callers.places[:3])}"
    if callers.unknown:
        return (
            True,
            f"registered when {late} is called; {callers.unknown} calls of that name on objects of unknown class may be such calls",
        )
    return False, f"never registered: nothing calls {late}"


def _settle_duplicates(patches: list[Patch], reading: Reading) -> Iterator[Patch]:
    """Of several registrations of one id the engine keeps the last."""
    names = reading.machine.modules.names_by_path
    by_id: dict[str, list[Patch]] = {}
    for patch in patches:
        by_id.setdefault(patch.id, []).append(patch)
    for patch in sorted(patches, key=lambda patch: (patch.file, patch.line)):
        rivals = [item for item in by_id[patch.id] if item.active]
        if len(rivals) < 2 or not patch.active:
            yield patch
            continue
        order = reading.activation.order
        winner = max(rivals, key=lambda item: (order.get(names.get(item.file, ""), -1), item.line))
        others = ", ".join(str(item.location) for item in rivals if item is not patch)
        if patch is winner:
            yield replace(
                patch,
                notes=(
                    *patch.notes,
                    f"the id is also registered at {others}; this registration is imported last and wins",
                ),
            )
        else:
            yield replace(
                patch,
                active=False,
                active_reason=f"overridden by the later registration of the same id at {winner.location}",
                notes=(*patch.notes, f"the id is also registered at {others}"),
            )


@contextmanager
def deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
