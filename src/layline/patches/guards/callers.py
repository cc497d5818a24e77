"""The guard of a registration inside a function: its own condition, and what its callers ask before they call."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.condition import ALWAYS, NEVER, Condition, ConditionKind, combine, find_keys, find_told, tell
from layline.core.patch import Guard
from layline.interpreter.condition_reader import build_condition
from layline.interpreter.conditions import Reader, is_vague, simplify
from layline.interpreter.config_paths import CONTAINERS, loosen
from layline.interpreter.line_tests import LineTest, find_body, find_line_tests
from layline.interpreter.line_tests import combine as combine_tests
from layline.interpreter.line_words import read_line_tests
from layline.interpreter.modules import Scope
from layline.interpreter.values import Argument, Class, Instance, Test, Value, negate, truth
from layline.patches.guards.show import show_condition

if TYPE_CHECKING:
    from layline.core.patch import Unregistered
    from layline.interpreter.callers.sites import Callers, Site
    from layline.interpreter.modules import Module
    from layline.patches.installer import Installer

_LONGEST = 160
_MOST_SITES = 3


def build_caller_guard(item: Unregistered, callers: Callers, installer: Installer) -> Guard:
    """What must hold for a registration to happen; "always" only where it happens on import."""
    own = find_told(item.effect.when)
    if not callers.is_function:
        return _guard(item, own, own)
    name = item.within.rpartition(".")[2]
    calls = [site for site in callers.sites if site.use is not None and site.use.is_call]
    if not calls:
        known = callers.places[0] if callers.places else "no caller found"
        return _guard(item, combine(ConditionKind.ALL, (own, _at(f"where {name} runs ({known})"))), own)
    read = [_read_site(site, item, installer) for site in calls[:_MOST_SITES]]
    where = combine(ConditionKind.ANY, (asked for asked, _ in read))
    if len(calls) > _MOST_SITES:
        where = _at(f"and {len(calls) - _MOST_SITES} more callers", where)
    return _guard(
        item, combine(ConditionKind.ALL, (own, where)), combine(ConditionKind.ALL, (own, read[0][1] or ALWAYS))
    )


def _guard(item: Unregistered, told: Condition, written: Condition) -> Guard:
    when = tell(item.effect.when, told) or ALWAYS
    return Guard(when=when, written=None if written == ALWAYS else written)


def _at(text: str, *asked: Condition) -> Condition:
    return Condition(kind=ConditionKind.SITE, text=text, parts=asked)


def _read_site(site: Site, item: Unregistered, installer: Installer) -> tuple[Condition, Condition | None]:
    """What one caller asks before it calls: reduced, and as it is written."""
    name = item.within.rpartition(".")[2]
    place = f"where {name} is called, {site.path}:{site.line}"
    body = find_body(site.use.place.node) if site.use is not None and site.use.place.node is not None else []
    tests = list(find_line_tests(body, site.line))
    written = read_line_tests(tests, body)
    if written == ALWAYS:
        return _at(place), None
    value = _evaluate(combine_tests("and", tuple(tests)), site, item, installer)
    if value is None:
        return _at(place, written), written
    test, reader = simplify(value), Reader(loosen(installer.roots))
    if truth(test) is not None:
        return ALWAYS if truth(test) else _at(f"{show_condition(written)}, {place}", NEVER), written
    found = build_condition(test, reader)
    is_plain = len(show_condition(found)) <= _LONGEST and not is_vague(test)
    return _at(place, found if is_plain else replace(written, keys=find_keys(found))), written


def _evaluate(test: LineTest, site: Site, item: Unregistered, installer: Installer) -> Value | None:
    """The caller's tests, asked of an object of the class that registers."""
    machine, use = installer.machine, site.use
    module = machine.modules.find(machine.modules.names_by_path.get(site.path, ""))
    if module is None or use is None:
        return None
    with machine.from_outside(module):
        machine.read_module(module)
        names: dict[str, Value] = {
            name: Argument(_name_config(name)) for around in use.place.around() for name in around.binds
        }
        receiver = use.node.value if isinstance(use.node, ast.Attribute) else None
        made = _make_owner(item, installer)
        if isinstance(receiver, ast.Name) and made is not None:
            names[receiver.id] = made
        return _value_of(test, Scope(module, module.scope, names), installer)


def _value_of(test: LineTest, scope: Scope, installer: Installer) -> Value | None:
    if test.operator:
        parts = [_value_of(part, scope, installer) for part in test.parts]
        known = tuple(part for part in parts if part is not None)
        return Test(test.operator, known) if len(known) == len(parts) else None
    if test.node is None:
        return None
    value = installer.machine.evaluate(test.node, scope)
    return value if test.holds else negate(value)


def _make_owner(item: Unregistered, installer: Installer) -> Instance | None:
    """An object of the class around the registration, made without arguments."""
    machine = installer.machine
    module = machine.modules.find(machine.modules.names_by_path.get(item.effect.location.path, ""))
    if module is None:
        return None
    owner = _find_class(module, item.within.removeprefix(f"{module.name}.").split(".")[:-1])
    if owner is None:
        return None
    made = machine.call(owner, [], {}, owner.node)
    return made if isinstance(made, Instance) else None


def _find_class(module: Module, parts: list[str]) -> Class | None:
    found: Value | None = module.scope.names.get(parts[0]) if parts else None
    return found if isinstance(found, Class) and len(parts) == 1 else None


def _name_config(name: str) -> str:
    """`mindspeed_args` is a config object as much as `args` is."""
    last = name.rpartition("_")[2]
    return last if last in CONTAINERS else name
