"""Whether the host keeps pace: where calls are queued, launching them is not in their time, and must not become what the
gain is paid with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from layline.campaign.measure.pair import PairRun
from layline.campaign.values.measurement import Arm, GateResult
from layline.campaign.values.statistics import quantile

PACE_SHARE, PACE_FREE_MS = 0.25, 0.01
"""How much longer calls that follow one another without a pause may take than those of the kernel to beat."""


def check_launching(pairs: Sequence[PairRun]) -> GateResult | None:
    """Calls made one after the other take what launching takes or what the device takes, whichever is longer: that may not
    be longer than it was. Nothing where no calls were queued.
    """
    shapes = sorted({shape for pair in pairs for arm, shape, _step in pair.launches if arm is Arm.CANDIDATE})
    paces = [(one, _find_pace(pairs, Arm.BEST, one), _find_pace(pairs, Arm.CANDIDATE, one)) for one in shapes]
    found = [(shape, old, new) for shape, old, new in paces if min(old[0], new[0]) > 0]
    told = [
        f"{shape}: launching a call takes {new[0] * 1e3:.0f} µs of the host, {old[0] * 1e3:.0f} of the kernel to beat; the device "
        f"needs {new[1] * 1e3:.0f} and {old[1] * 1e3:.0f} µs"
        for shape, old, new in found
    ]
    if not told:
        return None
    slow = [shape for shape, old, new in found if max(new) > (1 + PACE_SHARE) * max(old) + PACE_FREE_MS]
    reason = "Launching a call takes no longer than is allowed."
    if slow:
        reason = f"The gain costs host time: back-to-back calls of {', '.join(slow)} take longer than before."
    return GateResult(property="keeps-pace", passed=not slow, reason=reason, evidence=tuple(told))


def _find_pace(pairs: Sequence[PairRun], arm: Arm, shape: str) -> tuple[float, float]:
    """Milliseconds of a whole step: to launch it, and on the parent's clock once it is launched."""
    steps = sorted({step for pair in pairs for of, at, step in pair.launches if of is arm and at == shape})
    launch = [[one for pair in pairs for one in pair.launches[arm, shape, step]] for step in steps]
    wall = [[one for pair in pairs for _own, one in pair.times[arm, shape, step]] for step in steps]
    if not steps or any(min(one) <= 0 for one in launch):
        return 0.0, 0.0
    return math.fsum(quantile(one, 0.5) for one in launch), math.fsum(quantile(one, 0.5) for one in wall)
