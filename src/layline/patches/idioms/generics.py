"""Patches declared as classes over their target: `class P(Patch[Target])`, whose methods replace the target's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.interpreter.events import Write
from layline.interpreter.values import Class, Element, Function, Instance, Literal, Outside, bind, find_alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.modules import Module
    from layline.interpreter.values import Value

_PATCHES = re.compile(r"patch", re.IGNORECASE)
_NOT_PUT = frozenset("__init_subclass__ __class_getitem__ __new__".split())


def find_declared(module: Module) -> Iterator[tuple[Class, Write]]:
    """What the classes of a module declare for a target, as if it were written where they stand."""
    for value in list(module.scope.names.values()):
        if isinstance(value, Class) and value.module is module:
            for target in _find_targets(value):
                for name, method in list(value.scope.names.items()):
                    if isinstance(method, Function) and name not in _NOT_PUT:
                        place = Location(module.path or module.name, method.node.lineno)
                        put = bind(method, Instance(value))
                        yield value, Write(owner=target, name=Literal(name), value=put, at=place, within=value.name)


def _find_targets(owner: Class) -> Iterator[Outside]:
    for base in owner.bases:
        if isinstance(base, Element) and _PATCHES.search(_name(base.owner)):
            yield from (found for found in find_alternatives(base.key) if isinstance(found, Outside))


def _name(base: Value) -> str:
    match base:
        case Class(name=name):
            return name
        case Outside(path=path):
            return path.rpartition(".")[2]
    return ""
