"""Is the best still what it was when it was accepted? Kernels can wait until nobody looks, and machines can change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from layline.campaign.values.measurement import Arm

if TYPE_CHECKING:
    from layline.campaign.ledger.state import Round, State
    from layline.campaign.values.measurement import Measurement

ALARM = 1.5
"""How many times as long the best may take as at its own acceptance, in the geometric mean over the shapes both runs
timed.
"""


def find_slower_best(state: State, item: Round) -> str:
    """One sentence where the best of this round's run took much longer than when it was accepted; else empty."""
    if item.number == 1 or item.last_run is None:
        return ""
    accepted = state.round(item.best)
    if accepted.last_run is None:
        return ""
    then, now = accepted.last_run.measurement, item.last_run.measurement
    if (then.environment.cpu, then.environment.accelerator) != (now.environment.cpu, now.environment.accelerator):
        return ""
    ratio = compare_times(_read(then, Arm.CANDIDATE if item.best > 1 else Arm.BEST), _read(now, Arm.BEST))
    if ratio is None or ratio < ALARM:
        return ""
    return (
        f"The best (round {item.best}) took {ratio:.1f} times as long in this run as when it was accepted, on the same processor. "
        "Either the machine is slower now, or that kernel is fast only at first: measure both, "
        f"`layline campaign {f'explain {item.best}' if item.best > 1 else 'measure'}`."
    )


def compare_times(then: dict[tuple[str, str], float], now: dict[tuple[str, str], float]) -> float | None:
    """Geometric mean of now over then, over what both have."""
    both = [key for key in now if key in then]
    if not both:
        return None
    return math.exp(math.fsum(math.log(now[key] / then[key]) for key in both) / len(both))


def _read(measurement: Measurement, arm: Arm) -> dict[tuple[str, str], float]:
    """The lowest low quantile of any process, by shape and pass: what the machine does to a call is least in it."""
    found: dict[tuple[str, str], float] = {}
    for sample in measurement.samples:
        if sample.leg is arm:
            key = (sample.shape, sample.step)
            timing = sample.cpu if measurement.plan.clock == "cpu" else sample.wall
            found[key] = min(found.get(key, math.inf), timing.low)
    return found
