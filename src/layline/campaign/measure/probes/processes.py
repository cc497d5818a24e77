"""Checks of a candidate that would be accepted: many new processes, and every extent beyond every listed one at once."""

from __future__ import annotations

import os
from dataclasses import replace

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.crew import live
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import find_largest_shape
from layline.campaign.measure.stage import Stage
from layline.campaign.values.operator import Operator, Shape

MOST_BYTES, MEMORY_SHARE = 256e6, 1 / 16
MOST_FLOPS = 5e9
CONFIDENCE = 0.95
SPARE = 1 << 22
"""Beside the buffers: guards, and gaps whose size nobody can guess."""
TOGETHER = 4
"""New processes that start at once."""
CALLS = 2
"""In one request."""


def show_processes(on: Trial) -> Shown:
    """A call of every pass in new processes: a kernel that is wrong in some of them cannot count on being asked in
    others.
    """
    stage, fresh = on.stage, on.stage.device.pace.fresh
    shape = stage.by_work[0]
    size = find_room(stage.operator, shape, calls=CALLS) if stage.device.pace.whole else None
    for first in range(0, fresh, TOGETHER):
        opened = [on.open_again(size, (), is_stale=at % 2 == 1) for at in range(min(TOGETHER, fresh - first))]
        with live(opened) as arms:
            for number, arm in enumerate(arms, on.processes + first):
                arm.worker.load()
                _call_once(stage, arm, shape, number)
    count = on.processes + fresh - 1
    told = f"right in {count} processes, in some of which allocated memory had been used before"
    yield (
        "every-process",
        f"{told}; with {CONFIDENCE:.0%} confidence fewer than {bound_rate(count):.0%} of all processes are wrong",
    )


def _call_once(stage: Stage, arm: LiveArm, shape: Shape, number: int) -> None:
    given = draw(stage, shape, count=CALLS)
    try:
        for step in stage.operator.passes:
            arm.run(step, given)
    except Fault as fault:
        told = f"In process {number} of this run: {fault.reason}"
        stale = (
            "in every second one allocated memory holds what was in it before, as in a program that has run for a while"
        )
        raise Fault("every-process", told, *fault.evidence, "the processes before were right", stale) from None


def find_room(operator: Operator, shape: Shape, *, calls: int) -> int:
    """Bytes of memory in which so many calls of one request do not meet: what is left at the end may be too small for one
    more.
    """
    return SPARE + int(1.2 * (calls + 1) * operator.count_bytes(shape))


def bound_rate(right: int) -> float:
    """The largest share of wrong processes that so many right ones in a row leave possible."""
    return float(1 - (1 - CONFIDENCE) ** (1 / right))


def show_largest(on: Trial) -> Shown:
    """Once, as large as this machine allows: work areas for the listed sizes are too small for this one."""
    stage, operator = on.stage, on.stage.operator
    page, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_AVPHYS_PAGES")
    shape = find_largest_shape(operator, min(MOST_BYTES, MEMORY_SHARE * page * pages), MOST_FLOPS)
    if shape is None:
        on.left_out["largest extents"] = "needs a shape beyond the listed ones, and the operator allows none"
        return
    with on.open_again(find_room(operator, shape, calls=1), ()).loaded() as arm:
        given = replace(draw(stage, shape), is_held_out=True)
        for step in operator.passes:
            arm.run(step, given)
    sizes = ", ".join(f"{name}={value}" for name, value in shape.sizes)
    yield "held-out-shape", f"{sizes} at once"
