"""Sizes well away from the listed ones, and not far: a gain that is there only round the listed sizes is not one."""

from __future__ import annotations

import math

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.final_checks import CARRY_FROM, CARRY_SHARE
from layline.campaign.measure.inputs import draw_by_chance
from layline.campaign.measure.pair import plan_count, time_calls
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.probes.time import SERIES
from layline.campaign.measure.sizes import find_shapes_between, fit_shapes
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Shape
from layline.campaign.values.statistics import quantile

REQUESTS = 7
CLEARLY = 2.0
"""So many times what is needed is believed after one series."""


def show_between(on: Trial) -> Shown:
    """A kernel may have its favourite sizes; one that gains nowhere but near the listed sizes is refused."""
    stage = on.stage
    listed = stage.by_work[len(stage.by_work) // 2]
    yield from ()
    assert on.best is not None  # noqa: S101  the probe needs a candidate
    arms = (on.trial, on.best)
    claimed = on.claimed.get(listed.label)  # the process pairs know it better than any series here
    if claimed is None:
        claimed = find_gain(math.inf, stage, arms, listed)
    if claimed < CARRY_FROM:
        return
    lost = []
    for shape in fit_shapes(stage.operator, find_shapes_between(listed, stage.rng), stage.arena_bytes / 4):
        found = find_gain(CARRY_SHARE * claimed, stage, arms, shape)
        if found >= CARRY_SHARE * claimed:
            return
        lost.append(f"{describe_shape(shape)}: {math.expm1(found):+.0%}")
    if lost:
        raise Fault(
            "gain-carries-over",
            f"The gain exists only near the listed sizes: {math.expm1(claimed):+.0%} on {describe_shape(listed)}, and less than "
            f"a quarter of it on any of {len(lost)} shapes of three fifths to five thirds of that size.",
            *lost,
            f"each was timed in {SERIES} series of {REQUESTS} requests of both kernels in turns",
        )


def find_gain(enough: float, stage: Stage, arms: tuple[LiveArm, LiveArm], shape: Shape) -> float:
    """The median of a series where it is twice enough; else of all three: a slow kernel is a tenth faster by chance."""
    found: list[float] = []
    for _series in range(SERIES):
        found += compare(stage, arms, shape)
        if quantile(found, 0.5) >= CLEARLY * enough:
            break
    return quantile(found, 0.5)


def compare(stage: Stage, arms: tuple[LiveArm, LiveArm], shape: Shape) -> list[float]:
    """Logarithms of the best's time over the candidate's, all passes together, on the same inputs one after the other. As in
    the process pairs, launching is not in it: a short kernel's gain would be lost in what every call costs.
    """
    count, found = 1, []
    for at in range(REQUESTS + 2):
        given = draw_by_chance(stage, shape, count=count)
        order = [arms[int(one)] for one in stage.rng.permutation(2)]
        costs = {one.arm: time_calls(stage, one, given, queues=at > 0) for one in order}
        if at < 2:  # the first may compile; the second tells how many calls make a request
            count = plan_count(stage, shape, max(costs.values()) / 1e6) if at else count
            continue
        found.append(math.log(costs[arms[1].arm] / costs[arms[0].arm]))
    return found
