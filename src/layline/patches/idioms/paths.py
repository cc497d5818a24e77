"""Targets named by text: `register_patch("a.b.C.m", g)`, `wrap_function_wrapper("a.b", "C.m", g)`, `mock.patch`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.patches.idioms.installer import Installer
from layline.patches.model import Effect
from layline.patches.reading.events import Call, Event
from layline.patches.reading.machine import text_of
from layline.patches.reading.values import (
    Class,
    Function,
    Inside,
    Member,
    Outside,
    Partial,
    Value,
    find_alternatives,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRAPS = re.compile(r"(?:^|\.)(?:_w|_wrap|wrap|wrap_function_wrapper|wrap_object|patch_function_wrapper|wrap_method|function_wrapper)$")  # fmt: skip
_PATH_CALL = re.compile(r"(?:^|\.)(?:register_patch|register_patches|add_patch|patch_path|mock\.patch|patch|patch_object|register)$")  # fmt: skip
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")


def find_path_calls(event: Event, installer: Installer) -> Iterator[Effect]:
    """A call that names its target by text; a text that does not begin with an upstream package is an id."""
    if not isinstance(event, Call):
        return
    name = _last_name(event.callee)
    if name is None:
        return
    given = list(event.arguments)
    if _WRAPS.search(name):
        yield from _find_wrapt(event, given, installer)
    elif _PATH_CALL.search(name):
        yield from _find_path(event, given, installer)


def name_registry(event: Event) -> str | None:
    """The registering call of a string path, for events that are one."""
    if not isinstance(event, Call):
        return None
    name = _last_name(event.callee)
    return name if name is not None and _PATH_CALL.search(name) and not _WRAPS.search(name) else None


def _find_wrapt(event: Call, given: list[Value], installer: Installer) -> Iterator[Effect]:
    keywords = event.keywords
    owner = given[0] if given else keywords.get("module") or keywords.get("target") or keywords.get("parent")
    name = given[1] if len(given) > 1 else keywords.get("name")
    wrapper = given[2] if len(given) > 2 else keywords.get("wrapper") or keywords.get("factory")
    if owner is None or name is None:
        return
    for place in find_alternatives(owner):
        base = text_of(place) or (place.path if isinstance(place, Outside) else None)
        attribute = text_of(name)
        if base is None or attribute is None or not _NAME.match(attribute):
            continue
        effect = installer.build_effect(event, f"{base.replace(':', '.')}.{attribute}", wrapper)
        yield _as_wrapping(effect)


def _as_wrapping(effect: Effect) -> Effect:
    """The wrapt library hands the original to the wrapper as its first argument."""
    from dataclasses import replace

    from layline.patches.model import Style

    return replace(effect, style=Style.FUNCTION_WRAPPING)


def _find_path(event: Call, given: list[Value], installer: Installer) -> Iterator[Effect]:
    target = text_of(given[0]) if given else text_of(event.keywords.get("target") or Inside)  # type: ignore[arg-type]
    tops = _tops(installer)
    if target is None or not _DOTTED.match(target) or (tops and target.split(".")[0] not in tops):
        return
    value = given[1] if len(given) > 1 else event.keywords.get("new")
    if value is None or not _is_ours(value):
        return
    yield installer.build_effect(event, target, _apply_wrapper(event, target, value, installer))


def _apply_wrapper(event: Call, target: str, value: Value, installer: Installer) -> Value:
    """A replacement called `…_wrapper` or `…_decorator` is handed the original and returns what takes its place."""
    found = next(iter(find_alternatives(value)), value)
    if not isinstance(found, Function) or not found.name.endswith(("_wrapper", "_decorator")):
        return value
    made = installer.machine.call_from(found, [Outside(target)])
    return made if isinstance(made, Function | Partial) else value


def _tops(installer: Installer) -> set[str]:
    return {package.split(".")[0] for package in installer.packages}


def _is_ours(value: Value) -> bool:
    return any(isinstance(found, Function | Class | Partial | Outside) for found in find_alternatives(value))


def _last_name(callee: Value) -> str | None:
    match callee:
        case Outside(path=path):
            return path
        case Member(name=name):
            return name
    return None
