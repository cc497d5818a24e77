"""How effects outside any registration are reached, kept: only our own files decide it, whatever upstream commit they are
read beside.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from layline import codec
from layline.core.condition import Condition
from layline.core.evidence import Location
from layline.core.patch import Moment, Unregistered
from layline.core.progress import count
from layline.interpreter.callers.above import find_callers_above
from layline.patches.guards.stray_callers import open_callers

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.interpreter.callers.sites import Callers
    from layline.patches.inventory.reading import Reading

_CALLERS = "looking for who calls our patching functions"
_ASKED = "looking for what decides whether our patching functions are called"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """All of an effect that is asked for."""

    within: str
    location: Location
    when: Condition | None
    moment: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What its callers make of it."""

    when: Condition | None
    moment: Moment
    called_from: tuple[str, ...]
    unknown_callers: int


class Reaching:
    """Finds how the functions around some effects are reached; the files are searched when the first is not known."""

    def __init__(self, reading: Reading, items: list[Unregistered]) -> None:
        self._reading = reading
        self._within = sorted({item.within for item in items})
        entries = sorted((path, entry.oid) for path, entry in reading.tree.entries.items())
        # who is known beside a function decides how far up its callers are followed
        self._base = hashlib.sha256(json.dumps([entries, self._within]).encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def callers(self) -> dict[str, Callers]:
        """Function → what calls it."""
        tell = self._reading.units.progress
        tell(_CALLERS, 0, len(self._within))
        search = self._reading.open_search(self._within)
        return {name: search.find(name) for name in count(self._within, _CALLERS, len(self._within), tell, str)}

    @cached_property
    def _add(self) -> Callable[[Unregistered], Unregistered]:
        known = self.callers
        self._reading.units.progress(_ASKED, 0, 0)
        return open_callers(find_callers_above(known, self._reading.open_search), self._reading.machine.modules)

    def add(self, items: list[Unregistered]) -> list[Unregistered]:
        """The same items, each with what calls the function around it and what is asked along the way."""
        memos = self._reading.units.memos
        keys = [memos.key("reached", self._base, codec.encode(_describe(item))) for item in items]
        kept = memos.recall(keys)
        found: list[Unregistered] = []
        for item, key in zip(items, keys, strict=True):
            known = codec.decode_kept(Reached, kept.get(key))
            if known is None or memos.compare is not None:
                known = _settle(self._add(item))
                if memos.compare is not None and key in kept:
                    memos.compare(f"callers of {item.within}", kept[key], codec.encode(known))
                memos.keep(key, codec.encode(known))
            found.append(_take(item, known))
        return found


def _describe(item: Unregistered) -> Written:
    effect = item.effect
    return Written(within=item.within, location=effect.location, when=effect.when, moment=effect.moment)


def _settle(item: Unregistered) -> Reached:
    effect = item.effect
    return Reached(
        when=effect.when,
        moment=effect.moment,
        called_from=item.called_from,
        unknown_callers=item.unknown_callers,
    )


def _take(item: Unregistered, known: Reached) -> Unregistered:
    effect = replace(item.effect, when=known.when, moment=known.moment)
    return replace(item, effect=effect, called_from=known.called_from, unknown_callers=known.unknown_callers)
