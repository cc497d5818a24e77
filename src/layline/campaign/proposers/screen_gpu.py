"""A quick look at many settings of a Triton kernel: all compile side by side, then all are timed in turns on the same
inputs.

Successive halving: a short look at all, a longer one at those that were fast as a whole or in one pass. Screening
decides
nothing: whatever it picks goes through the same gate as any other proposal.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from layline.campaign.devices.device import Filled
from layline.campaign.devices.faults import Fault
from layline.campaign.measure.accelerator import plan_device
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.build import NotBuilt, build_kernel, workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.crew import open_arm
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.stage import Stage
from layline.campaign.proposers.screened import TODAY, Screened
from layline.campaign.values.measurement import Arm
from layline.campaign.values.operator import Operator, Pass, Shape, Snapshot
from layline.campaign.values.statistics import quantile

LOOKS = (4, 16)
"""Timed requests per shape and pass in each look."""
KEEP = 5
"""Of every so many settings one goes on to the longer look: the fastest as a whole and the fastest in each pass."""
TOGETHER = 4
"""Calls per request: launching the next hides behind the one that runs, as in training."""
LEAD = 2_000_000
"""Turns of the device's empty loop before a request's calls, about a millisecond: the calls wait in the queue when the
device comes to them, so that the first one's launch is not part of the time, as it is not in training."""
AT_ONCE = 26
"""Workers alive together: they compile on cores of their own and share one arena, for only one is asked at a time."""

Times = dict[tuple[str, str], list[float]]
"""Device milliseconds of a call by pass and shape."""


def screen_device(
    operator: Operator, shapes: tuple[Shape, ...], candidates: dict[str, Snapshot], may_go_on: Callable[[], bool]
) -> list[Screened]:
    """Fastest first, those left behind next, failures last."""
    found: list[Screened] = []
    names = list(candidates)
    with workshop() as shop:
        stage = set_stage(operator, shapes, plan_device(0.05, 0.01), shop, secrets.token_bytes(16))
        for at in range(0, len(names), AT_ONCE):
            if at and not may_go_on():
                break
            found += _look_at(stage, {name: candidates[name] for name in names[at : at + AT_ONCE]}, at)
    return sorted(found, key=lambda one: (one.score is None, one.is_out, one.score or 0.0))


def _look_at(stage: Stage, candidates: dict[str, Snapshot], first: int) -> list[Screened]:
    failed: dict[str, Screened] = {}
    arms: dict[str, LiveArm] = {}
    with ExitStack() as stack:
        for number, (name, snapshot) in enumerate(candidates.items()):
            built = build_kernel(snapshot, stage.operator, stage.shop)
            if isinstance(built, NotBuilt):
                failed[name] = Screened(name=name, score=None, reason=f"does not build: {built.reason}")
                continue
            arms[name] = open_arm(stage, Arm.CANDIDATE, built, cache=f"screen-{first + number}")
            arms[name].worker.lead = LEAD
            stack.callback(arms[name].close)
        _compile(stage, arms)
        times: dict[str, Times] = {name: {} for name in arms}
        going = tuple(arms)
        seen: dict[str, Screened] = {}
        for requests in LOOKS:
            for name, fault in _time(stage, {name: arms[name] for name in going}, requests, times).items():
                failed[name] = Screened(name=name, score=None, reason=str(fault))
            ranked = [_summarise(name, times[name]) for name in going if name not in failed]
            seen |= {one.name: replace(one, is_out=False) for one in ranked}
            going = _keep(ranked) if requests != LOOKS[-1] else going
    left = [replace(one, is_out=name not in going) for name, one in seen.items() if name not in failed]
    return [*left, *failed.values()]


def _compile(stage: Stage, arms: dict[str, LiveArm]) -> None:
    """One call of every kernel on every shape, all at once: compiling is most of the time a look takes."""
    from concurrent.futures import ThreadPoolExecutor

    def warm(arm: LiveArm, calls: list[Filled]) -> None:
        try:
            arm.worker.wait_ready()
            arm.worker.load()
            for call in calls:
                arm.worker.call((call,))
        except Fault:
            return  # told again, by name, when it is timed

    for arm in arms.values():  # they share one arena; group sizes and offsets of nothing are nothing
        memory: Any = arm.memory
        memory.arena.raw.zero_()
        break
    arguments = [
        [_lay(stage, arm, step, shape) for shape in stage.shapes for step in stage.operator.passes]
        for arm in arms.values()
    ]
    with ThreadPoolExecutor(max_workers=len(arms) or 1) as pool:
        list(pool.map(warm, arms.values(), arguments))


def _lay(stage: Stage, arm: LiveArm, step: Pass, shape: Shape) -> Filled:
    """One call on a fresh place with whatever lies there."""
    place = arm.memory.place(step, shape, stage.rng)
    return Filled(step=step, shape=shape, place=place, inputs={}, poison={}, guard=b"")


def _time(stage: Stage, arms: dict[str, LiveArm], requests: int, times: dict[str, Times]) -> dict[str, Fault]:
    """Every setting in turn on the same inputs, so often; the first turn warms up and is checked in full."""
    failed: dict[str, Fault] = {}
    for shape in stage.shapes:
        given = draw(stage, shape, count=TOGETHER)
        for turn in range(requests + 1):
            for index in stage.rng.permutation(len(arms)):
                name = list(arms)[int(index)]
                if name in failed:
                    continue
                try:
                    for step in stage.operator.passes:
                        call = arms[name].run_unchecked if turn else arms[name].run
                        took = call(step, given).own_ns / 1e6
                        if turn:
                            times[name].setdefault((step.name, shape.label), []).append(took)
                except Fault as fault:
                    failed[name] = fault
    return failed


def _summarise(name: str, times: Times) -> Screened:
    """Times of each pass on each shape, and the score: mean over shapes of the whole step's log milliseconds."""
    typical = {key: max(quantile(found, 0.25), 1e-6) for key, found in times.items()}
    sums: dict[str, float] = {}
    for (_step, shape), ms in typical.items():
        sums[shape] = sums.get(shape, 0.0) + ms
    score = math.fsum(math.log(total) for total in sums.values()) / len(sums)
    return Screened(name=name, score=score, times=tuple((step, shape, ms) for (step, shape), ms in typical.items()))


def _keep(ranked: list[Screened]) -> tuple[str, ...]:
    """The working kernel, the fastest settings as a whole, and the fastest in each pass."""
    count = max(2, math.ceil(len(ranked) / KEEP))
    kept = {TODAY, *(one.name for one in sorted(ranked, key=lambda one: one.score or 0.0)[:count])}
    for of in sorted({step for one in ranked for step, _shape, _ms in one.times}):
        by_pass = sorted(ranked, key=lambda one: math.fsum(math.log(ms) for step, _s, ms in one.times if step == of))
        kept |= {one.name for one in by_pass[:count]}
    return tuple(one.name for one in ranked if one.name in kept)
