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

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.build import NotBuilt, workshop
from layline.campaign.measure.gpu.arm import GpuLeg
from layline.campaign.measure.gpu.run import check_device, plan_device
from layline.campaign.measure.gpu.session import Stage, draw_given, find_arena_bytes, take_kernel
from layline.campaign.operators.tensors import find_device
from layline.campaign.proposers.screened import TODAY, Screened
from layline.campaign.values.model import Leg, Operator, Shape, Snapshot
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
    import numpy as np

    check_device()
    rng = np.random.default_rng(int.from_bytes(secrets.token_bytes(16), "big"))
    device = find_device()
    found: list[Screened] = []
    names = list(candidates)
    with workshop() as shop:
        stage = Stage(
            operator=operator,
            shapes=shapes,
            plan=plan_device(0.05, 0.01),
            shop=shop,
            device=device,
            rng=rng,
            arena_bytes=find_arena_bytes(operator, shapes, device),
        )
        for at in range(0, len(names), AT_ONCE):
            if at and not may_go_on():
                break
            found += _look_at(stage, {name: candidates[name] for name in names[at : at + AT_ONCE]}, at)
    return sorted(found, key=lambda one: (one.score is None, one.is_out, one.score or 0.0))


def _look_at(stage: Stage, candidates: dict[str, Snapshot], first: int) -> list[Screened]:
    failed: dict[str, Screened] = {}
    legs: dict[str, GpuLeg] = {}
    with ExitStack() as stack:
        for number, (name, snapshot) in enumerate(candidates.items()):
            built = take_kernel(stage, snapshot)
            if isinstance(built, NotBuilt):
                failed[name] = Screened(name=name, score=None, reason=f"does not build: {built.reason}")
                continue
            legs[name] = stage.open(Leg.CANDIDATE, built, f"screen-{first + number}")
            legs[name].worker.lead = LEAD
            stack.callback(legs[name].close)
        _compile(stage, legs)
        times: dict[str, Times] = {name: {} for name in legs}
        going = tuple(legs)
        seen: dict[str, Screened] = {}
        for requests in LOOKS:
            for name, fault in _time(stage, {name: legs[name] for name in going}, requests, times).items():
                failed[name] = Screened(name=name, score=None, reason=str(fault))
            ranked = [_summarise(name, times[name]) for name in going if name not in failed]
            seen |= {one.name: replace(one, is_out=False) for one in ranked}
            going = _keep(ranked) if requests != LOOKS[-1] else going
    left = [replace(one, is_out=name not in going) for name, one in seen.items() if name not in failed]
    return [*left, *failed.values()]


def _compile(stage: Stage, legs: dict[str, GpuLeg]) -> None:
    """One call of every kernel on every shape, all at once: compiling is most of the time a look takes."""
    from concurrent.futures import ThreadPoolExecutor

    def warm(leg: GpuLeg, calls: list[tuple[int, list[list[Any]]]]) -> None:
        try:
            leg.worker.wait_ready()
            leg.worker.load()
            for entry, call in calls:
                leg.worker.call(entry, [call], "compiling")
        except Fault:
            return  # told again, by name, when it is timed

    for leg in legs.values():  # they share one arena; group sizes and offsets of nothing are nothing
        leg.arena.raw.zero_()
        break
    arguments = [
        [(entry, call) for shape in stage.shapes for entry, call in enumerate(leg.describe_all(shape))]
        for leg in legs.values()
    ]
    with ThreadPoolExecutor(max_workers=len(legs) or 1) as pool:
        list(pool.map(warm, legs.values(), arguments))


def _time(stage: Stage, legs: dict[str, GpuLeg], requests: int, times: dict[str, Times]) -> dict[str, Fault]:
    """Every setting in turn on the same inputs, so often; the first turn warms up and is checked in full."""
    failed: dict[str, Fault] = {}
    for shape in stage.shapes:
        given = draw_given(stage, shape, count=TOGETHER)
        for turn in range(requests + 1):
            for index in stage.rng.permutation(len(legs)):
                name = list(legs)[int(index)]
                if name in failed:
                    continue
                try:
                    for step in stage.operator.passes:
                        took = legs[name].run(step, given, is_checked=not turn).cpu_ns / 1e6
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
