"""Calls of ours that bind: whether their result is taken apart into as many names as it has values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.why import Reason, Why
from layline.coupling.binding_kind import compare_returns, count_returned, declares_another
from layline.coupling.model import Consequence, State
from layline.coupling.states import Verdict

if TYPE_CHECKING:
    from layline.change.binding import CallShape
    from layline.change.compare import Comparer, Comparison
    from layline.coupling.place import Place

APART = 2
"""So many names take a result apart; one may hold it whole."""


def judge_taken(
    comparer: Comparer, place: Place, call: CallShape, found: Comparison, *, is_ours: bool
) -> Verdict | None:
    """Of a result that has another number of values at the tip, or at the pin already unless code of ours makes it."""
    change = None
    if call.taken is not None and (found.body_changed or declares_another(found)):
        change = compare_returns(found, comparer.pin, comparer.tip)
    if change is None or call.taken != change.before:
        return None if is_ours else _judge_today(comparer, place, call, found)
    consequence = Consequence.MAY_BREAK if place.guarded or not place.certain else Consequence.WILL_BREAK
    why = Why(Reason.RESULT_MISFITS, counts=change)
    return Verdict(state=State.NO_LONGER_BINDS, consequence=consequence, why=(why,))


def _judge_today(comparer: Comparer, place: Place, call: CallShape, found: Comparison) -> Verdict | None:
    if call.taken is None or call.taken < APART or place.guarded or not place.certain:
        return None
    before, after = count_returned(comparer.pin, found.before), count_returned(comparer.tip, found.after)
    if before is None or after is None or before == call.taken:
        return None
    late = after == call.taken
    reason = Reason.RESULT_TOO_NEW if late else Reason.RESULT_NEVER
    why = Why(reason, other=str(after), counts=(call.taken, before))
    return Verdict(state=State.TOO_NEW if late else State.NEVER_FITTED, consequence=Consequence.LOOK, why=(why,))
