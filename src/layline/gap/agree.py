"""One answer for one place: what the drift of a patch proves is also what its coupling says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.coupling.model import Consequence, Coupling, State, Touch, breaks_first

if TYPE_CHECKING:
    from layline.gap.model import PatchRow

_CONSEQUENCES = {"breaks": Consequence.WILL_BREAK, "look": Consequence.LOOK, "ok": Consequence.OK}
_STATES = {
    "moved": State.MOVED,
    "renamed": State.RENAMED,
    "removed": State.REMOVED,
    "binding-lost": State.UNBOUND,
    "body-changed": State.BODY,
    "unchanged": State.OK,
}
_WORST_FIRST = ("breaks", "look", "ok")


def agree_on_patches(couplings: Iterable[Coupling], patches: Iterable[PatchRow]) -> tuple[Coupling, ...]:
    """Couplings that patch a name take the verdict of the drift row of the same line and name; sorted again."""
    rows: dict[tuple[str, str], PatchRow] = {}
    for row in sorted(patches, key=lambda row: _WORST_FIRST.index(row.severity), reverse=True):
        rows[row.location, row.target.rpartition(".")[2]] = row
    return tuple(sorted((_agree(one, rows) for one in couplings), key=breaks_first))


def _agree(one: Coupling, rows: dict[tuple[str, str], PatchRow]) -> Coupling:
    row = rows.get((str(one.location), one.target.rpartition(".")[2])) if one.touch is Touch.PATCH else None
    if row is None or row.kind in {"external", "unresolved", "dead-at-pin"}:
        return one
    state = _STATES.get(row.kind)
    if state is None:  # the signature changed: what our replacement makes of it decides
        state = State.CANNOT_ACCEPT if row.severity == "breaks" else State.SIGNATURE
    elif state in {State.OK, State.BODY} and row.severity == "breaks":
        state = State.MISFIT
    lines = next((part for part in one.detail.split("; ") if part.startswith("also line")), "")
    detail = "; ".join(part for part in (row.detail, lines) if part)
    consequence = _CONSEQUENCES[row.severity]
    if one.guarded and consequence is Consequence.WILL_BREAK:
        consequence = Consequence.MAY_BREAK
    return replace(one, state=state, consequence=consequence, detail=detail, culprit=row.culprit or one.culprit)
