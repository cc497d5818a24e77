"""A quick look at many settings of one kernel, to choose which one deserves a round.

Screening decides nothing: calls are checked, but few, and times come from single processes. Whatever it picks goes
through the same gate as any other proposal.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.arm import LiveLeg, Setup
from layline.campaign.measure.build import Built, NotBuilt, build_kernel, workshop
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.run import ARENA_BYTES
from layline.campaign.proposers.screen_gpu import screen_device
from layline.campaign.proposers.screened import TODAY, Screened
from layline.campaign.values.model import Leg, Operator, Plan, Shape, Snapshot

if TYPE_CHECKING:
    import numpy as np

KEEP = 3
"""Of every so many candidates one goes on to the next, longer look."""


def screen(
    operator: Operator,
    shapes: tuple[Shape, ...],
    candidates: dict[str, Snapshot],
    *,
    calls: tuple[int, ...] = (3, 8, 24),
    may_go_on: Callable[[], bool] = lambda: True,
) -> list[Screened]:
    """Successive halving: a short look at all, longer ones at the better third; fastest first, failures last."""
    if operator.language == "triton":
        return screen_device(operator, shapes, candidates, may_go_on)
    import numpy as np

    rng = np.random.default_rng(int.from_bytes(secrets.token_bytes(16), "big"))
    remaining, failed = dict(candidates), []
    ranked: list[Screened] = []
    out: list[Screened] = []
    with workshop() as shop:
        setup = Setup(operator=operator, shapes=shapes, plan=Plan(), shop=shop, arena_bytes=ARENA_BYTES)
        builts: dict[str, Built | NotBuilt] = {}
        for count in calls:
            looked = []
            for name, snapshot in remaining.items():
                if may_go_on():
                    builts[name] = builts.get(name) or build_kernel(snapshot, operator, shop)
                    looked.append(_look(setup, name, builts[name], count, rng))
            if not any(item.name == TODAY for item in looked) and ranked:
                break  # the time ran out before the yardstick was seen: the look before this one counts
            failed += [item for item in looked if item.score is None]
            ranked = sorted((item for item in looked if item.score is not None), key=lambda item: item.score or 0.0)
            kept = {TODAY, *(item.name for item in ranked[: max(2, math.ceil(len(ranked) / KEEP))])}
            remaining = {name: snapshot for name, snapshot in remaining.items() if name in kept}
            if count != calls[-1]:
                out += [replace(item, is_out=True) for item in ranked if item.name not in kept]
    return [*ranked, *out, *failed]


def _look(setup: Setup, name: str, built: Built | NotBuilt, calls: int, rng: np.random.Generator) -> Screened:
    if isinstance(built, NotBuilt):
        return Screened(
            name=name, score=None, reason=f"does not build: {built.reason.splitlines()[-1] if built.reason else ''}"
        )
    try:
        with ExitStack() as stack:
            leg = stack.enter_context(LiveLeg(Leg.CANDIDATE, built, setup, rng))
            leg.worker.load()
            logs = [math.log(_fastest(setup, leg, shape, calls, rng)) for shape in setup.shapes]
    except Fault as fault:
        return Screened(name=name, score=None, reason=str(fault))
    return Screened(name=name, score=math.fsum(logs) / len(logs))


def _fastest(setup: Setup, leg: LiveLeg, shape: Shape, calls: int, rng: np.random.Generator) -> float:
    """Least CPU milliseconds of a whole step; the first is warm-up."""
    operator = setup.operator
    times = []
    for _ in range(calls + 1):
        given = draw(operator, shape, rng, operator.distributions[0], count=2)
        times.append(sum(leg.run(step, given).cpu_ns for step in operator.passes) / 1e6)
    return max(min(times[1:]), 1e-6)
