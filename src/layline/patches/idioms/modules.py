"""Whole modules put in place: `sys.modules["a.b"] = stub`, and the names given to such a stub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.patch import Effect
from layline.interpreter.events import Call, Event, Write
from layline.interpreter.state import text_of
from layline.interpreter.values import Made, Outside, find_alternatives
from layline.patches.installer import Installer

if TYPE_CHECKING:
    from collections.abc import Iterator


def find_module_stubs(event: Event, installer: Installer) -> Iterator[Effect]:
    """`sys.modules[name] = module`, `sys.modules.setdefault(name, module)`, `stub.attribute = x`."""
    match event:
        case Write(is_item=True, owner=Outside(path="sys.modules"), value=value):
            for alternative in find_alternatives(event.name):
                name = text_of(alternative)
                if name is not None and not installer.machine.modules.knows(name):  # our own module makes itself lazy
                    yield installer.build_effect(event, name, value)
        case Write(is_item=False, owner=Made(name=made), value=value):
            name = text_of(event.name)
            if name is not None and value is not None and "." in made and not name.startswith("__"):
                yield installer.build_effect(event, f"{made}.{name}", value)
        case Call(callee=Outside(path="sys.modules.setdefault"), arguments=(key, value)):
            name = text_of(key)
            if name is not None:
                yield installer.build_effect(event, name, value)
