"""Registrations → patches: id, phase, priority, guard and effects of each handler."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layline.core.condition import ALWAYS, Condition, VersionPattern, is_decidable, tell
from layline.core.evidence import Location
from layline.core.patch import Check, Effect, Fate, Moment, Patch
from layline.interpreter.condition_reader import build_condition
from layline.interpreter.conditions import Reader, simplify
from layline.interpreter.config_paths import Roots, loosen, read_chain
from layline.interpreter.events import Call, Event, Imported, Log, Naming, Registration, Write
from layline.interpreter.line_tests import find_body
from layline.interpreter.state import same_place
from layline.interpreter.values import (
    Argument,
    Class,
    Function,
    Items,
    Literal,
    Outside,
    Value,
    conjoin,
    find_alternatives,
    grows,
    negate,
)
from layline.patches.guards.chosen import say_otherwise, tell_chosen
from layline.patches.guards.filters import apply_filters, weigh_imports
from layline.patches.guards.registered import CONTEXT, build_guard, call_on_context
from layline.patches.guards.stray import Ways
from layline.patches.idioms import find_effects
from layline.patches.idioms.mocks import find_mocked
from layline.patches.idioms.path_targets import find_put_by_path
from layline.patches.installer import Installer
from layline.patches.inventory.balance import judge_silence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from layline.interpreter.calls import Interpreter

ROLES: dict[str, tuple[str, ...]] = {
    "id": ("patch_id", "id", "name", "patch_name", "key"),
    "description": ("description", "desc", "doc", "help"),
    "backend": ("backend", "framework", "target_backend"),
    "phase": ("phase", "stage", "when", "hook"),
    "priority": ("priority", "order"),
    "condition": ("condition", "predicate", "enabled", "enabled_if", "guard", "cond"),
    "tags": ("tags", "labels"),
}


@dataclass(slots=True, eq=False)
class Installed:
    """What one run of an installer yields."""

    effects: tuple[Effect, ...]
    tests: tuple[Value, ...]
    visited: tuple[str, ...]
    exhausted: bool = False


def read_patch(registration: Registration, installer: Installer) -> Patch:
    """One patch; everything about it is read from its registration and its handler."""
    given, handler = registration.arguments, registration.handler
    node = handler.node
    installed = run_installer(installer, handler)
    reader = Reader(loosen(installer.roots))
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
    return Patch(
        id=find_text(find_role(given, "id")) or f"<computed at {registration.at}>",
        backend=find_text(find_role(given, "backend")),
        phase=find_text(find_role(given, "phase")),
        priority=_number(find_role(given, "priority")),
        location=registration.at,
        handler=handler.name,
        handler_lines=(first, node.end_lineno or node.lineno),
        description=find_text(find_role(given, "description")) or _docstring(handler),
        tags=_texts(find_role(given, "tags")),
        version_patterns=tuple(_find_patterns(given)),
        guard=build_guard(installer.machine, find_role(given, "condition"), installer.roots),
        body_keys=tuple(sorted({key for test in installed.tests for key in reader.find_asked(simplify(test))})),
        effects=installed.effects,
        implementation=tuple(find_implementation(installed, registration.at.path)),
        notes=("the handler is too long to be read completely; effects may be missing",) if installed.exhausted else (),
    )


def run_installer(installer: Installer, handler: Function) -> Installed:
    """Read a handler with its context unknown, then every replacement it installs."""
    parameters = [arg.arg for arg in (*handler.node.args.posonlyargs, *handler.node.args.args)]
    skipped = 1 if handler.bound is not None else 0
    given: list[Value] = [Argument(name, context=index == 0) for index, name in enumerate(parameters[skipped:])]
    installer.machine.begin()
    run_function(installer.machine, handler, given)
    log = installer.machine.log
    effects = _add_conditions(log.events, installer)
    return Installed(tuple(effects), tuple(log.tests), tuple(sorted(log.visited)), log.exhausted)


def run_function(machine: Interpreter, function: Function, given: list[Value]) -> list[Event]:
    """Read one function from the outside; what it would do is in the machine's log."""
    machine.log, machine.frames, machine.deferred, machine.steps = Log(), [], False, 0
    machine.push(function.module, "")
    machine.call_function(function, given, _open_defaults(function, len(given)), function.node)
    machine.frames = []
    return machine.log.events


