"""One verdict for one place: a coupling that patches a name says what the drift of that patch found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from layline.core.drift import DriftKind, Fate
from layline.core.evidence import Location, Severity
from layline.core.finding import WORST_FIRST
from layline.coupling.drift_model import Drift
from layline.coupling.model import Consequence, Coupling, State, Touch, breaks_first

_CONSEQUENCES = {
    Severity.BREAKS: Consequence.WILL_BREAK,
    Severity.LOOK: Consequence.LOOK,
    Severity.OK: Consequence.OK,
}
_STATES = {
    DriftKind.MOVED: State.MOVED,
    DriftKind.RENAMED: State.RENAMED,
    DriftKind.REMOVED: State.REMOVED,
    DriftKind.BINDING_LOST: State.UNBOUND,
    DriftKind.BODY_CHANGED: State.BODY,
    DriftKind.UNCHANGED: State.OK,
}


def find_owned(patches: Iterable[Drift]) -> frozenset[tuple[Location, str]]:
    """Line and target of what a drift row decides: nobody else judges that place."""
    return frozenset((row.location, row.target) for row in patches if row.target is not None and _decides(row))


def _decides(row: Drift) -> bool:
    return row.kind.facts.fate is not Fate.OPEN


def agree_on_patches(couplings: Iterable[Coupling], patches: Iterable[Drift]) -> tuple[Coupling, ...]:
    """Couplings that patch a name take the verdict of the drift row of the same line and name; sorted again."""
    rows: dict[tuple[Location, str | None], Drift] = {}
    for row in sorted(patches, key=lambda row: WORST_FIRST.index(row.severity), reverse=True):
        rows[row.location, row.target] = row
    return tuple(sorted((_agree(one, rows) for one in couplings), key=breaks_first))


def _agree(one: Coupling, rows: dict[tuple[Location, str | None], Drift]) -> Coupling:
    row = rows.get((one.location, one.target)) if one.touch is Touch.PATCH else None
    if row is None or not _decides(row):
        return one
    breaks = row.severity is Severity.BREAKS
    state = _STATES.get(row.kind)
    if state is None:  # the signature changed: what our replacement makes of it decides
        state = State.CANNOT_ACCEPT if breaks else State.SIGNATURE
    elif state in {State.OK, State.BODY} and breaks:
        state = State.MISFIT
    consequence = _CONSEQUENCES[row.severity]
    if row.fails_already:
        state, consequence = State.NEVER_FITTED, Consequence.LOOK
    if one.guarded and consequence is Consequence.WILL_BREAK:
        consequence = Consequence.MAY_BREAK
    culprit = row.culprit.hash if row.culprit is not None else one.culprit
    return replace(one, state=state, consequence=consequence, why=row.reasons, culprit=culprit)
