"""Memory, threads and files: calls made over and over may not take ever more of them, nor too much at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.inputs import draw_bare, repeat, rescale
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import fit_shapes, walk_sizes
from layline.campaign.values.describe import describe_shape

BATCH, REQUESTS, BLOCKS = 8, 4, 4
"""Calls to a request, requests to a block, blocks."""
NEW = tuple(range(48, 240, 16))
NEW_BLOCK, NEW_ASIDE = 4, 128
"""Small shapes nobody listed, as well aligned as those that are listed; so many between two counts."""
HELD_CALLS = 4
"""How many of the largest call's buffers a process may keep beside what it may keep at all."""


def show_memory(on: Trial) -> Shown:
    """What is never given back was paid for by nobody."""
    stage, operator, arm = on.stage, on.stage.operator, on.trial
    is_shared = stage.device.shares_memory
    # groups of different sizes come in another order with each call, which may not cost memory either
    shape = min(stage.shapes, key=lambda shape: (-len(set(shape.groups)), operator.passes[0].flops(shape)))
    given = repeat(draw_bare(stage, shape, count=BATCH))
    seen = []
    for _block in range(BLOCKS):
        seen.append(arm.worker.count_holdings())
        for _request in range(REQUESTS):
            for step in operator.passes:
                arm.run_unchecked(
                    step, given
                )  # where memory is everybody's, drawing and checking would be counted, too
            given = given if is_shared else rescale(stage, given)
    met = list(_meet_new_shapes(on))
    largest = max(arm.memory.footprint(step, one) for step in operator.passes for one in stage.shapes) >> 10
    for what, (least, most) in stage.device.pace.growth.items():
        _refuse_kept(what, [holdings[what] for holdings in met], stage.device.pace.per_shape[what])
        counts = [holdings[what] for holdings in seen]
        allowed = max(1, len(on.beside)) * (most + HELD_CALLS * largest) if is_shared else most
        _refuse(what, counts, least, (max(counts) - on.unloaded.get(what, 0), allowed), describe_shape(shape))
    what = ", ".join(stage.device.pace.growth)
    yield "bounded-memory", f"{what} counted over blocks of calls, over new small shapes, and against a limit"


def _meet_new_shapes(on: Trial) -> Iterator[dict[str, int]]:
    """What is held before and after each few shapes that were never asked for."""
    stage = on.stage
    walk = tuple(walk_sizes(stage.operator, NEW, NEW_ASIDE))[: len(NEW)]  # along the first extent
    for at, shape in enumerate(fit_shapes(stage.operator, walk, stage.arena_bytes / 4)):
        if at % NEW_BLOCK == 0:
            yield on.trial.worker.count_holdings()
        given = draw_bare(stage, shape)
        for step in stage.operator.passes:
            on.trial.run_unchecked(step, given)
    yield on.trial.worker.count_holdings()


def _refuse_kept(what: str, counts: list[int], least: float) -> None:
    grown = [later - sooner for sooner, later in pairwise(counts)]
    if len(grown) > 2 and min(grown[1:]) >= least * NEW_BLOCK:
        raise Fault(
            "bounded-memory",
            f"Every new shape leaves more {what} behind, however small it is: sizes that change from call to call fill the memory.",
            f"{what}, before each {NEW_BLOCK} new shapes: {', '.join(map(str, counts))}",
        )


def _refuse(what: str, counts: list[int], least: float, held: tuple[int, float], where: str) -> None:
    calls = BATCH * REQUESTS
    growth = min(later - sooner for sooner, later in pairwise(counts[1:]))  # the first block fills pools
    told = f"{what}, before each {calls} steps: {', '.join(map(str, counts))}"
    if growth >= least * calls:
        raise Fault(
            "bounded-memory", f"Calls on {where} leave ever more {what} behind: they are never given back.", told
        )
    if held[0] > held[1]:
        raise Fault(
            "bounded-memory",
            f"After the calls on {where}, {held[0]} {what} are held that were not before; {held[1]:.0f} are allowed.",
            told,
        )
