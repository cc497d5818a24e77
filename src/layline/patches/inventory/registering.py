"""Every registration of a downstream: on import, inside functions, and those that reading does not reach."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.core.patch import Fate, Patch
from layline.interpreter.events import Registration
from layline.interpreter.prefilter import look_at
from layline.interpreter.values import Argument
from layline.patches.inventory.registrations import find_role, find_text, read_patch, run_function
from layline.patches.inventory.units import Leaks, Units
from layline.patches.inventory.unregistered import find_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.calls import Interpreter
    from layline.interpreter.modules import Module
    from layline.interpreter.values import Function
    from layline.patches.installer import Installer
    from layline.source.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """What is known of a registration before its handler is read."""

    registry: str
    at: Location
    within: str | None
    """The function that must be called for it to happen; None: it happens on import."""
    backend: str | None
    id: str | None


@dataclass(frozen=True, slots=True)
class FoundRegistrations:
    """The registrations of a module, and the calls that look like one and were not reached."""

    registrations: tuple[Registered, ...]
    skipped: tuple[Skipped, ...]
    leaks: Leaks = ()


@dataclass(frozen=True, slots=True)
class ReadPatches:
    """The patches of one module, in the order of its registrations, and the originals they keep on upstream."""

    patches: tuple[Patch, ...]
    stashes: dict[str, str]
    silent: dict[str, Fate] = field(default_factory=dict)
    """Lines that were read and make no row: `path:line` → why."""


def find_registrations(units: Units, facts: dict[str, Facts], calls: frozenset[str]) -> dict[str, FoundRegistrations]:
    """Path → what it registers, of every file that may."""
    machine = units.machine
    paths = [path for path, one in facts.items() if calls & one.words and path in machine.modules.names_by_path]
    return units.read(FoundRegistrations, dict.fromkeys(paths), lambda path: _find_in_file(path, units, calls))


def _find_in_file(path: str, units: Units, calls: frozenset[str]) -> FoundRegistrations:
    machine = units.machine
    module = machine.modules.find(machine.modules.names_by_path[path])
    if module is None:
        return FoundRegistrations((), ())
    with machine.aside_from_others():
        machine.read_module(module)
        found = find_in_module(machine, module, calls)
        skipped = tuple(_find_unreached(machine, module, calls, {event.at for event in found}))
    described = tuple(
        Registered(
            registry=event.registry,
            at=event.at,
            within=event.within,
            backend=find_text(find_role(event.arguments, "backend")),
            id=find_text(find_role(event.arguments, "id")),
        )
        for event in found
    )
    return FoundRegistrations(described, skipped, units.find_leaks(path))


def find_in_module(machine: Interpreter, module: Module, calls: frozenset[str]) -> list[Registration]:
    found = [event for event in module.events if isinstance(event, Registration)]
    return [*found, *_find_late(machine, module, calls, {event.at for event in found})]


def read_patches(path: str, installer: Installer, calls: frozenset[str]) -> ReadPatches:
    """Every patch that a file registers."""
    machine = installer.machine
    module = machine.modules.find(machine.modules.names_by_path[path])
    if module is None:
        return ReadPatches((), {})
    known = dict(machine.stashes)
    with installer.reading(module):
        found = find_in_module(machine, module, calls)
        patches = tuple(read_patch(item, installer) for item in found)
        stashes = {at: of for at, of in machine.stashes.items() if at not in known}
        return ReadPatches(patches, stashes, {str(line): fate for line, fate in installer.silent.items()})


def _find_late(
    machine: Interpreter, module: Module, calls: frozenset[str], known: set[Location]
) -> Iterator[Registration]:
    """Registrations inside a function that nothing calls on import: they happen when it is called."""
    for function in find_functions(module):
        if function.name.rpartition(".")[2] in calls or not _registers_inside(function, calls):
            continue
        machine.begin()
        for event in run_function(machine, function, []):
            if isinstance(event, Registration) and event.at not in known and not _is_asked(event):
                yield replace(event, within=function.dotted)


def _registers_inside(function: Function, calls: frozenset[str]) -> bool:
    """Whether the body registers; a decorator that registers the function itself is none of its doing."""
    if not look_at(function.node).calls & calls or isinstance(function.node, ast.Lambda):
        return False
    body = ast.Module(function.node.body, [])
    return any(isinstance(n, ast.Call) and ast.unparse(n.func).rpartition(".")[2] in calls for n in ast.walk(body))


def _is_asked(event: Registration) -> bool:
    """The id is a parameter: a helper, whose callers register."""
    first = next(iter(event.arguments.values()), None)
    return isinstance(first, Argument)


def _find_unreached(
    machine: Interpreter, module: Module, calls: frozenset[str], known: set[Location]
) -> Iterator[Skipped]:
    for node in ast.walk(ast.Module(module.body, [])):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        first = node.args[0]
        if name not in calls or not isinstance(first, ast.Constant) or not isinstance(first.value, str):
            continue
        place = Location(module.path or module.name, node.lineno)
        if place not in known and not (
            machine.is_upstream(first.value) or machine.is_target(first.value.replace(":", "."))
        ):
            yield Skipped(
                f"{first.value} ({place})",
                f"registered by {name} in a function that nothing calls",
            )
