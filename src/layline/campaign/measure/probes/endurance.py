"""Thousands of calls in one process: whoever is right or fast only in a young process shows it here."""

from __future__ import annotations

import time
from itertools import pairwise

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.inputs import draw, draw_bare, draw_by_chance
from layline.campaign.measure.pair import plan_count, time_calls
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.probes.time import SERIES
from layline.campaign.measure.stage import ACCOUNT, Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Shape
from layline.campaign.values.statistics import quantile

LEAST, MOST = 3000, 6000
"""Calls, drawn anew each time: nobody knows when it is over."""
LIMIT_S, PATIENCE = 4.0, 3
"""A slow kernel makes fewer; on a busy machine so many times as long is spent on the fewest."""
TOGETHER = 32
"""Calls to a request; all passes' buffers lie there at once."""
WARM_UPS, TIMED = 3, 6
SLOWER = 1.3
SAMPLED = 256
"""Calls between two counts of memory."""
PARTS, KEPT_BYTES, KEPT_KIB = 4, 16, 16
"""Parts of the calls, of which the first half fills pools; what a process may keep of a call, and of a part."""


def show_ageing(on: Trial) -> Shown:
    """Age a process by calls nobody looks at; then it must be right on every shape."""
    stage, arm = on.stage, on.trial
    on.aged, held = age(stage, arm, stage.by_work[0])
    if not stage.device.shares_memory:
        refuse_slow_growth(held, on.aged, describe_shape(stage.by_work[0]))
    try:
        for one in stage.by_work:
            for step in stage.operator.passes:
                arm.run(step, draw(stage, one, step=step))
    except Fault as fault:
        told = f"After {on.aged} calls of one process (the first calls were right): {fault.reason}"
        raise Fault("endures", told, *fault.evidence) from None
    yield from ()


def show_endurance(on: Trial) -> Shown:
    """The process that has become old must be as fast as a new one."""
    shape = on.stage.by_work[0]
    told = [_compare_with_new(on, shape)]
    if told[0] is not None:  # processes differ: what is slower than one new process must be slower than another
        told.append(_compare_with_new(on, shape))
    if None not in told:
        old, new = told[-1] or (0.0, 0.0)
        raise Fault(
            "endures",
            f"On {describe_shape(shape)} a call takes {old:.3g} ms in a process that has made {on.aged} calls, and {new:.3g} ms in "
            "a new one: the gain does not last.",
            f"the same beside {len(told)} new processes, in {SERIES} series of {TIMED} requests each, in turns",
        )
    yield "endures", f"right on every shape, and as fast as a new process, after {on.aged} calls on {shape.label}"


def age(stage: Stage, arm: LiveArm, shape: Shape) -> tuple[int, list[int]]:
    """Make many calls without looking at them; how many, and the KiB held before, in between and after."""
    together = max(1, min(TOGETHER, stage.device.count_room(stage, shape) // len(stage.operator.passes)))
    given = draw_bare(stage, shape, count=together)
    laid = [arm.fill(step, given) for step in stage.operator.passes]
    wanted, made, began = int(stage.rng.integers(LEAST, MOST)), 0, time.monotonic()
    held = [_count_kib(arm)]
    while made < wanted and time.monotonic() - began < LIMIT_S * (PATIENCE if made < LEAST else 1):
        for filled in laid:
            arm.worker.call(filled)
        made += together
        if made % SAMPLED < together:
            held.append(_count_kib(arm))
    return made, held


def _count_kib(arm: LiveArm) -> int:
    return int(arm.worker.count_holdings().get("KiB of memory", 0))


def refuse_slow_growth(held: list[int], made: int, where: str) -> None:
    """A little for each call is too little to show in few calls, but in thousands it is steady."""
    marks = [held[at * (len(held) - 1) // PARTS] for at in range(PARTS + 1)]
    grown = [later - sooner for sooner, later in pairwise(marks)][PARTS // 2 :]
    if len(held) > PARTS and min(grown) >= max(KEPT_KIB, KEPT_BYTES * made / PARTS / 1024):
        raise Fault(
            "bounded-memory",
            f"Calls on {where} leave a little memory behind each time: it is never freed.",
            f"KiB held before, in and after {made} calls: {', '.join(map(str, marks))}",
        )


def _compare_with_new(on: Trial, shape: Shape) -> tuple[float, float] | None:
    """Milliseconds a call in the old process and in a new one, where every series shows the old one slower."""
    with on.open_again(None, ()).loaded() as fresh:
        if ACCOUNT in on.stage.device.gives:
            fresh.worker.pin(on.trial.worker.cores)
        for _series in range(SERIES):
            old, new = _time(on.stage, (on.trial, fresh), shape)
            if old <= SLOWER * new:
                return None
    return old, new


def _time(stage: Stage, arms: tuple[LiveArm, LiveArm], shape: Shape) -> tuple[float, float]:
    """Milliseconds a call of all passes, of the old process and of the new, on the same inputs in turns."""
    count, most = 1, max(1, min(stage.device.pace.control_calls, stage.device.count_room(stage, shape)))
    costs: tuple[list[float], list[float]] = ([], [])
    cost = 0.0
    for at in range(WARM_UPS + TIMED):
        count = min(most, plan_count(stage, shape, cost)) if at == 2 else count  # the first may compile
        given = draw_by_chance(stage, shape, count=count)
        for one, kept in zip(arms, costs, strict=True):
            cost = time_calls(stage, one, given) / 1e6
            kept.extend([cost] if at >= WARM_UPS else [])
    return quantile(costs[0], 0.25), quantile(costs[1], 0.25)
