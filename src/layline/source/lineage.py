"""The classes above a class, as far as they can be read."""

from __future__ import annotations

from collections.abc import Iterator

from layline.source.resolve import Resolver

_DEEPEST = 8


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
