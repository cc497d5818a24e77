"""The configured upstreams at their pins, as one index that tells what a dotted name is there."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.app.workspace import cache_directory
from layline.core.evidence import Skipped
from layline.core.patch import TargetKind
from layline.errors import Error
from layline.patches.installer import Known
from layline.source import Index, Part, Resolver, SymbolKind, Tree, open_cache
from layline.source.lazy import LazyTexts, open_index

if TYPE_CHECKING:
    from layline.app.workspace import Workspace
    from layline.source import Symbol

_KINDS = {
    SymbolKind.DEFINITION: TargetKind.DEFINITION,
    SymbolKind.SUBMODULE: TargetKind.DEFINITION,
    SymbolKind.IMPORTED_NAME: TargetKind.IMPORTED_NAME,
    SymbolKind.MODULE_ASSIGNMENT: TargetKind.MODULE_ASSIGNMENT,
    SymbolKind.ABSENT: TargetKind.ABSENT,
    SymbolKind.EXTERNAL: TargetKind.EXTERNAL,
    SymbolKind.UNKNOWN: TargetKind.UNKNOWN,
}


@dataclass(slots=True, eq=False)
class Upstreams:
    """Every backend whose objects are here, at its pin."""

    index: Index
    resolver: Resolver
    pins: dict[str, str]
    """Backend → the commit its targets are looked up in."""
    skipped: tuple[Skipped, ...]
    texts: LazyTexts

    def look_up(self, dotted: str) -> Known:
        """What a target is at the pin; for an absent one, the name probably meant."""
        symbol = self.resolver.resolve(dotted)
        suggestion = self.suggest(symbol) if symbol.kind is SymbolKind.ABSENT else None
        return Known(_KINDS[symbol.kind], symbol.alias_of, suggestion)

    def suggest(self, symbol: Symbol) -> str | None:
        """A name beside the absent one that differs by a slip of the hand."""
        owner, _, name = symbol.name.rpartition(".")
        beside = self._names_in(owner)
        near = difflib.get_close_matches(name, sorted(beside), n=1, cutoff=0.85)
        return f"{owner}.{near[0]}" if near else None

    def _names_in(self, owner: str) -> set[str]:
        module = self.index.module(owner)
        if module is not None:
            named = {item.alias for item in module.imports if item.alias}
            return named | {item.qualname for item in module.definitions if "." not in item.qualname}
        symbol = self.resolver.resolve(owner)
        holder = self.index.module(symbol.module) if symbol.module else None
        if holder is None or symbol.definition is None:
            return set()
        return set(holder.members(symbol.definition.qualname))

    def save(self) -> None:
        """Keep what was parsed for the next run."""
        if self.texts.fresh:
            cache = open_cache(cache_directory())
            cache.store(self.texts.fresh.items())
            cache.close()


def read_pinned_part(workspace: Workspace, key: str) -> Part:
    """A backend's upstream at its pin, as a part of an index."""
    pinned = workspace.find_pinned(key)
    return Part(
        tree=Tree(pinned.repository, pinned.commit),
        source_roots=pinned.backend.source_roots,
        packages=pinned.backend.packages,
    )


def open_upstreams(workspace: Workspace) -> Upstreams:
    """All upstreams together, so that a namespace shared by several resolves in the right one."""
    parts: list[Part] = []
    pins: dict[str, str] = {}
    skipped: list[Skipped] = []
    for key in workspace.settings.backends:
        try:
            parts.append(read_pinned_part(workspace, key))
        except Error as error:
            skipped.append(Skipped(f"upstream {key}", f"its targets cannot be looked up: {error.message}"))
            continue
        pins[key] = parts[-1].tree.commit
    cache = open_cache(cache_directory())
    index, texts = open_index(parts, cache)
    cache.close()
    return Upstreams(index, Resolver(index), pins, tuple(skipped), texts)
