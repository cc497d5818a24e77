"""What class an object is of by what is written about it: annotations of parameters, attributes that a class fills."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from layline.interpreter.modules import Scope
from layline.interpreter.objects import class_of
from layline.interpreter.values import (
    Argument,
    Called,
    Class,
    Copied,
    Element,
    Instance,
    Member,
    Outside,
    Value,
    find_order,
)
from layline.source.parsing import PARSING
from layline.source.walking import find_nested, remember

if TYPE_CHECKING:
    from layline.interpreter.state import Machine

Read: TypeAlias = "Callable[[ast.expr, Scope, Machine], Iterator[Value]]"
_DEEPEST = 5
_ONE_OF = frozenset({"Optional", "Union", "Annotated", "Final", "ClassVar"})
_LISTS = frozenset({"list", "List", "tuple", "Tuple", "set", "Set", "Sequence", "Iterable", "Iterator", "Collection"})
_SAYS_NOTHING = frozenset({"Any", "object", "None", "Callable", "TypeVar"})


def find_said(value: Value, machine: Machine, depth: int = 0) -> list[Value]:
    """The classes an object is said to be of, ours or others; empty where nothing says it."""
    if depth > _DEEPEST:
        return []
    match value:
        case Argument() | Member():
            return list(dict.fromkeys(_find_written(value, machine, depth, _read)))
        case Element(owner=Argument() | Member() as owner):
            return list(dict.fromkeys(_find_written(owner, machine, depth, _read_item)))
        case Called(callee=Outside(path=path)) if class_of(value) is None:
            return list(dict.fromkeys(_read_returned(path, machine)))
        case Copied(of=original):
            return find_said(original, machine, depth + 1)
    made = class_of(value)
    return [] if made is None else [made]


def _find_written(value: Argument | Member, machine: Machine, depth: int, read: Read) -> Iterator[Value]:
    """What is written of a parameter or an attribute, as `read` reads it."""
    match value:
        case Argument(says=says) if says is not None:
            yield from read(says.node, says.scope, machine)
        case Member(owner=owner, name=name):
            owners = [owner.of] if isinstance(owner, Instance) else find_said(owner, machine, depth + 1)
            for one in owners:
                yield from _find_filled(one, name, machine, read) if isinstance(one, Class) else ()


def _read_item(node: ast.expr, scope: Scope, machine: Machine) -> Iterator[Value]:
    """What each item of `list[C]` is said to be."""
    match node:
        case ast.Constant(value=str(text)) if (parsed := _parse(text)) is not None:
            yield from _read_item(parsed, scope, machine)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner) if name in _LISTS:
            yield from _read(inner, scope, machine)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _read_item(left, scope, machine)
            yield from _read_item(right, scope, machine)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner) if name in _ONE_OF:
            yield from _read_item(inner, scope, machine)


def _read_returned(path: str, machine: Machine) -> Iterator[Value]:
    """What a function of ours is said to return, where it was too long to be read."""
    home, _, name = path.rpartition(".")
    module = machine.modules.find(home) if machine.modules.path_of(home) is not None else None
    found = find_nested(module.body, [name]) if module is not None else None
    if module is not None and isinstance(found, ast.FunctionDef) and found.returns is not None:
        machine.read_module(module)
        yield from _read(found.returns, module.scope, machine)


def find_foreign_root(value: Value, machine: Machine) -> Outside | None:
    """The class of another package that an object, or one it is reached through, is said to be of."""
    inner: Value | None = value
    for _ in range(_DEEPEST):
        if inner is None:
            return None
        said = find_said(inner, machine)
        if said:
            return next((kind for kind in said if isinstance(kind, Outside)), None)
        match inner:
            case Member(owner=owner) | Element(owner=owner) | Copied(of=owner):
                inner = owner
            case Called(callee=Member(owner=owner)):
                inner = owner
            case _:
                return None
    return None


def _read(node: ast.expr, scope: Scope, machine: Machine) -> Iterator[Value]:
    """`C`, `"C"`, `C | None`, `Optional[C]`, `type[C]` is not an object of C."""
    match node:
        case ast.Constant(value=str(text)):
            parsed = _parse(text)
            if parsed is not None:
                yield from _read(parsed, scope, machine)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _read(left, scope, machine)
            yield from _read(right, scope, machine)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner) if name in _ONE_OF:
            for part in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                yield from _read(part, scope, machine)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name not in _SAYS_NOTHING:
            found = _look_up(node, scope, machine)
            if isinstance(found, Class) or (isinstance(found, Outside) and _is_class_name(found.path)):
                yield found


def _parse(text: str) -> ast.expr | None:
    try:
        with PARSING:
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _is_class_name(path: str) -> bool:
    """A name of another package that looks like a class; a builtin or a type of `typing` says nothing of behaviour."""
    return path.rpartition(".")[2].lstrip("_")[:1].isupper() and not path.startswith(("builtins.", "typing."))


def _look_up(node: ast.expr, scope: Scope, machine: Machine) -> Value | None:
    """A dotted name as it stands; nothing is called for it."""
    match node:
        case ast.Name(id=name):
            found = scope.find(name)
            return None if found is None else machine.settle(found)
        case ast.Attribute(value=owner, attr=name):
            held = _look_up(owner, scope, machine)
            return None if held is None else machine.read_attribute(held, name)
    return None


def _find_filled(owner: Class, name: str, machine: Machine, read: Read) -> Iterator[Value]:
    """What a class or one above says of an attribute: `x: C` in its body, `self.x = C(…)` or `= parameter`."""
    for kind in find_order(owner):
        if not isinstance(kind, Class):
            continue
        said = (one for item in kind.node.body for one in _find_in(item, name))
        scope = kind.scope.parent or kind.scope
        found = [one for node in said for one in read(node, scope, machine)]
        if found:
            yield from found
            return


def _find_in(item: ast.stmt, name: str) -> Iterator[ast.expr]:
    match item:
        case ast.AnnAssign(target=ast.Name(id=known), annotation=annotation) if known == name:
            yield annotation
        case ast.FunctionDef(name=known, returns=ast.expr() as returns, decorator_list=[ast.Name(id="property"), *_]):
            if known == name:
                yield returns
        case ast.FunctionDef(args=ast.arguments(args=[first, *rest])):
            said = {arg.arg: arg.annotation for arg in (*rest, *item.args.kwonlyargs) if arg.annotation is not None}
            for node in _find_fillings(item, first.arg).get(name, ()):
                filling = node.annotation if isinstance(node, ast.AnnAssign) else _read_filling(node.value, said)
                if filling is not None:
                    yield filling


@remember
def _find_fillings(function: ast.FunctionDef, own: str) -> dict[str, list[ast.Assign | ast.AnnAssign]]:
    """Attribute → where a method fills it; each is asked for many names, and walking it costs more than the answer."""
    found: dict[str, list[ast.Assign | ast.AnnAssign]] = {}
    for node in ast.walk(function):
        match node:
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id=owner), attr=name)) if owner == own:
                found.setdefault(name, []).append(node)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner), attr=name)]) if owner == own:
                found.setdefault(name, []).append(node)
    return found


def _read_filling(value: ast.expr, said: dict[str, ast.expr]) -> ast.expr | None:
    match value:
        case ast.Name(id=name):
            return said.get(name)
        case ast.Call(func=ast.Name() | ast.Attribute() as callee):
            return callee
    return None
