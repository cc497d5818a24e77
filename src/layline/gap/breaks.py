"""What breaks, counted once: places of ours (`file:line`), and the upstream changes behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.coupling.model import Consequence
from layline.gap.overview import find_broken_places

if TYPE_CHECKING:
    from layline.gap.model import Gap, PatchRow


def find_places(gap: Gap) -> tuple[str, ...]:
    """Every place that breaks at the tip, in the order of the files."""
    return tuple(sorted(find_broken_places(gap.couplings, gap.patches or ())))


def find_further_patches(gap: Gap) -> list[PatchRow]:
    """Patches that break at places where no use of the upstream is listed as broken, one for each place."""
    told = {str(one.location) for one in gap.couplings if one.consequence is Consequence.WILL_BREAK}
    rows = [row for row in gap.patches or () if row.severity == "breaks" and row.active and row.location not in told]
    return list({row.location: row for row in reversed(rows)}.values())[::-1]


def count_touched(gap: Gap) -> int:
    """Places of ours that touch the upstream at all."""
    return len({str(one.location) for one in gap.couplings} | {row.location for row in gap.patches or ()})


def find_causes(gap: Gap) -> list[tuple[str, frozenset[str]]]:
    """Upstream changes (by pull request, else by commit) and the places each breaks, the weightiest first."""
    numbers = {commit: change.number for change in gap.changes.kept for commit in change.commits}
    found: dict[str, set[str]] = {}
    broken = [(one.culprit, str(one.location)) for one in gap.couplings if one.consequence is Consequence.WILL_BREAK]
    broken += [(row.culprit, row.location) for row in gap.patches or () if row.severity == "breaks" and row.active]
    for culprit, place in broken:
        if culprit is not None:
            number = numbers.get(culprit)
            found.setdefault(f"#{number}" if number else culprit[:8], set()).add(place)
    ordered = sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [(name, frozenset(places)) for name, places in ordered]
