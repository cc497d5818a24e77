"""Which places outside patches are told one by one, in `patches drift` as in a gap report."""

from __future__ import annotations

from layline.core.why import Reason
from layline.coupling.model import FAILING, Consequence, Coupling, State, Touch


def tells_elsewhere(item: Coupling) -> bool:
    """Whether a place outside patches is told: what surely breaks or fails already; of overrides, calls and
    caught imports also what may.
    """
    if item.consequence is Consequence.WILL_BREAK:
        return item.touch is not Touch.PATCH
    if item.consequence is Consequence.MAY_BREAK and find_try(item) is not None:
        return True
    if item.state in {*FAILING, State.TOO_NEW} or item.is_so_already:
        return item.consequence is Consequence.LOOK
    return item.consequence is Consequence.MAY_BREAK and item.touch in {Touch.OVERRIDE, Touch.CALL}


def find_try(item: Coupling) -> int | None:
    """The line of the `try` that catches a failing import."""
    return next((why.counts[0] for why in item.why if why.reason is Reason.CAUGHT), None)
