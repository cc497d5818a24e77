"""Memory, threads and files: calls made over and over may not take ever more of them, nor too much at all."""

from __future__ import annotations

from itertools import pairwise

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.inputs import draw, draw_bare, repeat
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.values.describe import describe_shape

BATCH, REQUESTS, BLOCKS = 8, 4, 4
"""Calls to a request, requests to a block, blocks."""
HELD_CALLS = 4
"""How many of the largest call's buffers a process may keep beside what it may keep at all."""


def show_memory(on: Trial) -> Shown:
    """What is never given back was paid for by nobody."""
    stage, operator, arm = on.stage, on.stage.operator, on.trial
    is_shared = stage.device.shares_memory
    # groups of different sizes come in another order with each call, which may not cost memory either
    shape = min(stage.shapes, key=lambda shape: (-len(set(shape.groups)), operator.passes[0].flops(shape)))
    given = repeat(draw(stage, shape, count=BATCH))
    seen = []
    for _block in range(BLOCKS):
        seen.append(arm.worker.count_holdings())
        for _request in range(REQUESTS):
            for step in operator.passes:
                arm.run_unchecked(
                    step, given
                )  # where memory is everybody's, drawing and checking would be counted, too
            given = given if is_shared else draw_bare(stage, shape, count=BATCH)
    largest = max(arm.memory.footprint(step, one) for step in operator.passes for one in stage.shapes) >> 10
    for what, (least, most) in stage.device.pace.growth.items():
        counts = [holdings[what] for holdings in seen]
        allowed = max(1, len(on.beside)) * (most + HELD_CALLS * largest) if is_shared else most
        _refuse(what, counts, least, (max(counts) - on.unloaded.get(what, 0), allowed), describe_shape(shape))
    yield "bounded-memory", f"{', '.join(stage.device.pace.growth)} counted over blocks of calls, and against a limit"


def _refuse(what: str, counts: list[int], least: float, held: tuple[int, float], where: str) -> None:
    calls = BATCH * REQUESTS
    growth = min(later - sooner for sooner, later in pairwise(counts[1:]))  # the first block fills pools
    told = f"{what}, before each {calls} steps: {', '.join(map(str, counts))}"
    if growth >= least * calls:
        raise Fault("bounded-memory", f"Calls on {where} leave ever more {what} behind: nobody gives them back.", told)
    if held[0] > held[1]:
        raise Fault(
            "bounded-memory",
            f"After the calls on {where}, {held[0]} {what} are held that were not before; {held[1]:.0f} are allowed.",
            told,
        )
