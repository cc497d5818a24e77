"""Time on other values than the timed ones: a kernel that is fast on tame numbers alone may not be a loss on the
others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.arm import LiveLeg, Setup
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.probes.calls import SERIES
from layline.campaign.values.describe import describe_inputs, describe_shape
from layline.campaign.values.model import Shape
from layline.campaign.values.statistics import quantile

if TYPE_CHECKING:
    import numpy as np

VALUE_CALLS = 4
VALUE_GAIN, VALUE_LOSS = 1.1, 1.3
"""A gain on the timed values from which, and a loss on others from which, it is looked at."""


def probe_values(setup: Setup, leg: LiveLeg, best: LiveLeg, rng: np.random.Generator) -> None:
    """Where the timed values show a gain, no other distribution may show a loss by a third, each three times in a
    row.
    """
    operator = setup.operator
    ordered = sorted(setup.shapes, key=operator.passes[0].flops)
    shape = ordered[len(ordered) // 2]
    for _series in range(SERIES):
        claimed = _compare(setup, (leg, best), shape, operator.distributions[0], rng)
        if claimed < VALUE_GAIN:
            return
    for kind in operator.distributions[1:]:
        for _series in range(SERIES):
            found = _compare(setup, (leg, best), shape, kind, rng)
            if found * VALUE_LOSS > 1:
                break
        else:
            raise Fault(
                "gain-carries-over",
                f"On {describe_shape(shape)} the kernel is {claimed:.1f} times as fast as the best on the timed "
                "values, but on "
                f"others it takes {1 / found:.1f} times as long: {describe_inputs(kind)}.",
                f"so it was in {SERIES} series of {VALUE_CALLS} calls, one after the other",
            )


def _compare(setup: Setup, legs: tuple[LiveLeg, LiveLeg], shape: Shape, kind: str, rng: np.random.Generator) -> float:
    """CPU time of the best over the candidate's, all passes together, calls in turns on the same inputs."""
    operator = setup.operator
    costs: dict[bool, list[float]] = {True: [], False: []}
    for _call in range(VALUE_CALLS):
        given = draw(operator, shape, rng, kind)
        for one in legs:
            costs[one is legs[0]].append(sum(one.run(step, given).cpu_ns for step in operator.passes))
    return quantile(costs[False], 0.25) / quantile(costs[True], 0.25)
