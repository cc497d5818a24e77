"""How a value of ours leads to a member of upstream's over others, and where that road ends at the tip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layline.coupling.place import Place, Road
from layline.coupling.value_chains import Step, ValueChains
from layline.source.resolve import Resolver


def find_road(start: str, names: Sequence[str], steps: Sequence[Step]) -> Road | None:
    """The road to the last member of some steps, where it is longer than one attribute."""
    last = max((at for at, one in enumerate(steps) if not one.instance), default=-1)
    length = sum(one.taken for one in steps[:last]) + 1
    if last < 1:
        return None
    members: list[str] = []
    for one in steps[: last + 1]:
        members += ["" if one.instance else one.target, *([""] * (one.taken - 1))]
    return Road(start, tuple(names[:length]), tuple(members[:length]))


def follow_at_tip(place: Place, chains: ValueChains, tip: Resolver) -> Place | None:
    """The place as its road runs at the tip: the first member that is not there, or the place as it is; None where the
    road leads to a member of another class by now.
    """
    home = tip.resolve(place.road.start).home if place.road is not None else None
    if place.road is None or home is None:
        return place
    at, on, names = 0, home, place.road.names
    for step in chains.follow(home, names):
        at, on = at + step.taken, step.holds or ""
    is_gone = not tip.resolve(place.target).exists
    if at >= len(names):
        return None if is_gone else place
    if not on:  # something on the way is of no class that is known
        return replace(place, certain=False) if is_gone else place
    lost = place.road.members[at]
    return replace(place, target=lost) if lost and not tip.resolve(lost).exists else place
