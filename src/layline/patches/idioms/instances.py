"""Methods bound onto single objects: `model.forward = MethodType(g, model)`, `x.__class__ = Sub`."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.patch import ON_OBJECTS, Effect, Style, TargetKind
from layline.interpreter.events import Event, Write
from layline.interpreter.objects import class_of, find_class_name, find_classes, is_class_of, spell_object
from layline.interpreter.references import find_own_attributes
from layline.interpreter.state import text_of
from layline.interpreter.values import (
    Argument,
    Called,
    Class,
    Element,
    Function,
    Instance,
    Member,
    Outside,
    Partial,
    Unknown,
    Value,
    find_alternatives,
)
from layline.patches.idioms.attributes import is_kept_original, is_loaded_module
from layline.patches.installer import Installer, moment_of, name_owner

if TYPE_CHECKING:
    from collections.abc import Iterator


_BASES = (".Module", ".PreTrainedModel", ".ModelMixin", "builtins.object")
"""Classes that too many others derive from to say whose method is meant."""
_BEHAVES = frozenset("forward __call__ generate".split())
"""Attributes that hold behaviour, whatever is put there."""
_MODULE_LIKE = re.compile(r"(?:^|_)(?:module|mod|cls|klass|class|package)(?:_|$)|_cls$|_module$")


def find_instance_bindings(event: Event, installer: Installer) -> Iterator[Effect]:
    """A function or class put on an object that only exists at run time; the target cannot be named."""
    if not isinstance(event, Write) or event.value is None or event.restores:
        return
    if event.is_item and not (isinstance(event.owner, Member) and event.owner.name == "__dict__"):
        return
    if is_loaded_module(event.owner) or not isinstance(event.owner, Argument | Member | Element | Called | Unknown):
        return
    name = text_of(event.name)
    if name is None:
        yield from _find_nameless(event, installer)
        return
    if _is_plain_attribute(event, name) or not _is_behaviour(event, name, installer):
        return
    if installer.is_bookkeeping("", name, event.value):
        return
    yield from _tell(event, name, installer)


def _tell(event: Write, name: str, installer: Installer) -> Iterator[Effect]:
    """One row per class the object may be of, where the code tells; else one that says how the object is reached."""
    value, owner = event.value or Unknown("deleted"), _find_holder(event.owner)
    replacement, place = installer.describe(value)
    style = _judge_style(owner, name, value, installer)
    effect = Effect(
        style=style,
        target=None,
        replacement=replacement,
        replacement_at=place,
        location=event.at,
        certain=False,
        moment=moment_of(event),
    )
    made = class_of(owner)
    if isinstance(made, Outside) and made.path.partition(".")[0] in sys.stdlib_module_names:
        return  # a stand-in we made ourselves: `SimpleNamespace()`, `MagicMock()`
    classes = [known for known in find_classes(event.owner, event.when) if not _is_vague(known, name, installer)]
    if classes and all(isinstance(known, Class) for known in classes):
        return  # an object of a class of ours: nothing of upstream is changed
    for known in classes:
        if isinstance(known, Outside):
            found = installer.look_up(f"{known.path}.{name}")
            yield replace(
                effect,
                target=f"{known.path}.{name}",
                certain=True,
                target_kind=found.kind,
                alias_of=found.alias_of,
                reason=f"{ON_OBJECTS} `{spell_object(owner) or '…'}`, not on the class",
            )
    if not classes:
        how = _how(value) or ("wraps " if style is Style.FUNCTION_WRAPPING else "")
        called = find_class_name(event.owner, event.when)
        kind = f", of a class called {called}" if called else ""
        yield replace(effect, reason=f"{how}`{name}` of {_whose(owner)}{kind}")


def _find_holder(owner: Value) -> Value:
    """`x.__dict__["forward"] = …` is written onto x."""
    return owner.owner if isinstance(owner, Member) and owner.name == "__dict__" else owner


def _is_vague(known: Value, name: str, installer: Installer) -> bool:
    """A base that any object has, or one that upstream gives no such method: it does not say whose method is meant."""
    if not isinstance(known, Outside):
        return False
    return known.path.endswith(_BASES) or (installer.look_up(f"{known.path}.{name}").kind is TargetKind.ABSENT)


def _find_nameless(event: Write, installer: Installer) -> Iterator[Effect]:
    """`setattr(self._model, self._name, g)`: which attribute is only known at run time."""
    if event.value is None or not isinstance(event.name, Member | Element) or not _is_function(event.value):
        return
    replacement, place = installer.describe(event.value)
    yield Effect(
        style=Style.BINDING_REPLACEMENT,
        target=None,
        replacement=replacement,
        replacement_at=place,
        location=event.at,
        certain=False,
        moment=moment_of(event),
        reason=f"a method set as an attribute, named by `{spell_object(event.name) or '…'}`, of {_whose(event.owner)}",
    )


def _judge_style(owner: Value, name: str, value: Value, installer: Installer) -> Style:
    """Wrapping if the replacement calls, keeps or hands on what stood there, however it got hold of it."""
    kept = {aside for aside, original in installer.machine.aside if original == name}
    for found in find_alternatives(value):
        given = (*found.arguments, *(item for _, item in found.keywords)) if isinstance(found, Called | Partial) else ()
        if isinstance(found, Partial):
            given = (found.function, *given)
        if any(_is_original(item, owner, name, kept) for part in given for item in find_alternatives(part)):
            return Style.FUNCTION_WRAPPING
        if kept and isinstance(found, Called) and owner in given:
            return Style.FUNCTION_WRAPPING  # the original is kept on the object that the factory is handed
        function = found.function if isinstance(found, Partial) else found
        if kept and isinstance(function, Function) and not kept.isdisjoint(find_own_attributes(function)):
            return Style.FUNCTION_WRAPPING
    for log in installer.read_replacement(value):
        if any((used == name and _is_whose(whose, owner)) or used in kept for whose, used in log.members):
            return Style.FUNCTION_WRAPPING
    return Style.BINDING_REPLACEMENT


def _is_whose(whose: Value, owner: Value) -> bool:
    """The object itself, or its class: `type(x).forward(x)` calls what the object had."""
    return whose == owner or is_class_of(whose, owner)


def _is_original(value: Value, owner: Value, name: str, kept: set[str]) -> bool:
    if isinstance(value, Member) and value.name in {"__func__", "__wrapped__"}:
        value = value.owner
    return isinstance(value, Member) and (value.name in kept or (value.name == name and value.owner == owner))


def _whose(owner: Value) -> str:
    """Parameters that stand for modules and classes are named; others are some object."""
    if isinstance(owner, Argument) and not _MODULE_LIKE.search(owner.name):
        return f"`{owner.name}`, an object that only exists at run time"
    return name_owner(owner)


def _how(value: Value) -> str:
    bound = any(
        (isinstance(found, Function) and found.bound is not None)
        or (isinstance(found, Called) and found.callee == Outside("types.MethodType"))
        for found in find_alternatives(value)
    )
    return "a method set as " if bound else ""


def _is_plain_attribute(event: Write, name: str) -> bool:
    """An object setting its own attributes in a method is no patch."""
    owner = event.owner
    if isinstance(owner, Member) and owner.name == "__dict__":
        return False
    if isinstance(owner, Argument) and owner.name in {"self", "cls", "ctx", "module_self"}:
        return True
    if not name.startswith("_") or name.endswith("__"):
        return False
    return event.value is None or not _how(event.value)  # a private name is a slot, unless a method is bound onto it


def _is_function(value: Value) -> bool:
    return any(isinstance(found, Function | Partial) or _how(found) for found in find_alternatives(value))


def _is_behaviour(event: Write, name: str, installer: Installer) -> bool:
    value = event.value
    if value is None:
        return False
    if name in _BEHAVES and isinstance(value, Member) and value.owner == event.owner and value.name != name:
        is_kept = (value.name, name) in installer.machine.aside or is_kept_original(value, name)
        return not is_kept  # `model.forward = model.encode`
    return any(
        isinstance(found, Function | Class | Partial)
        or (isinstance(found, Called) and (_binds_new(found, name) or _is_made_by_us(found, installer)))
        for found in find_alternatives(value)
    )


def _binds_new(value: Called, name: str) -> bool:
    """`MethodType(mine, obj)`; the original bound again, `MethodType(obj._orig_forward, obj)`, is put back."""
    first = value.arguments[0] if value.arguments else None
    return value.callee == Outside("types.MethodType") and (first is None or not is_kept_original(first, name))


def _is_made_by_us(value: Called, installer: Installer) -> bool:
    """What a factory of ours makes of an original: `our_wrapper(tracer)(client.send)`; too long to be read, or an
    object called.
    """
    root: Value = value
    while isinstance(root, Called | Member):
        root = root.callee if isinstance(root, Called) else root.owner
    if isinstance(root, Instance | Function):
        return True
    parts = root.path.split(".") if isinstance(root, Outside) else []
    if not parts or "wrap" not in parts[-1].lower():
        return False  # what any other function returns may be plain data
    return any(installer.machine.modules.path_of(".".join(parts[:end])) for end in range(1, len(parts)))
