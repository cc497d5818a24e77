"""Targets named by text: `register_patch("a.b.C.m", g)`, `wrap_function_wrapper("a.b", "C.m", g)`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.patch import Effect, Style
from layline.interpreter.branches import find_pairs
from layline.interpreter.events import Call, Event, Naming
from layline.interpreter.objects import spell_object
from layline.interpreter.state import name_module, text_of
from layline.interpreter.values import (
    Called,
    Class,
    Function,
    Instance,
    Member,
    Outside,
    Partial,
    Value,
    find_alternatives,
)
from layline.patches.idioms.mocks import is_mock
from layline.patches.idioms.owners import find_holder, name_owner
from layline.patches.installer import Installer, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")
_OWNERS = ("module", "target", "parent", "owner", "obj", "object", "cls", "klass")
_NAMES = ("name", "attribute", "attr", "method", "method_name", "function_name", "func_name")
_NEW = ("wrapper", "factory", "new", "replacement", "patch", "patch_func", "new_func", "func", "fn")


@dataclass(frozen=True, slots=True)
class Spoken:
    """A call by the last name of what is called; a decorator's function comes last."""

    name: str
    given: tuple[Value, ...]
    keywords: dict[str, Value]


def read_call(event: Event) -> Spoken | None:
    """`f(a, b)` and `@f(a, b)` alike; None for calls of something without a name."""
    if not isinstance(event, Call):
        return None
    match event.callee:
        case Called(callee=callee, arguments=first, keywords=named) if len(event.arguments) == 1:
            name = _last_name(callee)
            decorated = any(isinstance(v, Function | Class) for v in find_alternatives(event.arguments[0]))
            return Spoken(name, (*first, *event.arguments), dict(named)) if name and decorated else None
    name = _last_name(event.callee)
    return Spoken(name, event.arguments, event.keywords) if name else None


def find_path_calls(event: Event, installer: Installer) -> Iterator[Effect]:
    """A call that names its target by text; a text that does not begin with an upstream package is an id."""
    call = read_call(event)
    if call is None or not isinstance(event, Call) or is_mock(event):
        return
    registries = installer.machine.registries
    if call.name in registries.wrappers:
        yield from _find_wrapt(event, call, installer)
    elif call.name in registries.paths:
        yield from _find_path(event, call, installer)


def find_put_by_path(event: Event, installer: Installer) -> Value | None:
    """What a call that names its target by text puts there."""
    if isinstance(event, Naming):
        return next((value for _, value in event.pairs), None)
    call = read_call(event)
    if call is None or is_mock(event):
        return None
    registries = installer.machine.registries
    if call.name in registries.wrappers:
        return next((value for value in (_keyword(call, _NEW), *call.given[::-1]) if value and _is_ours(value)), None)
    found = _read_path(call, installer) if call.name in registries.paths else None
    return None if found is None else _apply_wrapper(found[0][0], found[1], installer)


def name_registry(event: Event, installer: Installer) -> str | None:
    """The registering call of a string path, for events that are one."""
    if isinstance(event, Naming):
        return event.registry if event.registers else None
    call = read_call(event)
    if call is None or not isinstance(event, Call) or is_mock(event):
        return None
    registries = installer.machine.registries
    return call.name if call.name in registries.paths and call.name not in registries.wrappers else None


def _find_wrapt(event: Call, call: Spoken, installer: Installer) -> Iterator[Effect]:
    owner = _keyword(call, _OWNERS)
    name = _keyword(call, _NAMES)
    wrapper = _keyword(call, _NEW)
    rest = list(call.given)
    if owner is None and rest:
        owner = rest.pop(0)
    if name is None and rest:
        name = rest.pop(0)
    if wrapper is None:
        wrapper = next(iter(rest), None)
    if owner is None or name is None:
        return
    if wrapper is None:  # `wrap("a.b.C.m", wrapper)`, or a decorator that waits for its function
        if not _is_ours(name):
            return
        name, wrapper = None, name
    targets = list(_find_targets(owner, name, event.when))
    for target in targets:
        yield replace(installer.build_effect(event, target, wrapper), style=Style.FUNCTION_WRAPPING)
        # the wrapt library hands the original to the wrapper as its first argument
    if name is not None and text_of(name) and not targets and wrapper is not None:
        replacement, place = installer.describe(wrapper)
        yield Effect(
            style=Style.FUNCTION_WRAPPING,
            target=None,
            replacement=replacement,
            replacement_at=place,
            location=event.at,
            certain=False,
            moment=moment_of(event),
            holder=find_holder(owner),
            reached=spell_object(owner),
            told=True,
            reason=f"wraps `{text_of(name) or '…'}` of {name_owner(owner)}",
        )


def _find_targets(owner: Value, name: Value | None, when: tuple[Value, ...]) -> Iterator[str]:
    pairs = ((place, None) for place in find_alternatives(owner)) if name is None else find_pairs(owner, name, when)
    for place, attribute in pairs:
        base = name_module(place) or (place.path if isinstance(place, Outside) else None)
        if base is None or not _NAME.match(base.replace(":", ".")):
            continue
        text = None if attribute is None else text_of(attribute)
        if name is None:
            yield base.replace(":", ".")
        elif text is not None and _NAME.match(text):
            yield f"{base.replace(':', '.')}.{text}"


def _keyword(call: Spoken, names: tuple[str, ...]) -> Value | None:
    return next((call.keywords[name] for name in names if name in call.keywords), None)


def _find_path(event: Call, call: Spoken, installer: Installer) -> Iterator[Effect]:
    found = _read_path(call, installer)
    if found is not None:
        targets, value = found
        yield from (installer.build_effect(event, one, _apply_wrapper(one, value, installer)) for one in targets)


def _read_path(call: Spoken, installer: Installer) -> tuple[list[str], Value] | None:
    """Which argument is the path and which the replacement is told by what they are, not by where they stand."""
    every = (*call.given, *call.keywords.values())
    believed = call.name in installer.machine.registries.configured
    tops = {package.split(".")[0] for package in installer.packages}
    value = _keyword(call, _NEW) or next((item for item in every if text_of(item) is None and _is_ours(item)), None)
    texts = [text for item in every for found in find_alternatives(item) if (text := text_of(found))]
    targets = [target for text in texts if _DOTTED.match(target := text.replace(":", "."))]
    if not believed:
        theirs = (one for one in targets if not tops or one.split(".")[0] in tops or installer.machine.is_target(one))
        targets = [*theirs][:1]
    return (targets, value) if targets and value is not None else None


def _apply_wrapper(target: str, value: Value, installer: Installer) -> Value:
    """A replacement called `…_wrapper` or `…_decorator` is handed the original and returns what takes its place."""
    found = next(iter(find_alternatives(value)), value)
    if not isinstance(found, Function) or not found.name.endswith(("_wrapper", "_decorator")):
        return value
    made = installer.machine.call_from(found, [Outside(target)])
    return made if isinstance(made, Function | Partial) else value


def _is_ours(value: Value) -> bool:
    return any(
        isinstance(found, Function | Class | Partial | Outside | Instance | Called)
        for found in find_alternatives(value)
    )


def _last_name(callee: Value) -> str | None:
    match callee:
        case Outside(path=path):
            return path.rpartition(".")[2]
        case Member(name=name):
            return name
    return None
