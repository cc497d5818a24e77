"""A quick look at many settings of a Triton kernel: all compile side by side, then each is timed alone.

Screening decides nothing: whatever it picks goes through the same gate as any other proposal.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from layline.campaign.build import NotBuilt, workshop
from layline.campaign.gpu.leg import GpuLeg
from layline.campaign.gpu.measure import check_device, plan_device
from layline.campaign.gpu.stage import Stage, draw_given, find_arena_bytes, take_kernel
from layline.campaign.link import Fault
from layline.campaign.model import Leg, Operator, Shape, Snapshot
from layline.campaign.operators.tensors import find_device
from layline.campaign.proposers.screen import Screened

CALLS = 3
TOGETHER = 4
"""Calls per request: launching the next hides behind the one that runs, as in training."""
AT_ONCE = 26
"""Workers alive together: they compile on cores of their own and share one arena, for only one is asked at a time."""


def screen_device(
    operator: Operator, shapes: tuple[Shape, ...], candidates: dict[str, Snapshot], may_go_on: Callable[[], bool]
) -> list[Screened]:
    """Fastest first, failures last."""
    import numpy as np

    check_device()
    rng = np.random.default_rng(int.from_bytes(secrets.token_bytes(16), "big"))
    device = find_device()
    found: list[Screened] = []
    names = list(candidates)
    with workshop() as shop:
        stage = Stage(
            operator=operator, shapes=shapes, plan=plan_device(0.05, 0.01), shop=shop, device=device, rng=rng,
            arena_bytes=find_arena_bytes(operator, shapes, device),
        )  # fmt: skip
        for at in range(0, len(names), AT_ONCE):
            if at and not may_go_on():
                break
            found += _look_at(stage, {name: candidates[name] for name in names[at : at + AT_ONCE]}, at)
    ranked = sorted((one for one in found if one.score is not None), key=lambda one: one.score or 0.0)
    return [*ranked, *(one for one in found if one.score is None)]


def _look_at(stage: Stage, candidates: dict[str, Snapshot], first: int) -> list[Screened]:
    found: list[Screened] = []
    legs: dict[str, GpuLeg] = {}
    with ExitStack() as stack:
        for number, (name, snapshot) in enumerate(candidates.items()):
            built = take_kernel(stage, snapshot)
            if isinstance(built, NotBuilt):
                found.append(Screened(name=name, score=None, reason=f"does not build: {built.reason}"))
                continue
            legs[name] = stage.open(Leg.CANDIDATE, built, f"screen-{first + number}")
            stack.callback(legs[name].close)
        _compile(stage, legs)
        for name, leg in legs.items():
            try:
                logs = [math.log(_fastest(stage, leg, shape)) for shape in stage.shapes]
                found.append(Screened(name=name, score=math.fsum(logs) / len(logs)))
            except Fault as fault:
                found.append(Screened(name=name, score=None, reason=str(fault)))
    return found


def _compile(stage: Stage, legs: dict[str, GpuLeg]) -> None:
    """One small call of every kernel, all at once: compiling is most of the time a look takes."""
    from concurrent.futures import ThreadPoolExecutor

    def warm(leg: GpuLeg, calls: list[list[list[Any]]]) -> None:
        try:
            leg.worker.wait_ready()
            leg.worker.load()
            for entry, call in enumerate(calls):
                leg.worker.call(entry, [call], "compiling")
        except Fault:
            return  # told again, by name, when it is timed

    arguments = [leg.describe_all(stage.shapes[0]) for leg in legs.values()]
    with ThreadPoolExecutor(max_workers=len(legs) or 1) as pool:
        list(pool.map(warm, legs.values(), arguments))


def _fastest(stage: Stage, leg: GpuLeg, shape: Shape) -> float:
    """Least device milliseconds of a whole step, checked; the first is warm-up and may compile."""
    times = []
    for _turn in range(CALLS + 1):
        given = draw_given(stage, shape, count=TOGETHER)
        times.append(sum(leg.run(step, given).cpu_ns for step in stage.operator.passes) / 1e6)
    return max(min(times[1:]), 1e-6)
