"""The guard of a registration inside a function: its own condition, and what its callers ask before they call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.core.patch import Guard
from layline.interpreter.conditions import Reader, simplify
from layline.interpreter.config_paths import CONTAINERS, loosen
from layline.interpreter.gates import Gate, combine, find_body, find_gates, show_gates
from layline.interpreter.scope import Scope
from layline.interpreter.values import Argument, Class, Instance, Test, Value, negate, truth

if TYPE_CHECKING:
    from layline.core.patch import Unregistered
    from layline.interpreter.callers.find import Callers, Site
    from layline.interpreter.modules import Module
    from layline.patches.installer import Installer

_LONGEST = 160
_MOST_SITES = 3


def build_caller_guard(item: Unregistered, callers: Callers, installer: Installer) -> Guard:
    """What must hold for a registration to happen; "always" only where it happens on import."""
    own = item.effect.when
    if not callers.is_function:
        return Guard(text=own, keys=item.keys, expression=own or "always", condition=item.effect.condition)
    name = item.within.rpartition(".")[2]
    calls = [site for site in callers.sites if site.use is not None and site.use.is_call]
    if not calls:
        known = f"where {name} runs ({callers.places[0]})" if callers.places else f"where {name} runs (no caller found)"
        whole = f"{_bracket(own)} and {known}" if own else known
        return Guard(text=own, keys=item.keys, expression=whole, condition=item.effect.condition)
    read = [_read_site(site, item, installer) for site in calls[:_MOST_SITES]]
    texts = list(dict.fromkeys(text for text, _, _ in read))
    more = f" (and {len(calls) - _MOST_SITES} more callers)" if len(calls) > _MOST_SITES else ""
    where = " or ".join(f"({text})" if len(texts) > 1 else text for text in texts) + more
    keys = {*item.keys, *(key for _, found, _ in read for key in found)}
    written = " and ".join(text for text in (own, read[0][2]) if text)
    whole = where if not own else own if where == "always" else f"{_bracket(own)} and {where}"
    return Guard(text=written or None, keys=tuple(sorted(keys)), expression=whole, condition=item.effect.condition)


def _read_site(site: Site, item: Unregistered, installer: Installer) -> tuple[str, tuple[str, ...], str | None]:
    """What one caller asks before it calls: in a few words, its config keys, and as it is written."""
    name = item.within.rpartition(".")[2]
    place = f"where {name} is called, {site.path}:{site.line}"
    body = find_body(site.use.place.node) if site.use is not None and site.use.place.node is not None else []
    gates = list(find_gates(body, site.line))
    written = show_gates(gates, body)
    if written is None:
        return place, (), None
    value = _evaluate(combine("and", tuple(gates)), site, item, installer)
    if value is None:
        return f"{written} ({place})", (), written
    test, reader = simplify(value), Reader(loosen(installer.roots))
    if truth(test) is not None:
        return "always" if truth(test) else f"never ({written}, {place})", (), written
    shown = reader.show(test)
    text = shown if len(shown) <= _LONGEST and "<" not in shown.replace(" <", "") else written
    return f"{_bracket(text)} ({place})", tuple(reader.find_keys(test)), written


def _bracket(text: str) -> str:
    return f"({text})" if " or " in text else text


def _evaluate(gate: Gate, site: Site, item: Unregistered, installer: Installer) -> Value | None:
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
        return _value_of(gate, Scope(module, module.scope, names), installer)


def _value_of(gate: Gate, scope: Scope, installer: Installer) -> Value | None:
    if gate.operator:
        parts = [_value_of(part, scope, installer) for part in gate.parts]
        known = tuple(part for part in parts if part is not None)
        return Test(gate.operator, known) if len(known) == len(parts) else None
    if gate.node is None:
        return None
    value = installer.machine.evaluate(gate.node, scope)
    return value if gate.holds else negate(value)


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
