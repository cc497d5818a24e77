"""What of an inventory is held against two refs, one by one, and what was said about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layline.core.drift import Uncompared
from layline.core.evidence import Location
from layline.core.patch import Effect, Inventory, Patch, Style, Unregistered
from layline.coupling.drift_model import Drift
from layline.coupling.idle import find_idle
from layline.source.names import parents


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """One thing of an inventory that is judged: an effect, or (without one) the config keys that a patch reads."""

    patch: Patch
    effect: Effect | None
    registered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was said about one subject."""

    rows: tuple[Drift, ...] = ()
    obstacle: Uncompared | None = None
    """Why it was not compared."""


def find_subjects(inventory: Inventory) -> Iterator[Subject]:
    """All that is judged, in the order of the inventory."""
    for patch in inventory.patches:
        yield from (Subject(patch, effect) for effect in _drop_repeats(patch))
        yield Subject(patch, None)
    idle = find_idle(inventory)
    for item in inventory.unregistered:
        yield Subject(_unregistered(item, idle), item.effect, registered=False)


def count_uncompared(inventory: Inventory, judged: Iterable[Judged]) -> Counter[Uncompared]:
    """How many effects of the list are no row, and why."""
    repeats = sum(len(patch.effects) - sum(1 for _ in _drop_repeats(patch)) for patch in inventory.patches)
    found = Counter(one.obstacle for one in judged if one.obstacle is not None)
    return +(Counter({Uncompared.REPEATED: repeats}) + found)


def _drop_repeats(patch: Patch) -> Iterator[Effect]:
    seen: set[tuple[str | None, Style, Location]] = set()
    for effect in patch.effects:
        if (effect.target, effect.style, effect.location) not in seen or effect.anchors or effect.mutates:
            seen.add((effect.target, effect.style, effect.location))
            yield effect


def _unregistered(item: Unregistered, idle: frozenset[str]) -> Patch:
    """Effects outside any registration are listed under the function or module that does them."""
    name = next((name for name in (item.within, *parents(item.within)) if name in idle), None)
    return Patch(
        id=item.within,
        backend=None,
        phase=None,
        priority=None,
        location=item.effect.location,
        handler=item.within,
        handler_lines=(item.effect.location.line, item.effect.location.line),
        active=name is None,
        active_reason=f"nothing registers, calls or passes on {name}" if name is not None else "",
    )
