"""The balance: every candidate write of the downstream against what became of it in the inventory.

Candidates are counted from syntax alone (`source.sites`); the reader says of each line that it met what it took it for.
A line that neither a row nor a reason accounts for was not read, and that is said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.core.patch import Balance, Effect, Fate, Unregistered
from layline.interpreter.values import Class, Function, Inside, Instance, Items, Literal, Made, Outside, Table
from layline.source.sites import LOADERS

if TYPE_CHECKING:
    from layline.interpreter.events import Write
    from layline.source.facts import Facts

_MOST_PLACES = 12


def judge_silence(event: Write) -> Fate:
    """Why a write that was read makes no row."""
    if event.restores:
        return Fate.RESTORED
    match event.owner:
        case Outside(path=path) if path.startswith("os.environ"):
            return Fate.ENVIRONMENT
        case Outside(path="sys.modules"):
            return Fate.OWN  # a module of our own making
        case Outside():
            return Fate.MARK
        case Class() | Inside() | Instance() | Function() | Made() | Table() | Items() | Literal():
            return Fate.OWN
    return Fate.OBJECT


def judge_unlisted(effect: Effect, others: Callable[[Effect], bool]) -> Fate:
    """Why an effect is no row of this backend."""
    if others(effect):
        return Fate.ELSEWHERE
    if effect.target is None:
        variable = any(name.startswith("env:") for name in effect.mutates)
        return Fate.ENVIRONMENT if variable else Fate.OBJECT
    return Fate.SETTING


def find_lines(effect: Effect) -> Iterator[str]:
    """The line a row is told at, and that of the helper which makes it."""
    yield str(effect.location)
    if effect.helper is not None:
        yield str(effect.helper)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line that may change another package."""

    at: Location
    counts: bool
    """Even where no row tells it; the project's own names and settings of the standard library do not."""
    is_setting: bool
    """A constant put on a package that is no backend: such lines are not read."""


def find_candidates(
    facts: Mapping[str, Facts], owns: Callable[[str], bool], packages: tuple[str, ...]
) -> Iterator[Candidate]:
    tops = {package.partition(".")[0] for package in packages}
    for path, one in facts.items():
        for site in one.sites:
            top = site.root.partition(".")[0]
            is_loader = site.root in LOADERS
            is_ours = site.root.startswith(".") or top in sys.stdlib_module_names or owns(site.root)
            is_setting = site.plain and bool(top and tops) and not is_loader and top not in tops
            yield Candidate(Location(path, site.line), is_loader or not is_ours, is_setting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlisted:
    """What the readings say of lines that are no row of one backend."""

    registered: tuple[Effect, ...]
    """Effects of all patches, whichever backend they belong to."""
    strays: tuple[Unregistered, ...]
    silent: tuple[tuple[str, Fate], ...]
    """`path:line` of writes that make no effect, and why."""
    is_others: Callable[[Effect], bool]
    """Whether another backend lists it."""

    def find_fates(self) -> Iterator[tuple[str, Fate]]:
        for effect in self.registered:
            yield from ((line, Fate.ELSEWHERE) for line in find_lines(effect))
        for item in self.strays:
            fate = judge_unlisted(item.effect, self.is_others)
            yield from ((line, fate) for line in find_lines(item.effect))
        yield from self.silent


def strike_balance(candidates: Iterable[Candidate], listed: Sequence[Effect], unlisted: Unlisted) -> Balance:
    """What became of every candidate, rows on lines that syntax alone does not show among them; where two readings
    differ, the first counts.
    """
    fates: dict[str, Fate] = {}
    for line, fate in unlisted.find_fates():
        fates.setdefault(line, fate)
    found = {place: Fate.LISTED for effect in listed for place in (effect.location, effect.helper) if place is not None}
    for one in candidates:
        if one.counts and one.at not in found:
            found[one.at] = fates.get(str(one.at), Fate.SETTING if one.is_setting else Fate.NOT_READ)
    lines = {fate: sorted((at for at, one in found.items() if one is fate), key=_order) for fate in Fate}
    return Balance(
        candidates=len(found),
        fates=tuple((fate, len(lines[fate])) for fate in Fate if lines[fate]),
        unlisted=tuple((fate, tuple(lines[fate])) for fate in Fate if fate is not Fate.LISTED and lines[fate]),
    )


def _order(place: Location) -> tuple[str, int]:
    return place.path, place.line


def tell_unread(balance: Balance) -> Iterator[Skipped]:
    """What was counted and not read, so that nothing is left out in silence."""
    if balance.not_read:
        shown, rest = _show(balance.not_read)
        more = f" and {rest} more (`--format json` names all)" if rest else ""
        yield Skipped(
            "not followed",
            f"{len(balance.not_read)} of {balance.candidates} lines that may patch another package: {shown}{more}",
        )


def tell_examples(candidates: Iterable[Candidate]) -> Iterator[Skipped]:
    """Lines of examples that would be rows if they stood in the project's own code."""
    found = sorted({one.at for one in candidates if one.counts and not one.is_setting}, key=_order)
    if found:
        shown, rest = _show(found)
        more = f" and {rest} more" if rest else ""
        told = (
            f"they are not searched for patches; {len(found)} of their lines may change another package: {shown}{more}"
        )
        yield Skipped("examples", told)


def _show(places: Sequence[Location]) -> tuple[str, int]:
    """The first of them, and how many are left."""
    return ", ".join(map(str, places[:_MOST_PLACES])), max(0, len(places) - _MOST_PLACES)
