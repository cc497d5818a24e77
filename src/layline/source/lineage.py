"""The classes above a class and below it, as far as they can be read."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from layline.source.definitions import DefinitionKind
from layline.source.index import Index
from layline.source.resolve import Resolver
from layline.source.seen import Asked

_DEEPEST = 8
_BY_BASE: WeakKeyDictionary[Index, dict[str, list[tuple[str, str, str]]]] = WeakKeyDictionary()
"""Index → last word of a base as it is written → module, class and base; read once for all questions."""


def find_above(name: str, side: Resolver, depth: int = 0) -> Iterator[str]:
    """A class and those above it, by their dotted names."""
    symbol = side.resolve(name)
    if symbol.definition is None or symbol.module is None or symbol.home is None or depth > _DEEPEST:
        return
    yield symbol.home
    for text in symbol.definition.bases:
        base = side.resolve_in(symbol.module, text.partition("[")[0])
        if base.home is not None:
            yield from find_above(base.home, side, depth + 1)


def find_below(home: str, side: Resolver, depth: int = 0) -> Iterator[str]:
    """The classes below one, wherever the index has them, by their dotted names; one may come more than once."""
    words = {home.rpartition(".")[2], *(item.alias for _, item in side.find_importers(home))}
    for word in sorted(words if depth < _DEEPEST else ()):
        side.index.seen.add(Asked.WORD, word)
        for module, qualname, text in _list_by_base(side.index).get(word, ()):
            if side.resolve_in(module, text).home == home:
                yield f"{module}.{qualname}"
                yield from find_below(f"{module}.{qualname}", side, depth + 1)


def _list_by_base(index: Index) -> dict[str, list[tuple[str, str, str]]]:
    if index not in _BY_BASE:
        found: dict[str, list[tuple[str, str, str]]] = {}
        with index.seen.within(set()):  # who asks notes the word that he asks for
            for entry, module in index.modules():
                for one in module.definitions:
                    for text in one.bases if one.kind is DefinitionKind.CLASS else ():
                        plain = text.partition("[")[0]
                        found.setdefault(plain.rpartition(".")[2], []).append((entry.name, one.qualname, plain))
        _BY_BASE[index] = found
    return _BY_BASE[index]
