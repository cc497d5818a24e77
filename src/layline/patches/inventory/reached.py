"""How effects outside any registration are reached, kept: only our own files decide it, whatever upstream commit they are
read beside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.condition import Condition
from layline.core.evidence import Location
from layline.core.patch import Moment, Unregistered
from layline.core.progress import count
from layline.interpreter.callers.above import find_around, find_known
from layline.patches.guards.stray_callers import open_callers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.interpreter.callers.sites import Callers
    from layline.patches.inventory.reading import Reading
    from layline.patches.inventory.since import Noted

_CALLERS = "looking for callers of our patching functions"
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


class Known:
    """Functions whose callers count, found when they are asked for; who asks is noted."""

    def __init__(self, names: frozenset[str], find: Callable[[str], Callers]) -> None:
        self._names = names
        self._find = find
        self.asked: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        self.asked[name] = name in self._names
        return self.asked[name]

    def __getitem__(self, name: str) -> Callers:
        if name not in self:
            raise KeyError(name)
        return self._find(name)


class Reaching:
    """Finds how the functions around some effects are reached; the files are searched where that is not known."""

    def __init__(self, reading: Reading, items: list[Unregistered]) -> None:
        self._reading = reading
        self._within = sorted({item.within for item in items})
        self._memos = reading.units.memos
        self._searches = reading.searches
        self._callers: dict[str, tuple[Callers, Noted]] = {}

    def find_callers(self, name: str) -> Callers:
        """What calls a function."""
        if name not in self._callers:
            with self._searches.note() as noted:
                self._callers[name] = self._reading.open_search([name]).find(name), noted
        callers, noted = self._callers[name]
        self._searches.take(noted)
        return callers

    @cached_property
    def _known(self) -> frozenset[str]:
        """The functions around the effects, and those that lead to them."""
        tell = self._reading.units.progress
        told = count(self._within, _CALLERS, len(self._within), tell, str)
        return find_known(told, self._find_around)

    def _find_around(self, name: str, is_start: bool) -> list[str] | None:
        key = self._memos.key("around", name, is_start)
        kept = self._searches.recall([key]).get(key)
        if kept is None or self._memos.compare is not None:
            with self._searches.note() as noted:
                is_left = not is_start and self._reading.open_search([name]).is_offered_method(name)
                fresh = {"around": None if is_left else sorted(set(find_around(self.find_callers(name))))}
            self._searches.keep(key, fresh, noted, kept, f"callers of {name}")
            kept = fresh
        around: list[str] | None = kept["around"]
        return around

    def add(self, items: list[Unregistered]) -> list[Unregistered]:
        """The same items, each with what calls the function around it and what is asked along the way."""
        groups: dict[str, list[Unregistered]] = {}
        for item in items:
            groups.setdefault(item.within, []).append(item)
        keys = {
            within: self._memos.key("reached", within, [codec.encode(_describe(item)) for item in group])
            for within, group in groups.items()
        }
        kept = self._searches.recall(keys.values(), lambda plain: self._is_known_alike(plain["known"]))
        found: dict[str, Iterator[Reached]] = {}
        for within, group in count(groups.items(), _ASKED, len(groups), self._reading.units.progress, _name):
            plain = kept.get(keys[within])
            known = _decode(plain)
            if known is None or self._memos.compare is not None:
                known = self._add(group, keys[within], plain)
            found[within] = iter(known)
        return [_take(item, next(found[item.within])) for item in items]

    def _is_known_alike(self, asked: dict[str, bool]) -> bool:
        return all((name in self._known) is held for name, held in asked.items())

    def _add(self, group: list[Unregistered], key: str, kept: dict[str, Any] | None) -> list[Reached]:
        known = Known(self._known, self.find_callers)
        with self._searches.note() as noted:
            add = open_callers(known, self._reading.machine.modules)
            found = [_settle(add(item)) for item in group]
        fresh = {"known": dict(sorted(known.asked.items())), "found": [codec.encode(one) for one in found]}
        self._searches.keep(key, fresh, noted, kept, f"callers of {group[0].within}")
        return found


def _decode(plain: dict[str, Any] | None) -> list[Reached] | None:
    found = [codec.decode_kept(Reached, one) for one in plain["found"]] if plain is not None else [None]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


def _name(item: tuple[str, object]) -> str:
    return item[0]


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
