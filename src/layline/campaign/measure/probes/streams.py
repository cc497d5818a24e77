"""Calls on several streams at once: what they share without waiting for one another spoils their answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.hold import Answered, find_wrong
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.oracle import Wrong
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import fit_shapes, walk_sizes
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Pass, Shape

CALLS = 8
SMALL, ASIDE = 512, 768
"""Small enough that calls of several streams fit on a device together."""
TURNS = 2


def show_streams(on: Trial) -> Shown:
    """From another thread, too, as backward passes are. What the starting kernel does right there the candidate must do."""
    wrong = _ask_candidate(on)
    if wrong and wrong.property == "keeps-contract":  # no answer in time: a late machine is not late twice
        wrong = _ask_candidate(on)
    if wrong and on.start is not None:
        with on.open_start(None).loaded() as start:
            wrong = wrong if find_spoilt(on.stage, start) is None else None
    if wrong:
        raise wrong
    yield "stream-order", f"{CALLS} calls on as many streams at once, from a thread that did not load the kernel"


def _ask_candidate(on: Trial) -> Fault | None:
    with on.open_again(None, ()).loaded() as arm:
        return find_spoilt(on.stage, arm)


def find_spoilt(stage: Stage, arm: LiveArm) -> Fault | None:
    """What is wrong when calls of one pass are made on streams of their own at the same time."""
    try:
        for shape in _choose(stage):
            for step in stage.operator.passes:
                for wrong in _run(stage, arm, step, shape):
                    told = f"{step.symbol} on {describe_shape(shape)}, called on {CALLS} streams at once from another thread, is wrong: {wrong.reason}"
                    return Fault("stream-order", told, "each call alone is right", *wrong.evidence)
    except Fault as fault:
        told = f"Called from a thread that did not load it, on {CALLS} streams at once: {fault.reason}"
        return Fault("keeps-contract", told, *fault.evidence)
    return None


def _choose(stage: Stage) -> Iterator[Shape]:
    """A small one, then the smallest that is listed."""
    small = next(fit_shapes(stage.operator, walk_sizes(stage.operator, (SMALL,), ASIDE), stage.arena_bytes / 4), None)
    for shape in (small, stage.by_work[0]):
        if shape is not None and stage.device.count_room(stage, shape) >= CALLS:
            yield shape


def _run(stage: Stage, arm: LiveArm, step: Pass, shape: Shape) -> Iterator[Wrong]:
    memory: Any = arm.memory
    for _turn in range(TURNS):
        given = draw(stage, shape, count=CALLS)
        filled = arm.fill(step, given)
        memory.flush()
        arm.worker.spread(filled)
        for one, right in zip(filled, dict(given.right)[step.name], strict=True):
            wrong = find_wrong(stage, Answered(step, one.inputs, one.poison, memory.view_outputs(one), right))
            if wrong:
                yield wrong
