"""Decorators that put what they decorate onto a class or module: fastcore's `@patch_to(C)`, `@patch`, gorilla's
`@patches(C)`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.interpreter.events import Call, Event
from layline.interpreter.state import text_of
from layline.interpreter.values import Called, Class, Function, Items, Outside, Value, find_alternatives
from layline.patches.installer import Installer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.core.patch import Effect

_PUTS_ONE = ("patch_to", "gorilla.patch", "curse_method")
_PUTS_MEMBERS = ("gorilla.patches",)
_MAKES = ("gorilla.Patch",)


def find_decorations(event: Event, installer: Installer) -> Iterator[Effect]:
    """The owner stands in the decorator or, for fastcore's `@patch`, in the annotation of `self`."""
    match event:
        case Call(callee=Called(callee=Outside(path=path), arguments=(owner, *more)), arguments=(made,)):
            yield from _find_decorated(event, (path, owner, [*more]), made, installer)
        case Call(callee=Outside(path=path), arguments=(Function() as made,)) if path.endswith(".patch"):
            for owner in _find_annotated(made, installer):
                yield installer.build_effect(event, f"{owner}.{made.name.rpartition('.')[2]}", made)
        case Call(callee=Outside(path=path), arguments=(Outside(path=owner), name, value)) if path.endswith(_MAKES):
            text = text_of(name)
            if text is not None:
                yield installer.build_effect(event, f"{owner}.{text}", value)


def _find_decorated(
    event: Call, by: tuple[str, Value, list[Value]], made: Value, installer: Installer
) -> Iterator[Effect]:
    path, given, more = by
    owners = [v.path for item in _open(given) for v in find_alternatives(item) if isinstance(v, Outside)]
    for owner in owners:
        if path.endswith(_PUTS_MEMBERS) and isinstance(made, Class):
            for name, value in made.scope.names.items():
                if isinstance(value, Function):
                    yield installer.build_effect(event, f"{owner}.{name}", value)
        elif path.endswith(_PUTS_ONE) and isinstance(made, Function | Class):
            name = next((text for item in more if (text := text_of(item))), made.name.rpartition(".")[2])
            yield installer.build_effect(event, f"{owner}.{name}", made)


def _open(given: Value) -> list[Value]:
    return given.values if isinstance(given, Items) else [given]


def _find_annotated(made: Function, installer: Installer) -> Iterator[str]:
    """`def m(self: C)`: C, where it is something outside the downstream."""
    parameters = made.node.args.args
    if not parameters or parameters[0].annotation is None or parameters[0].arg != "self":
        return
    named = [n for n in ast.walk(parameters[0].annotation) if isinstance(n, ast.Name | ast.Attribute)]
    machine = installer.machine
    machine.push(made.module, "")
    for node in named[:1] if not isinstance(parameters[0].annotation, ast.Tuple | ast.BinOp) else named:
        value = machine.evaluate(node, made.scope)
        if isinstance(value, Outside) and not value.path.startswith(("builtins.", "typing.")):
            yield value.path
    machine.frames.pop()
