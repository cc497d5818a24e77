"""Whose method is called: the class of a receiver, as far as its text tells."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.interpreter.callers.uses import dotted_of, find_distant, item_of
from layline.source.parsing import PARSING

if TYPE_CHECKING:
    from layline.interpreter.callers.names import Names
    from layline.interpreter.callers.uses import Body, File

_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Receiver:
    """A class of the downstream, and how the receiver relates to it."""

    of: str
    how: str
    """self (it or a class below), super (what comes after it), exact (it alone), any (it or a class below)."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Certainly no object of the downstream's classes: an imported module or name of another package."""


def find_receivers(node: ast.expr, place: Body, file: File, names: Names) -> Iterator[Receiver | Foreign]:
    """What may stand before the dot; nothing where it cannot be told."""
    yield from _find(node, place, file, names, 0)


def is_said_otherwise(node: ast.expr, place: Body, file: File, names: Names, family: Iterable[str]) -> bool:
    """A parameter that is annotated with a class of another package which none of a family is called like."""
    if not isinstance(node, ast.Name):
        return False
    said = next((around.binds[node.id] for around in place.around() if node.id in around.binds), [])
    found = {one for value in said for one in names.resolve_expression(value, place, file)}
    named = tuple(family)  # `DDPStrategy` is a `Strategy`, as far as names tell
    others = (one for one in found if any(known.endswith(one.rpartition(".")[2]) for known in named))
    return bool(found) and all(_is_foreign(one, names) for one in found) and next(others, None) is None


def _find(node: ast.expr, place: Body, file: File, names: Names, depth: int) -> Iterator[Receiver | Foreign]:
    method = place.find_method()
    match node:
        case _ if depth > _DEEPEST:
            return
        case ast.Name(id=name) if method is not None and name == method[1]:
            yield Receiver(method[0].name, "self")
        case ast.Attribute(value=ast.Name(id=name), attr="__class__") if method is not None and name == method[1]:
            yield Receiver(method[0].name, "self")
        case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)]) if method is not None and name == method[1]:
            yield Receiver(method[0].name, "self")
        case ast.Call(func=ast.Name(id="super"), args=arguments):
            yield from _find_super(arguments, place, file, names)
        case ast.Call(func=callee) if (distant := find_distant(callee)) is not None:
            yield from _find_actors(distant, place, file, names, depth)
        case ast.Call(func=callee):
            yield from _find_made(callee, place, file, names)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr=held)) if method and name == method[1]:
            yield from _find_attribute(method[0].name, item_of(held), names, depth)
        case ast.Constant() | ast.JoinedStr() | ast.List() | ast.Dict() | ast.Tuple() | ast.Set():
            yield Foreign()
        case ast.Await(value=inner):
            yield from _find(inner, place, file, names, depth + 1)
        case ast.Name() | ast.Attribute():
            yield from _find_named(node, place, file, names, depth)


def _find_super(arguments: list[ast.expr], place: Body, file: File, names: Names) -> Iterator[Receiver | Foreign]:
    if arguments:
        for found in names.resolve_expression(arguments[0], place, file):
            yield Receiver(found, "super")
        return
    method = place.find_method()
    if method is not None:
        yield Receiver(method[0].name, "super")


def _find_actors(node: ast.expr, place: Body, file: File, names: Names, depth: int) -> Iterator[Receiver | Foreign]:
    """`Class.remote()`, and `made.remote()` where `made = library.remote(Class)`."""
    yield from (found for found in _find_made(node, place, file, names) if isinstance(found, Receiver))
    method = place.find_method()
    match node:
        case ast.Name(id=name):
            values = [(value, place, file) for around in place.around() for value in around.binds.get(name, ())]
            values += [(value, place, file) for value in file.values.get(name, ())]
        case ast.Attribute(value=ast.Name(id=name), attr=held) if method is not None and name == method[1]:
            values = list(_find_kept(method[0].name, held, names))
        case _:
            return
    for value, where, home in values:
        match value:
            case ast.Call(func=ast.Attribute(attr="remote"), args=[made]):
                yield from _find_made(made, where, home, names)


def _find_kept(owner: str, name: str, names: Names) -> Iterator[tuple[ast.expr, Body, File]]:
    """What the methods of a class, or of one it inherits from, put under a name of its objects."""
    for above in names.order(owner):
        place, file = names.find_place(above), names.read(_module_of(above, names))
        if place is not None and file is not None and isinstance(place.node, ast.ClassDef):
            yield from ((value, where, file) for value, where in _find_assigned(place, name, file))


