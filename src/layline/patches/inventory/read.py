"""Every patch of a downstream at one commit: find the registrations, read each, tell which are active."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.core.ours import is_own
from layline.core.patch import Engine, Guard, Inventory, Patch, Unregistered
from layline.interpreter.callers.find import Search
from layline.interpreter.calls import Interpreter
from layline.interpreter.config_paths import Roots
from layline.interpreter.events import Registration
from layline.interpreter.modules import Modules, find_build_scripts
from layline.interpreter.prefilter import find_imported
from layline.interpreter.registries import read_registries
from layline.patches.guards.callers import build_caller_guard
from layline.patches.guards.stray_callers import find_callers
from layline.patches.installer import Installer, Known, know_nothing
from layline.patches.inventory.activation import Activation, find_activation
from layline.patches.inventory.engine import read_engine
from layline.patches.inventory.registering import find_registrations
from layline.patches.inventory.registrations import _role, _text, learn_roots, read_patch
from layline.patches.inventory.unregistered import Scope, count_left_out, find_unregistered, select
from layline.source.facts import read_facts

if TYPE_CHECKING:
    from layline.config import Backend, Settings
    from layline.source import Cache
    from layline.source.facts import Facts
    from layline.source.tree import Tree

_RECURSION = 12_000
"""Reading goes as deep as the code it reads; the default limit of Python is meant for less."""


@dataclass(slots=True, eq=False)
class Reading:
    """One downstream commit, read as far as patches need it; shared by all backends."""

    tree: Tree
    settings: Settings
    machine: Interpreter
    texts: dict[str, bytes]
    facts: dict[str, Facts]
    registrations: tuple[Registration, ...]
    activation: Activation
    roots: Roots
    engine: Engine
    own_names: frozenset[str]
    unreached: tuple[Skipped, ...] = ()
    """Calls that look like a registration and were not reached."""
    stray: list[Unregistered] | None = None
    """Effects outside any registration, for all backends; None until asked for."""

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(dict.fromkeys((*self.machine.modules.skipped, *self.unreached)))


def read_downstream(tree: Tree, settings: Settings, cache: Cache | None = None) -> Reading:
    """Find every registration of the downstream at a commit."""
    modules = Modules(tree, settings.project.source_roots)
    registries = read_registries(settings.registries.values())
    machine = Interpreter(modules, registries)
    tops = {package.partition(".")[0] for package in find_packages(settings)}
    machine.is_upstream = lambda text: "." in text and (not tops or text.partition(".")[0] in tops)
    texts = dict(read_texts(tree))
    facts = read_facts(tree, {path: entry.oid for path in texts if (entry := tree.find(path)) is not None}, cache)
    imported: list[frozenset[str]] = []

    def is_package(top: str) -> bool:
        if not imported:  # few projects name targets by text; the others do not pay for the search
            imported.append(frozenset(find_imported(facts)))
        return top in tops or top in imported[0]

    machine.is_package = is_package
    with deep_recursion():
        found = find_registrations(machine, facts, registries.handlers)
        registrations = found.registrations
        names = {registration.module.name for registration in registrations}
        activation = find_activation(modules, names, facts)
        engines = sorted({registration.registry for registration in registrations})
        roots = learn_roots(machine, engines)
        engine = read_engine(machine, engines, texts)
    ours = {name.partition(".")[0] for name in names} | {re.sub(r"[^a-z0-9]", "", settings.project.name.lower())}
    own = frozenset(top.lower() for top in ours if is_own(f"{top}/") and len(top) > 2)
    return Reading(tree, settings, machine, texts, facts, registrations, activation, roots, engine, own, found.skipped)


def find_handler_calls(settings: Settings) -> frozenset[str]:
    return read_registries(settings.registries.values()).handlers


def read_inventory(
    reading: Reading, key: str, look_up: Callable[[str], Known] = know_nothing, pin: str | None = None
) -> Inventory:
    """The patches of one backend; `look_up` tells what a target is at the pin."""
    backend = reading.settings.backend(key)
    installer = Installer(
        reading.machine, reading.roots, look_up, reading.own_names, tuple(find_packages(reading.settings))
    )
    with deep_recursion():
        mine = [item for item in reading.registrations if belongs(item, key, reading.settings)]
        read = [read_patch(item, installer) for item in mine]
        stashes = reading.machine.stashes
        if stashes:  # a stash may be read by a patch that was read before the one that makes it
            again = {i for i, patch in enumerate(read) if any(e.target in stashes for e in patch.effects)}
            read = [read_patch(mine[i], installer) if i in again else patch for i, patch in enumerate(read)]
    patches = [_judge_activity(patch, backend, key, reading) for patch in read]
    settled = tuple(_settle_duplicates(patches, reading))
    effects = [effect for patch in settled for effect in patch.effects]
    with deep_recursion():
        if reading.stray is None:
            reading.stray = find_unregistered(installer, reading.facts, _all_packages(reading.settings))
    others = tuple(p for name, other in reading.settings.backends.items() if name != key for p in other.packages)
    scope = Scope(
        backend.packages,
        reading.own_names,
        (*backend.integration, *backend.patches),
        others,
        reading.machine.modules.owns,
    )
    stray = select(reading.stray, scope, effects)
    left_out = tuple(count_left_out(reading.stray, scope, effects))
    search = Search(reading.machine.modules, reading.texts, reading.facts, {item.within for item in stray})
    callers = {within: search.find(within) for within in sorted({item.within for item in stray})}
    by_path = [item for item in stray if item.registry is not None]
    with deep_recursion():
        settled += tuple(
            build_path_patch(item, key, build_caller_guard(item, callers[item.within], installer)) for item in by_path
        )
    stray = [item for item in stray if item.registry is None]
    return Inventory(
        backend=key,
        commit=reading.tree.commit,
        pin=pin,
        patches=settled,
        unregistered=tuple(find_callers(stray, callers, reading.machine.modules)),
        skipped=(*reading.skipped, *left_out, *_find_homeless(reading)),
        engine=reading.engine,
    )


def build_path_patch(item: Unregistered, key: str, guard: Guard) -> Patch:
    """A string-path registration: the target is its id; the conditions around it and its callers are its guard."""
    effect = item.effect
    return Patch(
        id=effect.target or str(effect.location),
        backend=key,
        phase=None,
        priority=None,
        location=effect.location,
        handler=item.within,
        handler_lines=(effect.location.line, effect.location.line),
        description=f"{effect.replacement} for {effect.target}",
        active_reason=f"registered by {item.registry} in {item.within}",
        guard=guard,
        effects=(replace(effect, when=None, premise=None),),
        implementation=(effect.replacement_at.path,) if effect.replacement_at else (),
    )


def _all_packages(settings: Settings) -> tuple[str, ...]:
    """What counts as upstream; one backend that names no package opens it to everything."""
    if any(not backend.packages for backend in settings.backends.values()):
        return ()
    return tuple(find_packages(settings))


def find_packages(settings: Settings) -> Iterator[str]:
    for backend in settings.backends.values():
        yield from backend.packages


def belongs(registration: Registration, key: str, settings: Settings) -> bool:
    """A patch belongs to the backend it names, else to the one whose folder it stands in, else to the only one."""
    return _find_owner(registration, settings) == key


def _find_owner(registration: Registration, settings: Settings) -> str | None:
    named = _text(_role(registration.arguments, "backend"))
    if named in settings.backends:
        return named
    home = _folder_backend(registration.at.path, settings)
    return home or (next(iter(settings.backends)) if len(settings.backends) == 1 else None)


def _find_homeless(reading: Reading) -> Iterator[Skipped]:
    """Registrations that no configured backend owns are said, not lost."""
    for registration in reading.registrations:
        if _find_owner(registration, reading.settings) is None:
            named = _text(_role(registration.arguments, "backend"))
            about = f"it names the backend {named!r}" if named else "it names no backend"
            yield Skipped(
                f"{_text(_role(registration.arguments, 'id')) or 'a patch'} ({registration.at})",
                f"{about} and stands in no folder of a configured one",
            )


def _folder_backend(path: str, settings: Settings) -> str | None:
    best = ("", "")
    for key, backend in settings.backends.items():
        for folder in (*backend.patches, *backend.integration):
            prefix = folder.rstrip("/") + "/"
            if path.startswith(prefix) and len(prefix) > len(best[0]):
                best = (prefix, key)
    return best[1] or None


def _judge_activity(patch: Patch, backend: Backend, key: str, reading: Reading) -> Patch:
    active, reason = _explain_activity(patch, reading)
    notes = list(patch.notes)
    home = _folder_backend(patch.file, reading.settings)
    if home is not None and home != key:
        notes.append(f"registered for {key} in a folder of {home}")
    if reading.engine.phases and patch.phase is not None and patch.phase not in reading.engine.phases:
        notes.append(f"the engine knows no phase {patch.phase!r}")
    return replace(patch, active=active, active_reason=reason, notes=tuple(notes))


def _explain_activity(patch: Patch, reading: Reading) -> tuple[bool, str]:
    """On import, if anything imports its module; inside a function, if anything calls that."""
    late = next((item.within for item in reading.registrations if item.at == patch.location and item.within), None)
    if late is None:
        return reading.activation.explain(reading.machine.modules.names_by_path.get(patch.file, ""))
    callers = Search(reading.machine.modules, reading.texts, reading.facts, {late}).find(late)
    if callers.places:
        return True, f"registered when {late} is called, from {', '.join(callers.places[:3])}"
    if callers.unknown:
        return (
            True,
            f"registered when {late} is called; {callers.unknown} calls of that name on unknown objects may be it",
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
                patch, notes=(*patch.notes, f"the id is also registered at {others}; this one, imported last, wins")
            )
        else:
            yield replace(
                patch,
                active=False,
                active_reason=f"overridden by the later registration of the same id at {winner.location}",
                notes=(*patch.notes, f"the id is also registered at {others}"),
            )


def read_texts(tree: Tree) -> Iterator[tuple[str, bytes]]:
    """The Python files of the downstream itself, tests and vendored code apart."""
    builds = frozenset(find_build_scripts(tree))
    paths = [path for path in tree.paths(suffix=".py") if is_own(path) and path not in builds]
    oids = {path: entry.oid for path in paths if (entry := tree.find(path)) is not None}
    blobs: dict[str, bytes] = {}
    for blob in tree.repository.stream_blobs(dict.fromkeys(oids.values())):
        if not isinstance(blob, str):
            blobs[blob.oid] = blob.data
    for path, oid in oids.items():
        if oid in blobs:
            yield path, blobs[oid]


@contextmanager
def deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
