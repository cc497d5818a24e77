"""A quick look at many settings of one kernel, to choose which one deserves a round.

Screening decides nothing: calls are checked, but few, and times come from single processes. Whatever it picks goes
through the same gate as any other proposal.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

from layline.campaign.devices.faults import Fault
from layline.campaign.devices.gpu_lock import hold_first
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.build import Built, NotBuilt, build_kernel, workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.crew import open_arm
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.stage import Stage
from layline.campaign.proposers.screen_gpu import screen_device
from layline.campaign.proposers.screened import TODAY, Screened
from layline.campaign.values.measurement import Arm, Plan
from layline.campaign.values.operator import Operator, Shape, Snapshot

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
    if operator.is_on_device:
        return screen_device(operator, shapes, candidates, may_go_on)
    remaining, failed = dict(candidates), []
    ranked: list[Screened] = []
    out: list[Screened] = []
    with workshop() as shop:
        stage = set_stage(operator, shapes, Plan(), shop, secrets.token_bytes(16))
        builts: dict[str, Built | NotBuilt] = {}
        for count in calls:
            looked = []
            for name, snapshot in remaining.items():
                if may_go_on():
                    builts[name] = builts.get(name) or build_kernel(snapshot, operator, shop)
                    looked.append(_look(stage, name, builts[name], count))
            if not any(item.name == TODAY for item in looked) and ranked:
                break  # the time ran out before the yardstick was seen: the look before this one counts
            failed += [item for item in looked if item.score is None]
            ranked = sorted((item for item in looked if item.score is not None), key=lambda item: item.score or 0.0)
            kept = {TODAY, *(item.name for item in ranked[: max(2, math.ceil(len(ranked) / KEEP))])}
            remaining = {name: snapshot for name, snapshot in remaining.items() if name in kept}
            if count != calls[-1]:
                out += [replace(item, is_out=True) for item in ranked if item.name not in kept]
    return [*ranked, *out, *failed]


def screen_here(
    operator: Operator,
    shapes: tuple[Shape, ...],
    candidates: dict[str, Snapshot],
    *,
    may_go_on: Callable[[], bool] = lambda: True,
) -> list[Screened]:
    """As `screen`, in the campaign's own process: on the accelerator that it uses anyway, held meanwhile."""
    with hold_first() if operator.is_on_device else nullcontext():
        return screen(operator, shapes, candidates, may_go_on=may_go_on)


def _look(stage: Stage, name: str, built: Built | NotBuilt, calls: int) -> Screened:
    if isinstance(built, NotBuilt):
        return Screened(name=name, score=None, reason=f"does not build: {built.error}")
    try:
        with open_arm(stage, Arm.CANDIDATE, built).loaded() as arm:
            logs = [math.log(_fastest(stage, arm, shape, calls)) for shape in stage.shapes]
    except Fault as fault:
        return Screened(name=name, score=None, reason=str(fault))
    return Screened(name=name, score=math.fsum(logs) / len(logs))


def _fastest(stage: Stage, arm: LiveArm, shape: Shape, calls: int) -> float:
    """Least CPU milliseconds of a whole step; the first is warm-up."""
    times = []
    for _ in range(calls + 1):
        given = draw(stage, shape, count=2)
        times.append(sum(arm.run(step, given).own_ns for step in stage.operator.passes) / 1e6)
    return max(min(times[1:]), 1e-6)
