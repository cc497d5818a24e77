"""What is put onto a single object, and what it does with the one that stood there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.core.patch import Style
from layline.interpreter.inner import open_held
from layline.interpreter.objects import is_class_of
from layline.interpreter.references import find_captured, find_own_attributes
from layline.interpreter.values import (
    Called,
    Class,
    Element,
    Function,
    Instance,
    Items,
    Member,
    Outside,
    Partial,
    Value,
    find_alternatives,
)
from layline.source.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.events import Write
    from layline.patches.installer import Installer


_BIND = Outside("types.MethodType")
"""Makes nothing of a function but a method: what that does with the original it shows itself."""


def judge_object_style(owner: Value, name: str, value: Value, installer: Installer) -> Style:
    """Wrapping if the replacement calls, keeps or hands on what stood there, however it got hold of it."""
    if name == "__class__" and any(_calls_above(kind) for kind in _find_classes(value)):
        return Style.FUNCTION_WRAPPING
    kept = {aside for aside, original in installer.machine.aside if original == name}
    for found in find_alternatives(value):
        given = (*found.arguments, *(item for _, item in found.keywords)) if isinstance(found, Called | Partial) else ()
        if isinstance(found, Partial):
            given = (found.function, *given)
        if isinstance(found, Instance):
            given = tuple(found.attributes.values())  # a part of ours that keeps the one before it
        if any(is_original(item, owner, name, kept) for part in given for item in find_alternatives(part)):
            return Style.FUNCTION_WRAPPING
        if kept and isinstance(found, Called) and found.callee != _BIND and owner in given:
            return Style.FUNCTION_WRAPPING  # the original is kept on the object that the factory is handed
        function = found.function if isinstance(found, Partial) else found
        if kept and isinstance(function, Function) and not kept.isdisjoint(find_own_attributes(function)):
            return Style.FUNCTION_WRAPPING
        if isinstance(function, Function) and any(
            is_original(item, owner, name, kept) for held in find_captured(function) for item in open_held(held)
        ):
            return Style.FUNCTION_WRAPPING
    for log in installer.read_replacement(value):
        if any((used == name and _is_whose(whose, owner)) or used in kept for whose, used in log.members):
            return Style.FUNCTION_WRAPPING
    return Style.BINDING_REPLACEMENT


def _find_classes(value: Value) -> Iterator[Class]:
    """The classes of ours that an object is given: `type(name, (mixin, base), {})` stands on its bases."""
    for found in find_alternatives(value):
        match found:
            case Class():
                yield found
            case Called(callee=Outside(path="builtins.type"), arguments=(_, Items(values=bases), _)):
                yield from (base for base in bases if isinstance(base, Class))


def _calls_above(kind: Class) -> bool:
    """Whether a method of a class runs the one of the same name above it."""
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == method.name
        and isinstance(call.func.value, ast.Call)
        and getattr(call.func.value.func, "id", "") == "super"
        for method in kind.node.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name != "__init__"
        for call in walk(method)
    )


def _is_whose(whose: Value, owner: Value) -> bool:
    """The object itself, or its class: `type(x).forward(x)` calls what the object had."""
    return whose == owner or is_class_of(whose, owner)


def is_original(value: Value, owner: Value, name: str, kept: set[str]) -> bool:
    if isinstance(value, Member) and value.name in {"__func__", "__wrapped__"}:
        value = value.owner
    return isinstance(value, Member) and (value.name in kept or (value.name == name and value.owner == owner))


def wraps_nameless(event: Write) -> bool:
    """`setattr(x, name, wrap(getattr(x, name)))`: what is put there is handed, or closes over, what stood there."""
    for found in find_alternatives(event.value) if event.value is not None else ():
        function = found.function if isinstance(found, Partial) else found
        held = [*find_captured(function)] if isinstance(function, Function) else [function]
        inside = (item for one in held for item in open_held(one))
        if any(isinstance(item, Element) and (item.owner, item.key) == (event.owner, event.name) for item in inside):
            return True
    return False
