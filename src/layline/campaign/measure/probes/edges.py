"""Inputs that end where memory ends: whoever reads beyond one, by whatever instruction, does not survive it."""

from __future__ import annotations

from dataclasses import replace

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.inputs import draw, repeat
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Pass, Shape


def show_edges(on: Trial) -> Shown:
    """Every input of every pass in turn, on every listed shape: the same call in the middle of the memory, then at its
    end.
    """
    stage = on.stage
    for shape in stage.by_work:
        for step in stage.operator.passes:
            for name in (one for one in step.inputs if one not in step.outputs):
                _call_at_end(on, stage, step, shape, name)
    yield "memory-safe", "every input once at the end of the mapped memory"


def _call_at_end(on: Trial, stage: Stage, step: Pass, shape: Shape, name: str) -> None:
    arm, given = on.trial, draw(stage, shape, step=step)
    arm.run(step, given)
    arm.put_at_end(step, shape, name)
    try:
        arm.run(step, replace(repeat(given), on_same_place=True))
    except Fault as fault:
        if fault.property != "survives":
            raise
        raise Fault(
            "memory-safe",
            f"{step.symbol} on {describe_shape(shape)} reads beyond the end of its input {name}: where memory ends with "
            "that input the process dies, and elsewhere the same call on the same values is right.",
            fault.reason,
            *fault.evidence,
        ) from None