def _open_defaults(function: Function, given: int) -> dict[str, Value]:
    """Parameters that default to None: nobody called, so what they are given is not known to be nothing."""
    parameters = function.node.args
    bound = 1 if function.bound is not None and function.kind != "staticmethod" else 0
    names = [arg.arg for arg in (*parameters.posonlyargs, *parameters.args)][given + bound :]
    names += [arg.arg for arg in parameters.kwonlyargs]
    return {name: Argument(name) for name in names if function.defaults.get(name) == Literal(None)}


def _add_conditions(events: list[Event], installer: Installer) -> Iterator[Effect]:
    """The effects of a run; a condition that is about no key and no upstream name is told in the words of the
    source.
    """
    ways = Ways(events, installer)
    for event, effect in find_all_effects(events, installer):
        told = ways.describe(event, effect) if effect.when is None else ALWAYS
        yield effect if told == ALWAYS else replace(effect, when=tell(None, told))


def find_all_effects(
    events: list[Event],
    installer: Installer,
    is_shown: Callable[[Effect], bool] = lambda _: True,
    place_of: Callable[[Event, Effect], Location] = lambda _, effect: effect.location,
) -> Iterator[tuple[Event, Effect]]:
    """Every effect once for each place it is told at; conditions are read of those alone that somebody will see."""
    reader = Reader(loosen(installer.roots))
    found: dict[tuple[object, ...], list[tuple[Event, Effect]]] = {}
    waiting = list(_with_imports(events, installer.machine))
    installer.written = frozenset(_find_written(waiting))
    seen: set[int] = set()
    while waiting:
        event = tell_chosen(waiting.pop(0))
        if isinstance(event, Write) and _puts_back_itself(event, installer):
            event = replace(event, transient=True)
        is_told = False
        for found_effect in find_effects(event, installer):
            is_told = True
            effect = apply_filters(event, found_effect, installer)
            if effect is None:
                continue
            effect = _find_others(event, weigh_imports(event, effect, installer), installer)
            put = None if effect.target else effect.replacement
            key = (effect.target, place_of(event, effect), effect.mutates, effect.reason, put)
            known = [*found.get((*key, effect.moment), ()), *found.get((*key, Moment.INSTALL), ())]
            if all(_is_apart(event, effect, *one) for one in known):
                found.setdefault((*key, effect.moment), []).append((event, effect))
                shown = is_shown(effect)
                when = _read_condition(event, reader, installer) if shown else None
                checks = tuple(_find_checks(event, reader)) if shown else ()
                yield event, replace(effect, when=when, checks=checks, otherwise=say_otherwise(event))
        fate = judge_silence(event) if isinstance(event, Write) and not is_told else None
        if isinstance(event, Write) and fate is not None:
            installer.silent.setdefault(event.at, fate)
            if fate is Fate.OWN and len(event.trail) > 1:
                installer.handed.add(event.at)
        put_there = event.value if isinstance(event, Write) else _find_put(event, installer)
        if put_there is not None:
            for log in installer.read_replacement(put_there):
                if id(log) not in seen:
                    seen.add(id(log))
                    waiting.extend(_call_ours(one) if fate is Fate.OWN else one for one in log.events)


def _find_put(event: Event, installer: Installer) -> Value | None:
    """What a call puts in the place of something."""
    mocked = next(find_mocked(event), None)
    return mocked if mocked is not None else find_put_by_path(event, installer)


