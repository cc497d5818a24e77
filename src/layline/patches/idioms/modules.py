"""Whole modules put in place: `sys.modules["a.b"] = stub`, and the names given to such a stub."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.patch import Effect, Holder, Style
from layline.interpreter.events import Call, Event, Write
from layline.interpreter.objects import spell_object
from layline.interpreter.state import text_of
from layline.interpreter.values import Called, Class, Instance, Made, Outside, Value, find_alternatives
from layline.patches.installer import Installer, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator


_SPECS = frozenset({"importlib.util.spec_from_file_location", "importlib.util.find_spec"})


def find_module_stubs(event: Event, installer: Installer) -> Iterator[Effect]:
    """`sys.modules[name] = module`, `sys.modules.setdefault(name, module)`, `stub.attribute = x`."""
    match event:
        case Write(is_item=True, owner=Outside(path="sys.modules"), value=value):
            for alternative in find_alternatives(event.name):
                name = text_of(alternative)
                if _is_loaded_file(alternative, value):
                    continue
                if name is None and isinstance(value, Made | Instance | Class | Called):
                    yield _describe_unnamed(event, alternative, value, installer)
                elif name is not None and not installer.machine.modules.knows(name):  # our own module makes itself lazy
                    yield installer.build_effect(event, name, value)
        case Write(is_item=False, owner=Made(dotted=made), value=value):
            name = text_of(event.name)
            if name is not None and value is not None and _is_others(made, installer) and not name.startswith("__"):
                yield replace(installer.build_effect(event, f"{made}.{name}", value), holder=Holder.STAND_IN)
        case Call(callee=Outside(path="sys.modules.setdefault"), arguments=(key, value)):
            name = text_of(key)
            if name is not None:
                yield installer.build_effect(event, name, value)


def _is_others(name: str, installer: Installer) -> bool:
    """A name that a module of another package may have: of ours nothing is changed."""
    return all(map(str.isidentifier, name.split("."))) and not installer.machine.modules.knows(name)


def _is_loaded_file(key: Value, value: Value | None) -> bool:
    """A file that is loaded under a name of its own making: `module_from_spec(spec_from_file_location(name, path))`."""
    if text_of(key) is not None:
        return False  # a name that is known may be another package's
    for module in find_alternatives(value) if value is not None else ():
        match module:
            case Called(callee=Outside(path="importlib.util.module_from_spec"), arguments=(spec, *_)):
                return any(_is_named(one, key) for one in find_alternatives(spec))
    return False


def _is_named(spec: Value, key: Value) -> bool:
    match spec:
        case Called(callee=Outside(path=path), arguments=(name, *_)) if path in _SPECS:
            return key in find_alternatives(name)
    return False


def _describe_unnamed(event: Write, key: Value, value: Value, installer: Installer) -> Effect:
    """Which module is put in place only a run can tell."""
    replacement, place = installer.describe(value)
    return Effect(
        style=Style.BINDING_REPLACEMENT,
        target=None,
        replacement=replacement,
        replacement_at=place,
        location=event.at,
        certain=False,
        moment=moment_of(event),
        holder=Holder.MODULES,
        told=True,
        reason=f"replaces the module sys.modules[{spell_object(key) or '…'}], which is only known at run time",
    )
