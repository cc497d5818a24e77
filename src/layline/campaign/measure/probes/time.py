"""Times beside the timed ones: rare long calls, and other values than those that are timed, may not take a gain back."""

from __future__ import annotations

import math
import time

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.final_checks import CARRY_SHARE
from layline.campaign.measure.inputs import draw_by_chance
from layline.campaign.measure.pair import find_count, time_calls
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import find_odd_shape, fit_shapes
from layline.campaign.values.describe import describe_inputs, describe_shape
from layline.campaign.values.operator import Shape
from layline.campaign.values.statistics import denies_gain, quantile

STALL_CALLS, STALL_REQUESTS, STALL_S, FEW, MANY = 120, 6, 0.3, 4, 8
"""Calls of the smallest shape; requests of another, at least, and seconds after which there are no more; calls to a
request, by the room there is: what one of them costs more is in the mean whatever others it comes with.
"""
SERIES = 3
"""How often what a busy machine could do as well must be seen before it is held against a kernel."""
VALUE_REQUESTS, PAIR = 3, 2
"""Requests of a series; calls to one at least, because what comes before a single call hides what it costs."""
CLEARLY = 1.3
"""So many times what is needed is believed after one series, and what is nearer to what was timed than to what is needed."""
VALUE_GAIN, VALUE_LOSS = 1.1, 1.3
"""A gain on the timed values from which, and a loss on others from which, it is looked at."""
LARGE_GAIN, SMALL_LOSS = 1.5, 1.1
"""The same for whoever promises much."""
ORDINARY = ("coarse", "rectified")
"""Values that real callers hand over, on which a quarter of the gain must be left."""
VALUE_S = 1.0
"""Seconds after which no further distribution is timed on the other shapes."""


def show_stalls(on: Trial) -> Shown:
    """Many single calls in a row, of both arms: what rare long calls cost, which a process pair has too few calls to
    see.

    A busy machine makes long calls, too, but not the candidate's alone in one series after the other.
    """
    smallest, *others = on.stage.by_work
    another = [others[int(on.stage.rng.integers(0, len(others)))]] if others else []  # which one nobody can foresee
    for shape in (smallest, *another):
        _refuse_stalls(on, shape, math.inf if shape is smallest else STALL_S)
    told = f"{STALL_CALLS} calls of both kernels in turns on {smallest.label}"
    yield "gain-in-the-mean", ", fewer on ".join((told, *(shape.label for shape in another)))


def _refuse_stalls(on: Trial, shape: Shape, limit_s: float) -> None:
    for _series in range(SERIES):
        costs, together = _time_in_a_row(on, shape, limit_s)
        ours, theirs = (sorted(costs[of])[:-1] for of in (True, False))  # one long call is an accident of the machine
        typical = quantile(theirs, 0.5), quantile(ours, 0.5)
        mean = sum(theirs) / len(theirs), sum(ours) / len(ours)
        if not denies_gain(typical, mean):
            return
    raise Fault(
        "gain-in-the-mean",
        f"On {describe_shape(shape)} a typical call takes {typical[1]:.3g} ms (of the kernel to beat {typical[0]:.3g}), but "
        f"over {len(ours)} times {together} calls the mean is {mean[1]:.3g} ms (of the kernel to beat {mean[0]:.3g}): "
        "a few calls take much longer.",
        f"the slowest {together} in a row, ms a call: {', '.join(f'{cost:.3g}' for cost in sorted(costs[True])[-4:])}",
        f"the same in {SERIES} series, one after the other",
    )


