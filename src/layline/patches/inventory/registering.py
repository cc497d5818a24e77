"""Every registration of a downstream: on import, inside functions, and those that reading does not reach."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.interpreter.events import Registration
from layline.interpreter.prefilter import look_at
from layline.interpreter.values import Argument
from layline.patches.inventory.registrations import run_function
from layline.patches.inventory.unregistered import find_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.calls import Interpreter
    from layline.interpreter.modules import Module
    from layline.interpreter.values import Function
    from layline.source.facts import Facts


@dataclass(frozen=True, slots=True)
class FoundRegistrations:
    """The registrations of a downstream, and the calls that look like one and were not reached."""

    registrations: tuple[Registration, ...]
    skipped: tuple[Skipped, ...]


def find_registrations(machine: Interpreter, facts: dict[str, Facts], calls: frozenset[str]) -> FoundRegistrations:
    found: list[Registration] = []
    skipped: list[Skipped] = []
    for module in _find_modules(machine, facts, calls):
        mine = [event for event in module.events if isinstance(event, Registration)]
        mine += _find_late(machine, module, calls, {event.at for event in mine})
        found += mine
        skipped += _find_unreached(machine, module, calls, {event.at for event in mine})
    return FoundRegistrations(tuple(found), tuple(skipped))


def _find_modules(machine: Interpreter, facts: dict[str, Facts], calls: frozenset[str]) -> Iterator[Module]:
    for path, one in facts.items():
        name = machine.modules.names_by_path.get(path)
        module = machine.modules.find(name) if name is not None and calls & one.words else None
        if module is not None:
            machine.read_module(module)
            yield module


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
        if place not in known and not machine.is_upstream(first.value):
            yield Skipped(
                f"{first.value} ({place})",
                f"registered by {name} where reading does not come: in a function nobody calls",
            )
