"""Since when upstream does not have a name: the first commit after which nothing leads from it to anything."""

from __future__ import annotations

from collections.abc import Callable

from layline.change.comparison import Comparison
from layline.change.file_trace import FileTracer, Version
from layline.change.snapshots import Snapshots
from layline.core.why import Reason
from layline.source.names import is_within, parents
from layline.source.resolve import Resolver
from layline.source.seen import Asked, Read, say_history
from layline.source.slices import binds
from layline.source.symbols import SymbolKind

_LOST = frozenset({SymbolKind.ABSENT, SymbolKind.EXTERNAL})
"""Upstream's code has no such name; what a class may have from outside is none that upstream gave it."""


class Losses:
    """Answers between one pin and one tip; each name is looked for once."""

    def __init__(self, pin: Resolver, tip: Resolver, find_tracer: Callable[[int], FileTracer | None]) -> None:
        self._pin = pin
        self._tip = tip
        self._find_tracer = find_tracer
        self._snapshots: dict[int, Snapshots] = {}
        self._known: dict[tuple[str, str], tuple[str | None, set[Read]]] = {}

    def find_unbinding(self, found: Comparison) -> str | None:
        """Who took away a lost name; of a member that went before its class, or that upstream's code never gave it, the
        class: it may have been inherited until then.
        """
        near = found.before.bound_in or found.before.module or ""
        # a member of a class that a module imports is bound where the class stands, and lost where it is imported
        holders = (near,) if is_within(found.name, near) else parents(found.name)
        holder = next((name for name in holders if name in self._pin.index.entries), None)
        is_lent = found.before.kind is SymbolKind.EXTERNAL and found.before.bound_in is None
        owned = is_lent or any(one.reason is Reason.CLASS_GONE for one in found.why)
        return self._find(found.name.rpartition(".")[0] if owned else found.name, holder)

    def find_outer(self, name: str) -> str | None:
        """Who took away the outermost part of a name that the tip lacks."""
        words = name.split(".")
        parts = (".".join(words[:number]) for number in range(1, len(words) + 1))
        missing = next((one for one in parts if not self._tip.resolve(one).exists), name)
        holder = next((one for one in (missing, *parents(missing)) if one in self._pin.index.entries), None)
        return self._find(missing, holder)

    def _find(self, name: str, holder: str | None) -> str | None:
        entry = self._pin.index.entries.get(holder) if holder is not None else None
        tracer = self._find_tracer(entry.part) if entry is not None else None
        if entry is None or holder is None or tracer is None:
            return None
        rest = name[len(holder) + 1 :]
        guess = tracer.find_first_version(entry.path, lambda one: not _binds(one, rest))  # notes what is read, too
        if (name, holder) not in self._known:
            reads = set[Read]()
            self._known[name, holder] = self._find_since(name, entry.part, tracer, guess, reads), reads
        commit, reads = self._known[name, holder]
        self._tip.index.seen.extend(reads)
        return commit

    def _find_since(self, name: str, part: int, tracer: FileTracer, guess: str | None, reads: set[Read]) -> str | None:
        """The commit that the text of one file suggests, where the name led to something before it and to nothing
        after; else the one between the two that was found by halving: what is still exported or inherited in another
        way is not gone.
        """
        snapshots = self._snapshots.setdefault(part, Snapshots(self._tip.index, part, tracer))
        steps = tracer.timeline.steps

        def is_lost(step: int) -> bool:
            side = snapshots.open(step)
            found = side.resolve(name)
            modules = {found.module, found.bound_in} & side.index.entries.keys()
            paths = (side.index.entries[one].path for one in modules if one is not None)
            reads.update((Asked.HISTORY, say_history(path)) for path in paths)
            return found.kind in _LOST

        low, high = -1, len(steps) - 1
        if not steps or is_lost(low) or not is_lost(high):
            return guess
        place = next((number for number, step in enumerate(steps) if step.commit == guess), None)
        if place is not None and not is_lost(place):
            low = place
        elif place is not None and not is_lost(place - 1):
            return guess
        elif place is not None:
            high = place - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_lost(middle) else (middle, high)
        return steps[high].commit


def _binds(version: Version, rest: str) -> bool:
    return version.ask(f"binds {rest}", lambda text: binds(text, rest))