def _time_in_a_row(on: Trial, shape: Shape, limit_s: float) -> tuple[dict[bool, list[float]], int]:
    """Milliseconds a call of all passes, in turns: of the candidate (True) and of the best; each the mean of so many."""
    stage = on.stage
    assert on.best is not None  # noqa: S101  the probe needs a candidate
    costs: dict[bool, list[float]] = {True: [], False: []}
    until = time.monotonic() + limit_s
    together = max(FEW, min(MANY, find_count(stage, (on.trial, on.best), shape)))
    for call in range(STALL_CALLS // together):
        if call >= STALL_REQUESTS and time.monotonic() > until:
            break
        given = draw_by_chance(stage, shape, count=together)
        for one in (on.trial, on.best):
            costs[one is on.trial].append(time_calls(stage, one, given) / 1e6)
    return costs, together


def show_values(on: Trial) -> Shown:
    """Where the timed values show a gain, no other distribution may show a loss by a third, of a large gain by a tenth."""
    stage = on.stage
    yield from ()
    if not stage.device.pace.whole:
        _refuse_values(on, stage.by_work[0], math.inf)
        return
    middle = stage.by_work[len(stage.by_work) // 2]
    others = [shape for shape in stage.by_work if shape is not middle]
    _refuse_values(on, middle, math.inf)
    until = time.monotonic() + VALUE_S
    for at in stage.rng.permutation(len(others)):  # what values cost may grow with the size
        _refuse_values(on, others[int(at)], until)
    _refuse_turns(on)


def _refuse_turns(on: Trial) -> None:
    """Layers of a model come in turns: what is fast only where the last call had the same shape is not."""
    stage = on.stage
    first, second = stage.by_work[0], stage.by_work[min(1, len(stage.by_work) - 1)]
    if second is first:
        second = next(fit_shapes(stage.operator, (find_odd_shape(first, stage.rng),)), first)
    claimed = math.exp(on.claimed.get(first.label, 0.0))
    if second is first or claimed < VALUE_GAIN:
        return
    for _series in range(SERIES):
        found = compare_values(on, (first, second), kind=None, requests=VALUE_REQUESTS)
        if found > 1 / VALUE_LOSS:
            return
    raise Fault(
        "gain-carries-over",
        f"On {describe_shape(first)} the kernel is {claimed:.1f} times as fast as the kernel to beat, but where another shape "
        f"comes between two calls it is only {found:.2g} times as fast.",
        f"single calls on {first.label} and {second.label} in turns",
        f"the same in {SERIES} series of {VALUE_REQUESTS} turns of both kernels, one after the other",
    )


def _refuse_values(on: Trial, shape: Shape, until: float) -> None:
    stage, kinds = on.stage, on.stage.operator.distributions
    claimed = math.exp(on.claimed.get(shape.label, 0.0))  # the process pairs know it better than any series here
    if claimed < VALUE_GAIN or time.monotonic() > until:
        return
    assert on.best is not None  # noqa: S101  the probe needs a candidate
    wanted = max(PAIR, min(FEW, find_count(stage, (on.trial, on.best), shape)))
    together = min(wanted, stage.device.count_room(stage, shape))
    for kind in stage.rng.permutation(kinds[1:]):  # where there is no time for all, nobody can foresee for which
        if time.monotonic() > until:
            return
        least = claimed**CARRY_SHARE if kind in ORDINARY else 1 / find_allowed_loss(claimed)
        found = compare_values(on, (shape,), str(kind), VALUE_REQUESTS, together)
        if found <= min(CLEARLY * least, math.sqrt(least * claimed)):
            found = compare_values(on, (shape,), str(kind), SERIES * VALUE_REQUESTS, together)
        if found <= least:
            raise Fault(
                "gain-carries-over",
                f"On {describe_shape(shape)} the kernel is {claimed:.1f} times as fast as the kernel to beat on the timed "
                f"values, but on others it is only {found:.2g} times as fast: {describe_inputs(str(kind))}.",
                f"the same in {SERIES * VALUE_REQUESTS} requests of both kernels in turns",
            )


def find_allowed_loss(claimed: float) -> float:
    """How many times as long as the best's a call may take on other values, by how much faster it is on the timed ones: a
    small gain is not taken back by what noise does, and who is half as fast again must not be slower elsewhere.
    """
    return SMALL_LOSS if claimed >= LARGE_GAIN else VALUE_LOSS


def compare_values(on: Trial, shapes: tuple[Shape, ...], kind: str | None, requests: int, together: int = 1) -> float:
    """Time of the best over the candidate's, all passes together, on the same inputs in turns; each request one call of each
    shape, or several of one, as in the process pairs, because what comes before a single call hides what it costs. As
    there, launching is not in it: a short kernel's gain would be lost in what every call costs.
    """
    assert on.best is not None  # noqa: S101  the probe needs a candidate
    costs: dict[bool, list[float]] = {True: [], False: []}
    for _request in range(requests):
        given = [draw_by_chance(on.stage, shape, kind, count=together) for shape in shapes]
        for one in (on.trial, on.best):
            costs[one is on.trial].append(sum(time_calls(on.stage, one, each, queues=True) for each in given))
    return quantile(costs[False], 0.25) / quantile(costs[True], 0.25)
