"""Upstream as it was at single steps of its history: what a name led to then.

snapshots = Snapshots(tip_index, 0, tracer)
snapshots.open(3).resolve("pkg.api.run")  # after the fourth step
snapshots.open(-1)                        # before the first
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from layline.change.file_trace import FileTracer
from layline.core.weak import weakly
from layline.source.definitions import Module
from layline.source.index import Index, ModuleEntry
from layline.source.names import is_package, module_name
from layline.source.resolve import Resolver

_OPEN = 4
"""So many steps are held at once: one question goes to and fro between a few."""


class Snapshots:
    """The steps of one part of an index; files are read only where a name leads to them."""

    def __init__(self, tip: Index, part: int, tracer: FileTracer) -> None:
        self._tip = tip
        self._part = part
        self._tracer = tracer
        self.open = lru_cache(maxsize=_OPEN)(weakly(self._open))

    def _open(self, step: int) -> Resolver:
        return Resolver(_IndexAtStep(self._tip, list(self._find_entries(step)), self._tracer))

    def _find_entries(self, step: int) -> Iterator[ModuleEntry]:
        """The files of the tip, those that later steps changed as they were before."""
        roots = self._tip.parts[self._part].source_roots
        later = self._find_later(step)
        for entry in self._tip.every.values():
            if entry.part != self._part or entry.path not in later:
                yield entry
        for path, blob in later.items():
            name = module_name(path, roots) if blob is not None else None
            if name is not None and blob is not None:
                yield ModuleEntry(name=name, path=path, blob=blob, part=self._part, is_package=is_package(path))

    def _find_later(self, step: int) -> Mapping[str, str | None]:
        """Path → what it was after the step, of all that changed since."""
        found: dict[str, str | None] = {}
        for later in self._tracer.timeline.steps[step + 1 :]:
            for change in later.changes:
                found.setdefault(change.path, change.before)
        return found


class _IndexAtStep(Index):
    """Knows what the index of the tip knows; other versions of files are read as history reads them."""

    def __init__(self, tip: Index, entries: list[ModuleEntry], tracer: FileTracer) -> None:
        texts, decoded = tip.share([entry.blob for entry in entries])
        super().__init__(tip.parts, entries, texts, decoded)
        self._tracer = tracer

    def _decode(self, blob: str, *, hold: bool = True) -> Module | str:
        if blob in self._texts:
            return super()._decode(blob, hold=hold)
        return self._tracer.read_module(blob) or "it cannot be parsed"
