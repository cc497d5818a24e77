"""Checks of a candidate that would be accepted: many new processes, and every extent beyond every listed one at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.arm import LiveLeg, Setup
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.placement import Placements
from layline.campaign.measure.sizes import find_largest_shape
from layline.campaign.values.model import Leg

if TYPE_CHECKING:
    import numpy as np

FRESH = 12
"""New processes with a call of every pass each, beside those of the process pairs."""
MOST_BYTES, MEMORY_SHARE = 256e6, 1 / 16
MOST_FLOPS = 5e9
CONFIDENCE = 0.95


def probe_processes(
    setup: Setup, places: Placements, rng: np.random.Generator, before: int
) -> Iterator[tuple[str, str]]:
    """A call of every pass in new processes: a kernel that is wrong in some of them cannot count on being asked in others."""
    operator = setup.operator
    shape = min(setup.shapes, key=operator.passes[0].flops)
    small = replace(setup, arena_bytes=min(setup.arena_bytes, 1 << 22))
    for number in range(FRESH):
        given = draw(operator, shape, rng, operator.distributions[0], count=2)
        with LiveLeg(Leg.CANDIDATE, places.draw(), small, rng) as leg:
            leg.worker.load()
            try:
                for step in operator.passes:
                    leg.run(step, given)
            except Fault as fault:
                told = f"In process {before + number + 1} of this run: {fault.reason}"
                raise Fault("every-process", told, *fault.evidence, "the processes before were right") from None
    count = before + FRESH
    yield (
        "every-process",
        f"right in {count} processes: wrong in fewer than {bound_rate(count):.0%} of them, with {CONFIDENCE:.0%}",
    )


def bound_rate(right: int) -> float:
    """The largest share of wrong processes that so many right ones in a row leave possible."""
    return float(1 - (1 - CONFIDENCE) ** (1 / right))


def probe_largest(setup: Setup, places: Placements, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Once, as large as this machine allows: work areas for the listed sizes are too small for this one."""
    operator = setup.operator
    page, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_AVPHYS_PAGES")
    shape = find_largest_shape(operator, min(MOST_BYTES, MEMORY_SHARE * page * pages), MOST_FLOPS)
    room = int(1.2 * max(step.bytes_moved(shape) for step in operator.passes)) + (1 << 22)
    with LiveLeg(Leg.CANDIDATE, places.draw(), replace(setup, arena_bytes=room), rng) as leg:
        leg.worker.load()
        given = replace(draw(operator, shape, rng, operator.distributions[0]), is_held_out=True)
        for step in operator.passes:
            leg.run(step, given)
    yield (
        "held-out-shape",
        f"neighbours, far and empty extents, a walk, and {', '.join(f'{n}={v}' for n, v in shape.sizes)} at once",
    )
