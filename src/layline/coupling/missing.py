"""Names that our code reads of a module and that upstream has at neither commit: such a line fails today."""

from __future__ import annotations

from collections.abc import Iterable

from layline.change.compare import Comparer
from layline.coupling.callee import is_rebound
from layline.coupling.model import Touch
from layline.coupling.place import Place
from layline.source import SymbolKind
from layline.source.names import is_within


def find_missing(comparer: Comparer, place: Place, patched: Iterable[str]) -> str | None:
    """What a place reads of a module that is one file, and that this file has neither at the pin nor at the tip."""
    asked = place.guarded or place.type_checking or place.touch is Touch.PATCH
    entry = comparer.pin.index.entries.get(place.imported)
    word = place.target.removeprefix(f"{place.imported}.").partition(".")[0]
    name = f"{place.imported}.{word}"
    if asked or entry is None or entry.is_package or name == place.imported or not is_within(place.target, name):
        return None
    names = (name, f"{place.imported}.__getattr__")
    if any(comparer.pin.resolve(one).kind is not SymbolKind.ABSENT for one in names):
        return None
    there = comparer.tip.resolve(place.imported).exists and not comparer.tip.resolve(name).exists
    return name if there and not is_rebound(name, patched) else None
