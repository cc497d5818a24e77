"""Classes that our code hands on as values: returned by a provider, set in upstream's place, put into a slot."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from layline.source import open_cache
from layline.source.facts import ANALYSER, read_handed
from layline.source.handed import BUILT, SPECIFIED

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
        return frozenset(slot for slot in self._slots.get(name, ()) if not slot.endswith(BUILT))

    def find_fields(self, name: str) -> frozenset[str]:
        """The fields in which our code keeps objects of the class."""
        named = (slot.removesuffix(BUILT) for slot in self._slots.get(name, ()) if slot.endswith(BUILT))
        return frozenset(slot for slot in named if slot)

    def is_built(self, name: str) -> bool:
        """Whether our own code builds the class by its name, and hands it on nowhere: a spec may name it."""
        is_built = BUILT in self._slots.get(name, frozenset())
        return is_built and self.find_slots(name) <= {SPECIFIED} and name not in self._names

    def find_builders(self, name: str) -> frozenset[str]:
        """The blobs of those of our files that build the class by its name."""
        return frozenset(self._builders.get(name, ()))

    @cached_property
    def _builders(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for blob, names in self._handed.items():
            for slot, _, name in (one.partition("=") for one in names):
                if slot == BUILT:
                    found.setdefault(name, set()).add(blob)
        return found

    @cached_property
    def _slots(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for slot, _, name in (one.partition("=") for one in self._names if "=" in one):
            found.setdefault(name, set()).add(slot)
        return {name: frozenset(slots) for name, slots in found.items()}

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset().union(*self._handed.values())

    @cached_property
    def _handed(self) -> dict[str, frozenset[str]]:
        """Blob → what the file hands on or builds."""
        blobs: dict[int, list[str]] = {}
        for entry in self._index.every.values():
            if self._is_ours(entry):
                blobs.setdefault(entry.part, []).append(entry.blob)
        cache = open_cache(analyser=ANALYSER)
        read = (read_handed(self._index.parts[part].tree, listed, cache) for part, listed in blobs.items())
        return {blob: names for found in read for blob, names in found.items()}
