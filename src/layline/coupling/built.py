"""Calls of our own classes that a constructor of upstream's answers: inherited, or handed what ours does not take."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from layline.change.binding import CallShape, read_call
from layline.coupling.stars import find_forward
from layline.source import Definition, DefinitionKind
from layline.source.resolve import Resolver

_MAKE = "__init__"
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class _Class:
    """One class on the way up."""

    module: str
    definition: Definition
    home: str


class Constructors:
    """Answers for one index of ours and upstream's; `owns` tells the names that are upstream's."""

    def __init__(self, resolver: Resolver, owns: Callable[[str], bool]) -> None:
        self._resolver = resolver
        self._owns = owns

    def find(self, name: str, call: CallShape) -> tuple[str, CallShape] | None:
        """The class of upstream's whose constructor runs where a class of ours is called, and what it is passed; None
        where something else may come between.
        """
        first = self._read(name)
        if first is None or self._owns(first.home):
            return None
        met: set[str] = set()
        for one in self._find_line(first, 0):
            if one is None or one.home in met:
                return None  # what cannot be read may have a constructor; of a class met twice the order is not this
            met.add(one.home)
            if self._owns(one.home):
                made = self._resolver.resolve(f"{one.home}.{_MAKE}")
                written = made.definition is not None and not made.is_implicit
                return (one.home, call) if written and self._owns(made.home or "") else None
            given = self._hand_on(one, call)
            if given is None:
                return None
            call = given
        return None

    def _read(self, name: str) -> _Class | None:
        found = self._resolver.resolve(name)
        is_class = found.definition is not None and found.definition.kind is DefinitionKind.CLASS
        if not is_class or found.definition is None or found.module is None or found.home is None:
            return None
        return _Class(found.module, found.definition, found.home)

    def _find_line(self, one: _Class, depth: int) -> Iterator[_Class | None]:
        """A class and those above it in the order in which they are asked; None for one that cannot be read."""
        yield one
        if self._owns(one.home):
            return
        for text in one.definition.bases:
            base = self._resolver.resolve_in(one.module, text.partition("[")[0])
            above = self._read(base.home) if base.home is not None and depth < _DEEPEST else None
            if above is None:
                yield None
            else:
                yield from self._find_line(above, depth + 1)

    def _hand_on(self, one: _Class, call: CallShape) -> CallShape | None:
        """What a class of ours passes to the constructor above: all where it has none itself."""
        module, qualname = self._resolver.index.module(one.module), one.definition.qualname
        members = module.members(qualname) if module is not None else ()
        if module is None or "__new__" in members or one.definition.decorators:
            return None
        if _MAKE not in members:
            return call
        own = module.best(f"{qualname}.{_MAKE}")
        node = self._resolver.index.read_node(one.module, own) if own is not None and not own.decorators else None
        return _pass_on(node, call) if isinstance(node, ast.FunctionDef) else None


def _pass_on(function: ast.FunctionDef, call: CallShape) -> CallShape | None:
    """What a constructor that hands its keywords to the one above passes it, called so."""
    taken = function.args
    forward = find_forward(function, taken.kwarg.arg) if taken.kwarg is not None else None
    match forward and forward.call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr="__init__"):
            pass
        case _:
            return None
    if forward is None or sum(one.arg is None for one in forward.call.keywords) > 1:
        return None
    places = [one.arg for one in (*taken.posonlyargs, *taken.args)][1:]
    named = {*places, *(one.arg for one in taken.kwonlyargs), *forward.popped}
    given = read_call(forward.call)
    more = max(0, call.positional - len(places)) if given.has_star else 0
    return CallShape(
        positional=given.positional + more,
        keywords=(*given.keywords, *(word for word in call.keywords if word not in named)),
        has_star=given.has_star and call.has_star,
        has_double_star=call.has_double_star or bool(forward.filled),
    )