def _find_written(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        match event:
            case Write(owner=Outside(path=path), name=Literal(value=str(name))):
                yield f"{path}.{name}"


def _find_others(event: Event, effect: Effect, installer: Installer) -> Effect:
    """With the places of all replacements, where the line may write one of several."""
    if not isinstance(event, Write) or effect.replacement_at is None:
        return effect
    return replace(effect, replacements_at=installer.find_places(event.value))


def _puts_back_itself(event: Write, installer: Installer) -> bool:
    """`def once(*args): m.f = old; …`, then `m.f = once`: the first call of it puts the original back."""
    if event.value is None or event.restores or event.deferred:
        return False
    bodies = (find_body(found.node) for found in find_alternatives(event.value) if isinstance(found, Function))
    surely = {statement.lineno for body in bodies for statement in body if isinstance(statement, ast.Assign)}
    logs = installer.read_replacement(event.value) if surely else ()
    return any(
        isinstance(inner, Write) and inner.restores and same_place(inner, event) and inner.at.line in surely
        for log in logs
        for inner in log.events
    )


def _call_ours(event: Event) -> Event:
    """What a function does that only an object of ours keeps: nothing was installed that has to run first."""
    return replace(event, deferred=False) if isinstance(event, Write | Call | Naming | Imported) else event


def _is_apart(event: Event, effect: Effect, other: Event, known: Effect) -> bool:
    """Whether another one, on the contrary of a test, puts something else in the same place."""
    tests = getattr(other, "when", ())
    return effect.replacement != known.replacement and any(negate(test) in tests for test in getattr(event, "when", ()))


def _with_imports(events: Iterable[Event], machine: Interpreter) -> Iterator[Event]:
    """Importing one of our modules does what its top level does."""
    seen: set[str] = set()
    for event in events:
        if isinstance(event, Imported):
            if event.module.name not in seen:
                seen.add(event.module.name)
                machine.read_module(event.module)
                machine.aside |= event.module.aside
                yield from (inner for inner in event.module.events if not isinstance(inner, Registration | Imported))
        else:
            yield event


def _read_condition(event: Event, reader: Reader, installer: Installer) -> Condition | None:
    tests = (*getattr(event, "when", ()), *getattr(event, "given", ()))
    if not tests:
        return None
    test = simplify(conjoin(tuple(tests)))
    if grows(test):
        return _read_test(test, reader)
    if test not in installer.conditions:
        installer.conditions[test] = _read_test(test, reader)
    return installer.conditions[test]


def _find_checks(event: Event, reader: Reader) -> Iterator[Check]:
    """The tests about upstream that raise where they do not hold."""
    if not isinstance(event, Write):
        return
    for number, place in event.checks:
        found = _read_test(simplify(event.when[number]), reader)
        if found is not None and is_decidable(found):
            before = _read_test(simplify(conjoin(event.when[:number])), reader) if number else None
            yield Check(when=found, before=before, raised_at=place)


def _read_test(test: Value, reader: Reader) -> Condition | None:
    """What a test asks of configuration, upstream and the machine; None where it asks nothing of them."""
    asks = next(reader.find_keys(test), None) or next(reader.find_others(test), None)
    return build_condition(test, reader) if asks is not None else None


def find_implementation(installed: Installed, installer_path: str) -> Iterator[str]:
    """Files other than the installer where a replacement is defined."""
    found: dict[str, None] = {}
    for effect in installed.effects:
        if effect.replacement_at is not None and effect.replacement_at.path.endswith(".py"):
            found[effect.replacement_at.path] = None
    yield from sorted(path for path in found if path != installer_path)


def learn_roots(machine: Interpreter, names: Iterable[str]) -> Roots:
    """Where config objects hang on the context: what one-argument functions beside the registry return."""
    learned: set[tuple[str, ...]] = set()
    for name in names:
        module = machine.modules.find(name)
        if module is None:
            continue
        machine.read_module(module)
        for value in list(module.scope.names.values()):
            if isinstance(value, Function) and value.module is module and len(value.node.args.args) == 1:
                chains = (read_chain(v) for v in find_alternatives(call_on_context(machine, value)))
                learned.update(chain for chain in chains if chain)
    return Roots(frozenset(learned))


def find_role(given: dict[str, Value], role: str) -> Value | None:
    return next((given[name] for name in ROLES[role] if name in given), None)


def find_text(value: Value | None) -> str | None:
    return str(value.value) if isinstance(value, Literal) and value.value is not None else None


def _number(value: Value | None) -> int | None:
    return value.value if isinstance(value, Literal) and isinstance(value.value, int) else None


def _texts(value: Value | None) -> tuple[str, ...]:
    if not isinstance(value, Items):
        return ()
    return tuple(str(item.value) for item in value.values if isinstance(item, Literal))


def _find_patterns(given: dict[str, Value]) -> Iterator[VersionPattern]:
    """Version patterns, by the name of the parameter that carries them."""
    for name, value in given.items():
        if "version" in name:
            single = find_text(value)
            for pattern in _texts(value) or ((single,) if single else ()):
                yield VersionPattern(name, pattern)


def _docstring(handler: Function) -> str:
    if isinstance(handler.node, ast.Lambda):
        return ""
    return (ast.get_docstring(handler.node) or "").strip()


__all__ = ["CONTEXT", "Class", "Installed", "Location", "field", "learn_roots", "read_patch", "run_installer"]
