"""What became of names that upstream lost, kept by pin and tip: neither changes, and following a name through history
is most of what a drift answer costs. A commit of ours asks about the same names again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from layline import codec
from layline.change.call_sites import CallSites
from layline.change.compare import Comparer, Comparison
from layline.change.signatures import SignatureChange
from layline.change.told import Told
from layline.core.drift import DriftKind
from layline.core.finding import Suggestion
from layline.core.why import Why
from layline.source import Index
from layline.source.memos import Memos
from layline.source.resolve import Resolver
from layline.source.seen import Asked, Read
from layline.workspace.kept import open_memos

if TYPE_CHECKING:
    from layline.change.trace import Tracer


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A comparison without its two symbols, which are looked up each time."""

    kind: DriftKind
    changes: tuple[SignatureChange, ...] = ()
    body_changed: bool = False
    suggestions: tuple[Suggestion, ...] = ()
    why: tuple[Why, ...] = ()
    commits: tuple[str, ...] = ()


class KeptComparer(Comparer):
    """A comparer that asks for a lost name once, whatever the downstream commit."""

    def __init__(self, pin: Resolver, tip: Resolver, tracers: Sequence[Tracer | None], memos: Memos) -> None:
        super().__init__(pin, tip, tracers)
        self._memos = memos
        self.fates: Told | None = None
        self.calls: Told | None = None

    @cached_property
    def sites(self) -> tuple[CallSites, CallSites]:
        return CallSites(self.pin), CallSites(self.tip, self.calls)

    def find_fate(self, name: str) -> DriftKind | None:
        """Kept with what it was read from: who builds on it depends on the answer alone."""
        if self.fates is None:
            return super().find_fate(name)
        reads: set[Read] = set()
        with self.seen.within(reads):
            found = super().find_fate(name)
        self.fates.put(name, str(found), reads)
        self.seen.add(Asked.FATE, f"{name}={found}")
        return found

    def find_lost(self, start: Comparison) -> Comparison:
        with self.seen.within(set()):
            found = self._recall_lost(start)
        self.seen.add(Asked.LOST, f"{start.name}={_digest(found)}")
        return found

    def stays_lost(self, told: str) -> bool:
        """Whether what became of a name is what was noted of it: `name=digest`."""
        name, _, digest = told.rpartition("=")
        with self.seen.within(set()):
            return _digest(self.compare(name)) == digest

    def _recall_lost(self, start: Comparison) -> Comparison:
        key = self._memos.key("lost", start.name)
        kept = codec.decode_kept(Lost, self._memos.recall([key]).get(key))
        if kept is not None and self._memos.compare is None:
            return replace(start, **{name: getattr(kept, name) for name in Lost.__slots__})
        found = super().find_lost(start)
        fresh = _describe(found)
        if kept is not None and self._memos.compare is not None:
            self._memos.compare(f"lost {start.name}", codec.encode(kept), codec.encode(fresh))
        self._memos.keep(key, codec.encode(fresh))
        return found

    def save(self) -> None:
        """Keep what was found for the next commit."""
        self._memos.save()
        for tracer in self._tracers:
            if tracer is not None:
                tracer.memos.save()
        for told in (self.fates, self.calls):
            if told is not None:
                told.save()


def _describe(found: Comparison) -> Lost:
    return Lost(**{name: getattr(found, name) for name in Lost.__slots__})


def _digest(found: Comparison) -> str:
    text = json.dumps(codec.encode(_describe(found)), sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def open_comparer(kind: str, pin: Index, tip: Index, tracers: Sequence[Tracer | None]) -> KeptComparer:
    """`kind` tells apart questions that see other files of the same commits."""
    parts = [[[part.tree.commit, part.packages, part.source_roots] for part in side.parts] for side in (pin, tip)]
    shallow = any(part.tree.repository.is_shallow for side in (pin, tip) for part in side.parts)
    memos = Memos() if shallow else open_memos("lost", kind, parts)  # more history may come to a shallow clone
    steps = open_memos("steps")
    for tracer in tracers:
        if tracer is not None:
            tracer.seen = tip.seen
            tracer.memos = steps
    return KeptComparer(Resolver(pin), Resolver(tip), tracers, memos)
