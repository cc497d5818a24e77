"""Inputs that are views: a matrix lies in memory the other way round, and its strides say so."""

from __future__ import annotations

from typing import Any

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.hold import Answered, find_wrong
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_shape


def show_views(on: Trial) -> Shown:
    """Silently wrong where the starting kernel is right is refused; a kernel that raises an error is honest."""
    stage = on.stage
    if stage.operator.contiguous:
        return
    with on.open_again(None, ()).loaded() as arm:
        wrong = find_misread(stage, arm)
    if wrong and on.start is not None:
        with on.open_start(None).loaded() as start:
            wrong = wrong if find_misread(stage, start) is None else None
    if wrong:
        raise wrong
    yield "keeps-contract", "transposed matrices, passed as views"


def find_misread(stage: Stage, arm: LiveArm) -> Fault | None:
    """What comes out wrong when every matrix of a call is a view."""
    memory: Any = arm.memory
    shape = stage.by_work[0]
    given = draw(stage, shape)
    for step in stage.operator.passes:
        (plain,) = arm.fill(step, given)
        filled = memory.turn(plain)
        if not filled.turned:
            continue
        memory.flush()
        try:
            reply = arm.worker.call((filled,))
        except Fault:
            return None  # it died of it: nobody takes that for an answer
        if reply.said or reply.status:
            continue
        right = dict(given.right)[step.name][0]
        wrong = find_wrong(stage, Answered(step, plain.inputs, filled.poison, memory.view_outputs(filled), right))
        if wrong:
            return Fault(
                "keeps-contract",
                f"{step.symbol} on {describe_shape(shape)}, given matrices that are views, is wrong and says nothing, where "
                f"the starting kernel is right: {wrong.reason}",
                f"their strides are those of a transposed matrix: {', '.join(filled.turned)}",
                *wrong.evidence,
            )
    return None