def _find_made(callee: ast.expr, place: Body, file: File, names: Names) -> Iterator[Receiver | Foreign]:
    """`Class(...)`, or a function whose annotation says what it returns."""
    for found in names.resolve_expression(callee, place, file):
        made = names.find_place(found)
        if made is None:
            if _is_foreign(found, names):
                yield Foreign()
        elif isinstance(made.node, ast.ClassDef):
            yield Receiver(found, "exact")
        elif isinstance(made.node, ast.FunctionDef | ast.AsyncFunctionDef) and made.node.returns is not None:
            home = names.read_path(names.modules.path_of(_module_of(found, names)) or "")
            if home is not None:
                yield from _find_annotated(made.node.returns, made, home, names)


def _find_named(node: ast.expr, place: Body, file: File, names: Names, depth: int) -> Iterator[Receiver | Foreign]:
    for found in names.resolve_expression(node, place, file):
        target = names.find_place(found)
        if target is not None and isinstance(target.node, ast.ClassDef):
            yield Receiver(found, "exact")
        elif target is None and _is_foreign(found, names):
            yield Foreign()
    root, parts = dotted_of(node)
    if not isinstance(root, ast.Name):
        return
    if not parts:
        values = next((around.binds[root.id] for around in place.around() if root.id in around.binds), None)
        for value in file.values.get(root.id, ()) if values is None else values:
            yield from _find_value(value, place, file, names, depth)
        return
    method = place.find_method()
    if len(parts) == 1 and method is not None and root.id == method[1]:
        yield from _find_attribute(method[0].name, parts[0], names, depth)


def _find_value(value: ast.expr, place: Body, file: File, names: Names, depth: int) -> Iterator[Receiver | Foreign]:
    """A value assigned to a name, or the annotation of one."""
    match value:
        case ast.Call() | ast.Subscript(value=ast.Attribute()):
            yield from _find(value, place, file, names, depth + 1)
        case _:
            yield from _find_annotated(value, place, file, names)


def _find_annotated(node: ast.expr, place: Body, file: File, names: Names) -> Iterator[Receiver | Foreign]:
    """`x: Class`, `x: "Class"`, `x: Class | None`, `x: Optional[Class]`."""
    match node:
        case ast.Constant(value=str(text)):
            try:
                with PARSING:
                    inner = ast.parse(text, mode="eval").body
            except SyntaxError:
                return
            yield from _find_annotated(inner, place, file, names)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _find_annotated(left, place, file, names)
            yield from _find_annotated(right, place, file, names)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            yield from _find_annotated(inner, place, file, names)
        case ast.Name() | ast.Attribute():
            for found in names.resolve_expression(node, place, file):
                target = names.find_place(found)
                if target is not None and isinstance(target.node, ast.ClassDef):
                    yield Receiver(found, "any")


def _find_attribute(owner: str, name: str, names: Names, depth: int) -> Iterator[Receiver | Foreign]:
    """`self.name`: what the methods of the class, or of one it inherits from, put there."""
    for value, where, file in _find_kept(owner, name, names):
        yield from _find_value(value, where, file, names, depth + 1)
        if isinstance(value, ast.Name):
            for source in where.binds.get(value.id, ()):
                yield from _find_value(source, where, file, names, depth + 1)


def _find_assigned(owner: Body, name: str, file: File) -> Iterator[tuple[ast.expr, Body]]:
    node = owner.node
    for item in node.body if isinstance(node, ast.ClassDef) else ():
        match item:
            case ast.AnnAssign(target=ast.Name(id=known), annotation=annotation) if known == name:
                yield annotation, owner
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                where = file.places.get(f"{owner.name}.{item.name}")
                if where is None:
                    continue
                if item.name == name and item.returns is not None:
                    yield item.returns, owner
                yield from ((value, where) for known, value in where.kept if known == name)


def _module_of(dotted: str, names: Names) -> str:
    parts = dotted.split(".")
    ends = range(len(parts), 0, -1)
    return next((".".join(parts[:end]) for end in ends if names.modules.path_of(".".join(parts[:end]))), "")


def _is_foreign(dotted: str, names: Names) -> bool:
    """A name of another package: nothing of the downstream begins like it."""
    return not names.modules.knows(dotted.partition(".")[0]) and not _module_of(dotted, names)
