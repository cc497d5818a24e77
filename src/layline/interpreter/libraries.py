"""What functions of well-known libraries do with names and paths: wrapt, pkgutil, functools, operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from layline.interpreter.state import Machine, text_of
from layline.interpreter.values import Called, Function, Instance, Items, Literal, Outside, Partial, Value

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    Known: TypeAlias = "Callable[[Machine, list[Value], dict[str, Value], ast.AST], Value | None]"

Arguments: TypeAlias = "list[Value]"
Keywords: TypeAlias = "dict[str, Value]"


def _resolve_name(machine: Machine, arguments: Arguments, _: Keywords, __: ast.AST) -> Value | None:
    """`pkgutil.resolve_name("a.b:C")`, `pydoc.locate("a.b.C")`, `import_string("a.b.C")`."""
    name = text_of(arguments[0]) if arguments else None
    if name is None:
        return None
    module, colon, inner = name.partition(":")
    if not colon:
        module, _dot, inner = name.rpartition(".")
    found = machine.find_by_text(module or name)
    for part in inner.split(".") if module and inner else []:
        found = machine.read_attribute(found, part)
    return found


def _reduce(machine: Machine, arguments: Arguments, _: Keywords, node: ast.AST) -> Value | None:
    values = machine.iterate(arguments[1]) if len(arguments) == 3 else None
    if values is None:
        return None
    found = arguments[2]
    for value in values:
        found = machine.call(arguments[0], [found, value], {}, node)
    return found


def _resolve_path(machine: Machine, arguments: Arguments, keywords: Keywords, _: ast.AST) -> Value | None:
    """The `resolve_path(module, "C.m")`: the owner, the attribute's name, the original."""
    given = [*arguments, *keywords.values()]
    name = text_of(given[1]) if len(given) > 1 else None
    if name is None:
        return None
    text = text_of(given[0])
    parent = machine.find_by_text(text) if text is not None else given[0]
    *owners, attribute = name.split(".")
    for part in owners:
        parent = machine.read_attribute(parent, part)
    return Items([parent, Literal(attribute), machine.read_attribute(parent, attribute)])


def _wrap_object(machine: Machine, arguments: Arguments, keywords: Keywords, node: ast.AST) -> Value | None:
    """The `wrap_object(module, "C.m", factory, args, kwargs)`: the factory is handed the original."""
    found = _resolve_path(machine, arguments[:2], {}, node)
    factory = arguments[2] if len(arguments) > 2 else keywords.get("factory")
    if not isinstance(found, Items) or factory is None:
        return None
    parent, attribute, original = found.values
    extra = arguments[3] if len(arguments) > 3 else keywords.get("args", Items([]))
    made = machine.call(factory, [original, *(machine.iterate(extra) or [])], {}, node)
    if isinstance(factory, Outside) or not isinstance(made, Function | Instance | Partial | Called):
        made = Called(factory, (original, *(machine.iterate(extra) or [])))
    machine.write(parent, attribute, made, node)
    return made


def call_made(machine: Machine, made: Called, arguments: Arguments) -> Value | None:
    """`operator.attrgetter("a.b")(x)`: what a call returned is called in turn."""
    match made:
        case Called(callee=Outside(path="operator.attrgetter"), arguments=(name,)) if len(arguments) == 1 and text_of(
            name
        ):
            found = arguments[0]
            for part in (text_of(name) or "").split("."):
                found = machine.read_attribute(found, part)
            return found
    return None


LIBRARIES: dict[str, Known] = {
    "pkgutil.resolve_name": _resolve_name,
    "pydoc.locate": _resolve_name,
    "functools.reduce": _reduce,
    "django.utils.module_loading.import_string": _resolve_name,
    "werkzeug.utils.import_string": _resolve_name,
    "wrapt.resolve_path": _resolve_path,
    "wrapt.wrap_object": _wrap_object,
}
