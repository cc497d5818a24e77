"""How the effects of `patches list` become the places of a drift answer: each effect counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.core.drift import UNCOMPARED, Uncompared
from layline.core.listing import Group
from layline.core.prose import count, listed, plural, verb
from layline.patches.drift.places import DEAD, FITS, count_places, rank, stands_in
from layline.patches.wanted import is_absent

if TYPE_CHECKING:
    from layline.coupling.drift_model import Drift
    from layline.patches.drift.report import DriftReport

_RANKS = {
    0: ("breaks", "break"),
    1: ("fails at the pin already", "fail at the pin already"),
    DEAD: ("does nothing", "do nothing"),
    3: ("needs a look", "need a look"),
    FITS: ("fits", "fit"),
}
"""What is said of one row, and of several, by their rank."""
_HELP = {Uncompared.NO_TARGET: " (`patches list --uncertain` lists them and says what helps)"}


def say_compared(drift: DriftReport) -> Iterator[str]:
    """How many effects of the list were compared with the tip, and why the others were not."""
    if drift.listed and Uncompared.FILTERED not in drift.uncompared:
        left = sum(drift.uncompared.values())
        judged = f"{drift.listed - left} of the {drift.listed} effects" if left else f"all {drift.listed} effects"
        judged = "the one effect" if (drift.listed, left) == (1, 0) else judged
        rest = "; why the others are not: see the end" if left else ""
        yield f"Compared: {judged} of {_name_list(drift)}{rest}."


def group_effects(drift: DriftReport, *, notes: bool) -> Iterator[Group]:
    """All effects of the list by what became of them; `notes`: what fits is shown, too."""
    rows = [row for row in drift.rows if row.effect is not None]
    if not drift.listed or Uncompared.FILTERED in drift.uncompared:
        return
    whole = "The one effect" if drift.listed == 1 else f"The {drift.listed} effects"
    yield Group(
        title=f"{whole} of {_name_list(drift)}:",
        counts=tuple(_count(drift, rows, notes=notes)),
        lines=(*_say_absent(rows), *_say_keys(drift)),
    )


def _name_list(drift: DriftReport) -> str:
    return f"`patches list`{f' with {drift.since} as the pin' if drift.since else ''}"


def _count(drift: DriftReport, rows: list[Drift], *, notes: bool) -> Iterator[tuple[int, str]]:
    if rows:
        yield len(rows), _say_compared(drift, rows, notes=notes)
    accepted = sum(row.effect is not None for row, _ in drift.accepted)
    if accepted:
        yield accepted, "accepted by the baseline"
    for reason, number in drift.uncompared.items():
        yield number, f"not compared: {UNCOMPARED[reason]}{_HELP.get(reason, '')}"


def _say_compared(drift: DriftReport, rows: list[Drift], *, notes: bool) -> str:
    ranks = Counter(rank(row) for row in rows if not stands_in(row))
    aside = sum(map(stands_in, rows))
    places = count_places(rows).total
    several = places != ranks.total()
    told = _say_ranks(ranks, "effect" if several else "")
    if ranks[FITS] and not notes:
        told[-1] += f" (`--severity note` lists {'it' if ranks[FITS] == 1 else 'them'})"
    if aside:
        told.append(f"{aside} only {'runs' if aside == 1 else 'run'} where {drift.label} is not installed (no place)")
    at = f", at {count(places, 'place')} (a place is one line of ours)" if several else ""
    return f"compared{at}: {', '.join(told)}"


def _say_ranks(ranks: Counter[int], noun: str = "") -> list[str]:
    """`noun`: what is counted, said once."""
    told = [(ranks[one], words[ranks[one] != 1]) for one, words in _RANKS.items() if ranks[one]]
    first = f" {noun if told[0][0] == 1 else plural(noun)}" if told and noun else ""
    return [f"{number}{'' if at else first} {does}" for at, (number, does) in enumerate(told)]


def _say_absent(rows: list[Drift]) -> Iterator[str]:
    """What became of effects that `patches list` counts as on missing names, where not all of them do nothing."""
    absent = [row for row in rows if row.effect is not None and is_absent(row.effect)]
    ranks = Counter(map(rank, absent))
    if absent and set(ranks) != {DEAD}:
        if len(absent) == 1:
            yield f"The pin does not have the target of one of those compared: that effect {_RANKS[rank(absent[0])][0]}."
            return
        yield f"The pin does not have the targets of {len(absent)} of those compared: {listed(_say_ranks(ranks))}."


def _say_keys(drift: DriftReport) -> Iterator[str]:
    if drift.read_keys:
        yield f"{count(drift.read_keys, 'more row')} {verb(drift.read_keys, 'is')} about config keys that our patches read."
