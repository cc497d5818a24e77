"""What fails in a replacement of ours before any upgrade."""

from __future__ import annotations

from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.why import FAILS_STILL, Reason, Why


def tell_today(parts: tuple[Why, ...]) -> Finding:
    """What fails in our replacement today already: as bad as a line outside patches that does, unless the tip mends
    it.
    """
    still = any(one.reason in FAILS_STILL for one in parts)
    severity = Severity.BREAKS if still else Severity.LOOK
    return Finding(severity=severity, why=Why(Reason.MISREADS_TODAY, parts=parts))
