"""Places of ours by the worst thing said about them: the numbers of the first line of a drift answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Severity
from layline.core.why import Reason
from layline.coupling.drift_model import Drift

if TYPE_CHECKING:
    from layline.patches.drift.elsewhere import Elsewhere

DEAD, LOOK, FITS = 2, 3, 4
"""The ranks of rows about what does nothing even at the pin, and of those that say nothing bad."""


@dataclass(frozen=True, slots=True)
class Places:
    """Places of ours by the worst thing said about them: one line of ours counts once."""

    total: int
    broken: int
    failing: int
    """Those that fail at the pin already."""
    dead: int
    look: int

    @property
    def fits(self) -> int:
        return self.total - self.broken - self.failing - self.dead - self.look


def count_places(rows: Iterable[Drift]) -> Places:
    """A place with several effects counts by its worst; what stands in for an upstream that is not installed is none."""
    return count_all(rows, ())


def count_all(rows: Iterable[Drift], elsewhere: Iterable[Elsewhere]) -> Places:
    """Places in patches and outside, as a gap report counts them; what fits outside patches is not known here."""
    worst: dict[Location, int] = {}
    for row in rows:
        if not stands_in(row):
            worst[row.location] = min(rank(row), worst.get(row.location, FITS))
    for item in elsewhere:
        bad = 1 if item.fails_already else 0 if item.severity is Severity.BREAKS else LOOK
        for place in item.places:
            worst[place] = min(bad, worst.get(place, FITS))
    ranks = list(worst.values())
    return Places(len(ranks), *map(ranks.count, range(FITS)))


def rank(row: Drift) -> int:
    """How bad a row is; the worst, what the upgrade breaks, is 0."""
    if row.fails_already:
        return 1
    if row.severity is Severity.BREAKS:
        return 0
    return DEAD if row.dead_today else LOOK if row.severity is Severity.LOOK else FITS


def stands_in(row: Drift) -> bool:
    """It runs only where upstream cannot be imported, and nothing is wrong with it."""
    return row.severity is Severity.OK and row.has(Reason.ONLY_WITHOUT)
