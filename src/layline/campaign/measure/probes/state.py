"""State that outlives a call: repeated inputs make the candidate faster than they make the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.inputs import draw, keep, repeat
from layline.campaign.measure.pair import plan_count
from layline.campaign.measure.probes.probe import Carried, Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.measurement import Bucket
from layline.campaign.values.operator import Operator, Shape
from layline.campaign.values.statistics import quantile

CALLS = 9
TIMES, SURELY = 3, 5
"""Series; in a row, because a busy machine may favour repeated inputs three times."""
DOUBT = 1.15
"""How much faster repeated inputs must make the candidate before the best is asked what they do for it."""
RATIO = 1.3
"""How much faster repeated inputs must make a call, beyond what they do for the best kernel, to count as state."""
TRAINING_STEPS = 8


def show_state(on: Trial) -> Shown:
    on.carried = probe_state(on)
    yield from ()


def probe_state(on: Trial) -> Carried:
    """Which repeated inputs help, the bucket that means, and what is left of it in training."""
    stage, operator = on.stage, on.stage.operator
    every = dict.fromkeys(name for step in operator.passes for name in step.inputs)
    names = tuple(name for name in every if name not in operator.constant)
    if operator.constant:
        on.left_out["changed weights"] = (
            f"{', '.join(operator.constant)} never change: a kernel may keep what it makes of them"
        )
    shapes = tuple(_extremes(stage)) if stage.device.pace.whole else (stage.by_work[0],)
    for shape in shapes:
        # several calls to a request show what is kept by contents, single ones what is kept by address as well
        for count in _choose_batches(stage, on.trial, shape):
            if not all(_speed_up(on, shape, names, count) >= RATIO for _ in range(SURELY)):
                continue
            found = _sort_into_bucket(operator, _explain(on, shape, names, count), names, describe_shape(shape))
            trace, share = simulate_training(stage, on.trial, shape)
            return replace(found, trace=trace, share=share)
    trace, _share = simulate_training(stage, on.trial, shapes[-1])  # nothing to bound, but the trace is evidence
    return Carried(what="", trace=trace)


def _choose_batches(stage: Stage, arm: LiveArm, shape: Shape) -> Iterator[int]:
    """Calls to a request: where one is long enough for the clock, two show what is kept by contents as well as many."""
    given = draw(stage, shape)
    took = sum(arm.run(step, given).cost_ns for step in stage.operator.passes) / 1e6
    for count in stage.device.pace.state_batches:
        yield min(count, max(2, plan_count(stage, shape, took)))


def _explain(on: Trial, shape: Shape, names: tuple[str, ...], count: int) -> list[str]:
    """Which of the repeated inputs do it; where they would be held against the kernel, those that are named a second time,
    too: on a busy machine a bystander is named once.
    """
    found = _name_once(on, shape, names, count)
    if found and all(name in on.stage.operator.weights for name in found):
        return found
    again = _name_once(on, shape, names, count)
    return [name for name in again if name in found or not found]


def _name_once(on: Trial, shape: Shape, names: tuple[str, ...], count: int) -> list[str]:
    """Each input alone, then all but each."""

    def typical(kept: tuple[str, ...]) -> float:
        return quantile([_speed_up(on, shape, kept, count) for _ in range(TIMES)], 0.5)

    alone = {name: typical((name,)) for name in names}
    without = {name: typical(tuple(one for one in names if one != name)) for name in names}
    return name_helpful(alone, without, typical(names))


def name_helpful(alone: Mapping[str, float], without: Mapping[str, float], together: float) -> list[str]:
    """The inputs that explain at least half of what all of them do together, as logarithms: repeated alone they do as
    much, and fresh among repeated ones they take as much away.

    Not those beyond a fixed limit: where all together are just beyond it, the one that does it all may be just below.
    """
    half = math.sqrt(together)
    helpful = [name for name, found in alone.items() if found >= half]
    needed = [name for name, found in without.items() if found < half]
    both = [name for name in helpful if name in needed]
    if both:
        return both
    return needed if 0 < len(needed) < len(alone) else helpful


def _sort_into_bucket(operator: Operator, single: list[str], names: tuple[str, ...], where: str) -> Carried:
    """Which inputs, met again, make the kernel faster, and the bucket that means."""
    if not single:
        return Carried(what=f"repeating {', '.join(names)} together makes {where} faster", bucket=Bucket.W3)
    if all(name in operator.weights for name in single):
        return Carried(what=f"repeating {', '.join(single)} (a weight) makes {where} faster", bucket=Bucket.W1)
    return Carried(what=f"repeating {', '.join(single)} makes {where} faster", bucket=Bucket.W2)


def _extremes(stage: Stage) -> Iterator[Shape]:
    """The largest shape and the smallest."""
    ordered = stage.by_work
    yield ordered[-1]
    if len(ordered) > 1:
        yield ordered[0]


def _speed_up(on: Trial, shape: Shape, kept: tuple[str, ...], count: int) -> float:
    """time(fresh) / time(kept inputs repeated): what three in four of the candidate's calls reach, over the best's
    median.
    """
    passes = on.stage.operator.passes
    assert on.best is not None  # noqa: S101  the probe needs a candidate
    ours = _time_repeats(on.stage, on.trial, shape, kept, count)
    if max(quantile(ours[step.name], 0.25) for step in passes) < DOUBT:
        return 1.0  # nobody is that much slower on repeated inputs that the best's share would make it state
    theirs = _time_repeats(on.stage, on.best, shape, kept, count)
    return max(quantile(ours[step.name], 0.25) / quantile(theirs[step.name], 0.5) for step in passes)


def _time_repeats(
    stage: Stage, arm: LiveArm, shape: Shape, kept: tuple[str, ...], count: int
) -> dict[str, list[float]]:
    """Time of a fresh call over that of one with kept inputs, by pass.

    Neither is the first after inputs were drawn: meanwhile others have had the caches, on a busy machine more than else.
    """
    passes = stage.operator.passes
    ratios: dict[str, list[float]] = {step.name: [] for step in passes}
    anchor = draw(stage, shape, count=count)
    for step in passes:
        arm.run(step, anchor)
    for _call in range(CALLS if count == 1 else CALLS // 2):
        other = replace(draw(stage, shape, count=count), on_same_place=True)
        first, second = (keep(stage, anchor, kept, count=count) for _ in range(2))  # the first fills what remembers
        for step in passes:
            _filling, same, fresh = (arm.run(step, given).cost_ns for given in (first, second, other))
            ratios[step.name].append(fresh / same)
    return ratios


def simulate_training(stage: Stage, arm: LiveArm, shape: Shape) -> tuple[str, float]:
    """Eight steps as in training: activations and gradients fresh, one weight for all passes of a step, then updated.

    Which passes were served from memory (`h`) and which not (`m`), and the share of time that saved.
    """
    operator = stage.operator
    known = {step.name: _hit_and_miss(stage, arm, shape, at) for at, step in enumerate(operator.passes)}
    trace, saved, spent = [], 0.0, 0.0
    for _step in range(TRAINING_STEPS):
        given = draw(stage, shape)
        for step in operator.passes:
            cost = arm.run(step, given).cost_ns
            hit, miss = known[step.name]
            is_hit = hit * RATIO < miss and cost < hit + (miss - hit) / 4
            trace.append("h" if is_hit else "m")
            saved += max(0.0, miss - cost) if is_hit else 0.0
            spent += cost
            given = keep(stage, given, operator.weights)  # the next pass sees the same weight, all else is new
    return "".join(trace), saved / (saved + spent)


def _hit_and_miss(stage: Stage, arm: LiveArm, shape: Shape, at: int) -> tuple[float, float]:
    """Nanoseconds of one pass with every input repeated, and with none."""
    step = stage.operator.passes[at]
    hits, misses = [], []
    for _call in range(5):
        given = draw(stage, shape)
        misses.append(arm.run(step, given).cost_ns)
        hits.append(arm.run(step, replace(repeat(given), on_same_place=True)).cost_ns)
    return quantile(hits, 0.5), quantile(misses, 0.5)
