"""What class an object is of by what is written about it: annotations of parameters, attributes that a class fills."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from layline.interpreter.state import Machine

_DEEPEST = 5
_ONE_OF = frozenset({"Optional", "Union", "Annotated", "Final", "ClassVar"})
_SAYS_NOTHING = frozenset({"Any", "object", "None", "Callable", "TypeVar"})


def find_said(value: Value, machine: Machine, depth: int = 0) -> list[Value]:
    """The classes an object is said to be of, ours or others; empty where nothing says it."""
    if depth > _DEEPEST:
        return []
    match value:
        case Argument(says=says) if says is not None:
            return list(dict.fromkeys(_read(says.node, says.scope, machine)))
        case Member(owner=owner, name=name):
            owners = [owner.of] if isinstance(owner, Instance) else find_said(owner, machine, depth + 1)
            kinds = (kind for one in owners if isinstance(one, Class) for kind in _find_filled(one, name, machine))
            return list(dict.fromkeys(kinds))
        case Copied(of=original):
            return find_said(original, machine, depth + 1)
    made = class_of(value)
    return [] if made is None else [made]


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


def _find_filled(owner: Class, name: str, machine: Machine) -> Iterator[Value]:
    """What a class or one above says of an attribute: `x: C` in its body, `self.x = C(…)` or `= parameter`."""
    for kind in find_order(owner):
        if not isinstance(kind, Class):
            continue
        found = [one for item in kind.node.body for one in _find_in(item, name, kind, machine)]
        if found:
            yield from found
            return


def _find_in(item: ast.stmt, name: str, owner: Class, machine: Machine) -> Iterator[Value]:
    scope = owner.scope.parent or owner.scope
    match item:
        case ast.AnnAssign(target=ast.Name(id=known), annotation=annotation) if known == name:
            yield from _read(annotation, scope, machine)
        case ast.FunctionDef(name=known, returns=ast.expr() as returns, decorator_list=[ast.Name(id="property"), *_]):
            if known == name:
                yield from _read(returns, scope, machine)
        case ast.FunctionDef(args=ast.arguments(args=[first, *rest])):
            said = {arg.arg: arg.annotation for arg in (*rest, *item.args.kwonlyargs) if arg.annotation is not None}
            for node in _find_fillings(item, first.arg).get(name, ()):
                if isinstance(node, ast.AnnAssign):
                    yield from _read(node.annotation, scope, machine)
                else:
                    yield from _read_filling(node.value, said, scope, machine)


@lru_cache(maxsize=4096)
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


def _read_filling(value: ast.expr, said: dict[str, ast.expr], scope: Scope, machine: Machine) -> Iterator[Value]:
    match value:
        case ast.Name(id=name) if name in said:
            yield from _read(said[name], scope, machine)
        case ast.Call(func=ast.Name() | ast.Attribute() as callee):
            yield from _read(callee, scope, machine)
