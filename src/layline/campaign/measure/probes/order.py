"""The order of the caller's stream: inputs made on it and outputs read on it, with nobody waiting for the device
between.
"""

from __future__ import annotations

from typing import Any

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.given import Given
from layline.campaign.measure.hold import Answered, find_wrong
from layline.campaign.measure.inputs import draw, draw_bare
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Pass

TURNS = 3
WAITED = 0.7
"""Of the time until the device had done everything: whoever returns only then has waited for it."""


def show_order(on: Trial) -> Shown:
    """A kernel that works on a stream of its own and waits for nobody reads inputs that are not there yet; one that waits
    for the device keeps its caller from going on.
    """
    stage = on.stage
    waiting = _find_waiting(stage, on.trial)
    for shape in stage.by_work[1:]:  # large ones may go another way
        given, stale = draw(stage, shape), draw_bare(stage, shape)
        for step in stage.operator.passes:
            _run_ordered(stage, on.trial, step, given, stale)
    told = f"inputs written and outputs read on the caller's stream around a call, without waiting, {TURNS} times"
    yield "stream-order", f"{told}, once on every larger shape"
    if on.start is None or not stage.device.has_events:
        return
    if waiting:
        with on.open_start(None).loaded() as start:
            also = _find_waiting(stage, start)
        waiting = [step for step in waiting if step not in also]
    if waiting:
        raise Fault(
            "keeps-contract",
            f"{waiting[0].symbol} on {describe_shape(stage.by_work[0])} returns only when the device has done everything that was "
            "asked of it before; the starting kernel returns at once: its caller can no longer work ahead of the device.",
            f"the same in each of {TURNS} calls behind work of some milliseconds on the same stream",
        )
    yield "keeps-contract", f"returned before the device had begun, {TURNS} times behind other work"


def _find_waiting(stage: Stage, arm: LiveArm) -> list[Pass]:
    """Passes that returned, every time, only when the device had nothing left to do."""
    shape, passes = stage.by_work[0], stage.operator.passes
    shares: dict[str, list[float]] = {step.name: [] for step in passes}
    for _turn in range(TURNS):
        given, stale = draw(stage, shape), draw_bare(stage, shape)
        for step in passes:
            shares[step.name].append(_run_ordered(stage, arm, step, given, stale))
    return [step for step in passes if min(shares[step.name]) > WAITED]


def _run_ordered(stage: Stage, arm: LiveArm, step: Pass, given: Given, stale: Given) -> float:
    """One call on the caller's stream: until its turn comes, other inputs lie on its places. The share of the time after
    which it returned.
    """
    memory: Any = arm.memory
    values = (stale.inputs[0], given.inputs[0], stale.inputs[0])
    call, staged, taken = (
        memory.fill(step, given.shape, memory.place(step, given.shape, stage.rng), inputs) for inputs in values
    )
    views = [dict(zip(step.buffers, memory.describe(one), strict=True)) for one in (call, staged, taken)]
    moves = (
        [[views[0][name], views[1][name]] for name in step.inputs],
        [[views[2][name], views[0][name]] for name in step.outputs],
    )
    memory.flush()
    share = float(arm.worker.order(call, moves))
    found, right = memory.view_outputs(taken), dict(given.right)[step.name][0]
    wrong = find_wrong(stage, Answered(step, given.inputs[0], taken.poison, found, right))
    if wrong:
        where = f"{step.symbol} on {describe_shape(given.shape)}"
        raise Fault(
            "stream-order",
            f"{where} does not keep the order of the stream it is called on: {wrong.reason}",
            "inputs were written on the caller's stream just before the call, outputs read on it right after",
            *wrong.evidence,
        )
    return share
