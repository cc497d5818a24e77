"""One place, told once: what a drift row says of the body of its replacement is no place outside patches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from layline.core.evidence import Location, Severity
from layline.core.why import Reason
from layline.coupling.drift_model import Drift
from layline.coupling.model import Coupling, Touch

CALLS = frozenset({Reason.CALLS_REFUSING, Reason.TAKES_OTHER})
"""What is told of the calls that a replacement makes."""
_TOUCHES = frozenset({Touch.CALL, Touch.ATTRIBUTE})


def fold_told(couplings: Iterable[Coupling], rows: Iterable[Drift]) -> Iterator[Coupling]:
    """The same places without the lines that rows tell."""
    told = find_told(rows)
    for item in couplings:
        if item.touch not in _TOUCHES or not told:
            yield item
            continue
        path, word = item.location.path, _last(item.target)
        lines = [line for line in (item.location.line, *item.lines) if (Location(path, line), word) not in told]
        if lines:
            yield replace(item, location=Location(path, lines[0]), lines=tuple(lines[1:]))


def find_told(rows: Iterable[Drift]) -> dict[tuple[Location, str], Drift]:
    """Lines inside replacements of which a row says that they break, each with the last word of what is called or read
    there, and the row.
    """
    found: dict[tuple[Location, str], Drift] = {}
    for row in rows:
        if row.severity is not Severity.BREAKS or not row.active or row.dead_today or row.fails_already:
            continue
        calls = (part for part in row.problems if part.reason in CALLS)
        places = {(place, _last(part.name)) for part in calls for place in part.places}
        ours = row.effect.replacement_at if row.effect is not None else None
        reads = (item for item in row.lost if item.certain and item.why.reason is Reason.USES_GONE)
        places |= {(Location(ours.path, item.line), _last(item.name)) for item in reads if ours is not None}
        found |= {place: row for place in places if place[0] != row.location}
    return found


def find_row(told: Mapping[tuple[Location, str], Drift], location: Location, target: str) -> Drift | None:
    """The row that tells a line of ours which uses a name."""
    return told.get((location, _last(target)))


def _last(name: str) -> str:
    return name.rpartition(".")[2]
