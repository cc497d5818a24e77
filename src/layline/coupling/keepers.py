"""Which classes of ours build objects of a class and keep them in fields of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from layline.coupling.handing import Handing
    from layline.coupling.uses import Uses
    from layline.source import Index


class Keepers:
    """Answers for the files of ours whose uses are read."""

    def __init__(self, index: Index, uses: dict[str, Uses], handing: Handing) -> None:
        self._index = index
        self._uses = uses
        self._handing = handing

    def find(self, name: str) -> frozenset[str] | None:
        """Their dotted names; None where objects are built elsewhere, too, or kept by others."""
        builders = self._handing.find_builders(name)
        found: set[str] = set()
        for entry in self._index.entries.values() if builders else ():
            if entry.part or entry.blob not in builders:
                continue
            uses = self._uses.get(entry.blob)
            module = self._index.module(entry.name)
            names = {name, *(one.alias for one in (module.imports if module is not None else ()) if one.name == name)}
            kept = list(_find_kept(uses, names)) if uses is not None else []
            if not kept or not all(kept):
                return None
            found.update(f"{entry.name}.{one}" for one in kept)
        return frozenset(found)


def _find_kept(uses: Uses, names: Container[str]) -> Iterator[str]:
    """The classes whose methods build it and set a field of their object on that line; empty for another place."""
    sets = {(use.line, use.scope) for use in uses.uses if use.assigned and use.chain.startswith("self.")}
    for use in uses.uses:
        if use.call is not None and use.chain in names:
            yield use.scope.rpartition(".")[0] if (use.line, use.scope) in sets else ""
