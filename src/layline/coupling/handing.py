"""Classes that our code hands on as values: returned by a provider, set in upstream's place, put into a slot."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from layline.source import open_cache
from layline.source.facts import ANALYSER, read_handed

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.source import Index, ModuleEntry


class Handing:
    """Answers for our own modules (those that `is_ours` keeps), from the facts of their files."""

    def __init__(self, index: Index, is_ours: Callable[[ModuleEntry], bool]) -> None:
        self._index = index
        self._is_ours = is_ours

    def is_handed(self, name: str) -> bool:
        return name in self._names

    def find_slots(self, name: str) -> frozenset[str]:
        """The keywords by which our code passes the class on, itself or in a spec."""
        return self._slots.get(name, frozenset())

    @cached_property
    def _slots(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for slot, _, name in (one.partition("=") for one in self._names if "=" in one):
            found.setdefault(name, set()).add(slot)
        return {name: frozenset(slots) for name, slots in found.items()}

    @cached_property
    def _names(self) -> frozenset[str]:
        blobs: dict[int, list[str]] = {}
        for entry in self._index.every.values():
            if self._is_ours(entry):
                blobs.setdefault(entry.part, []).append(entry.blob)
        cache = open_cache(analyser=ANALYSER)
        found = (read_handed(self._index.parts[part].tree, listed, cache) for part, listed in blobs.items())
        return frozenset().union(*found)
