"""What `patches drift` calls broken at a commit, as misfits of `upgrade check`: one judge, one answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.coupling.fold import fold_told
from layline.coupling.model import Consequence, Touch
from layline.patches.drift.elsewhere import TOUCHES
from layline.patches.drift.imports import find_failing_imports
from layline.upgrade.absolute import Judged, Standing
from layline.upgrade.judging import Between, is_broken

if TYPE_CHECKING:
    from collections.abc import Iterator


def add_compared(standing: Standing, between: Between) -> Standing:
    """The same with what only a comparison of the pin with that commit shows: each line of ours that it breaks."""
    known = standing.bad_lines
    added = {
        (one.location.path, one.location.line, one.target, one.way): one
        for one in _find_broken(between)
        if (one.location.path, one.location.line) not in known
    }
    fitting = (
        one
        for one in standing.places
        if one.fits and (one.location.path, one.location.line, one.target, one.way) not in added
    )
    misfits = sorted((*standing.misfits, *added.values()), key=lambda one: (one.location.path, one.location.line))
    return replace(standing, places=(*misfits, *fitting))


def _find_broken(between: Between) -> Iterator[Judged]:
    """What `Between.drift_lines` counts, a row for each."""
    for row in between.rows:
        if is_broken(row):
            yield Judged(
                location=row.location,
                target=row.target or "",
                way=Touch.PATCH.value,
                fits=False,
                why=row.detail,
                evidence=row.tip_evidence,
            )
    for item in fold_told(between.couplings, between.rows):
        if item.consequence is Consequence.WILL_BREAK and item.touch in TOUCHES:
            yield Judged(
                location=item.location,
                target=item.target,
                way=item.touch.value,
                fits=False,
                why=item.detail or item.state.value,
                evidence=item.tip_evidence,
            )
    for one in find_failing_imports(between.rows):
        yield Judged(
            location=one.location,
            target=one.target,
            way=Touch.IMPORT.value,
            fits=False,
            why=one.detail,
            evidence=one.tip_evidence,
        )
