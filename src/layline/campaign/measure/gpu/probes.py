"""The gate's own calls on an accelerator: hard inputs, held-out shapes, repetition, error, state, what was tampered
with.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from layline.campaign.devices.gpu_memory import footprint
from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.gpu.arm import GpuLeg
from layline.campaign.measure.gpu.check import measure_error
from layline.campaign.measure.gpu.session import Stage, draw_given, nudge, permute
from layline.campaign.measure.inputs import keep, repeat
from layline.campaign.measure.oracle import ERROR_FLOOR, Error, compare_errors
from layline.campaign.measure.probes.probe import Carried
from layline.campaign.measure.sizes import find_empty_shapes, find_far_shapes, walk_sizes
from layline.campaign.values.model import Bucket, Shape
from layline.campaign.values.statistics import denies_gain, quantile

REPEATS = 3
WALK = (127, 121, 97)
"""One block size to any kernel, less of it each time: what an earlier call left in a work area would still be there."""
ASIDE = 136
"""Every other extent during a walk."""
STALL_REQUESTS, STALL_CALLS = 24, 4
MEMORY_REQUESTS, MEMORY_CALLS, MEMORY_BYTES = 4, 4, 64 << 10
"""Requests to a block, calls to a request, and the growth per step, block after block, that is a leak."""
SPECIAL = (("NaN", float("nan")), ("infinity", float("inf")), ("minus infinity", float("-inf")))
HELD_BYTES, HELD_CALLS = 2 << 30, 4
"""What one process may keep of the device: so much, and so many of the largest call's buffers."""
STATE_CALLS = 5
STATE_RATIO = 1.25


def probe_inputs(stage: Stage, leg: GpuLeg) -> None:
    """Every distribution on the smallest shape, two on the others, then one changed element on the same place."""
    operator, rng = stage.operator, stage.rng
    for index, shape in enumerate(_by_work(stage)):
        kinds = operator.distributions if index == 0 else rng.choice(operator.distributions[1:], 2, replace=False)
        for kind in kinds:
            given = draw_given(stage, shape, str(kind))
            for step in operator.passes:
                leg.run(step, given)
        given = draw_given(stage, shape)
        for one in (given, nudge(stage, given), nudge(stage, given)):
            for step in operator.passes:
                leg.run(step, one)
        if index == 0:
            _probe_swaps(stage, leg, shape)


def _probe_swaps(stage: Stage, leg: GpuLeg, shape: Shape) -> None:
    """Two elements of each input change places: what is kept under a sum of it still has that sum."""
    for step in stage.operator.passes:
        for name in step.inputs:
            given = draw_given(stage, shape)
            if given.inputs[0][name].dtype.is_floating_point:
                leg.run(step, given)
                leg.run(step, permute(stage, given, name))


def probe_order(stage: Stage, leg: GpuLeg) -> None:
    """Inputs made on the caller's stream and outputs read on it, with nobody waiting for the device in between."""
    shape = _by_work(stage)[0]
    for _turn in range(3):
        given, stale = (draw_given(stage, shape) for _ in range(2))
        for step in stage.operator.passes:
            leg.run_ordered(step, given, stale)


def probe_special(stage: Stage, leg: GpuLeg, start: GpuLeg) -> int:
    """One NaN, infinity or overflowing element in each input in turn: both kernels answer it in the same way."""
    import torch

    shape, made = _by_work(stage)[0], 0
    for step in stage.operator.passes:
        for name in step.inputs:
            for what, value in SPECIAL:
                given = draw_given(stage, shape)
                drawn: dict[str, Any] = dict(given.inputs[0])
                inputs = {one: array.clone() for one, array in drawn.items()}
                if inputs[name].dtype not in (torch.bfloat16, torch.float32) or not inputs[name].numel():
                    continue
                inputs[name].view(-1)[int(stage.rng.integers(0, inputs[name].numel()))] = value
                ours, theirs = (one.run_raw(step, replace(given, inputs=(inputs,))) for one in (leg, start))
                _compare_special(f"{step.symbol} on {shape.label}, one element of {name} being {what}", ours, theirs)
                made += 1
    return made


def _compare_special(where: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    for name, mine in ours.items():
        a, b = mine.float(), theirs[name].float()
        differs = (a.isnan() != b.isnan()) | (a.isinf() != b.isinf()) | (a.isinf() & b.isinf() & (a != b))
        if bool(differs.any()):
            at = tuple(differs.nonzero()[0].tolist())
            raise Fault(
                "special-values",
                f"{where}: {int(differs.sum())} elements of {name} are not what the starting kernel makes of it.",
                f"{name}{list(at)} is {float(a[at]):g}, the starting kernel's {float(b[at]):g}",
            )


def probe_held(stage: Stage, before: int, after: int, legs: int) -> None:
    """What the kernels' processes took of the device and never gave back, in absolute terms."""
    largest = max(footprint(stage.operator, shape) for shape in stage.shapes)
    allowed = legs * (HELD_BYTES + HELD_CALLS * largest)
    if after - before > allowed:
        raise Fault(
            "bounded-memory",
            f"After loading and timing, {(after - before) >> 20} MiB more of the device are in use than before; "
            f"{allowed >> 20} MiB are allowed to {legs} processes.",
        )


def probe_held_out(stage: Stage, leg: GpuLeg) -> None:
    """Neighbours: odd, prime, tiny, empty; every distribution once in a while. Then far and shrinking sizes."""
    operator, rng = stage.operator, stage.rng
    for shape in stage.shapes:
        for near in operator.neighbours(shape, rng):
            kind = str(rng.choice(operator.distributions))
            given = replace(draw_given(stage, near, kind), is_held_out=True)
            for step in operator.passes:
                leg.run(step, given)
    # far from every listed size, and shrinking by steps inside one block
    # sums over nothing where they are exact: the other operators have not been tried with empty extents on a device
    empty = find_empty_shapes(operator) if operator.exact is not None else ()
    far = (*find_far_shapes((*stage.shapes, *operator.shapes), rng), *empty)
    for shape in (*far, *walk_sizes(operator, WALK, ASIDE)):
        given = replace(draw_given(stage, shape), is_held_out=True)
        for step in operator.passes:
            leg.run(step, given)


def probe_memory(stage: Stage, leg: GpuLeg) -> None:
    """Calls made over and over must not take ever more memory: what is never given back was paid for by nobody.

    The device's memory is everybody's: nobody else may start or end meanwhile.
    """
    operator = stage.operator
    shape = _by_work(stage)[0]
    given = repeat(operator, draw_given(stage, shape, count=MEMORY_CALLS))
    sizes = []
    for _block in range(4):
        sizes.append(leg.read_memory())
        for _request in range(MEMORY_REQUESTS):
            for step in operator.passes:
                leg.run(step, given, is_checked=False)
    steps = MEMORY_REQUESTS * MEMORY_CALLS
    growth = [later - sooner for sooner, later in pairwise(sizes[1:])]  # the first block fills pools
    if min(growth) >= steps * MEMORY_BYTES:
        raise Fault(
            "bounded-memory",
            f"Every {steps} steps on {shape.label} take another {min(growth) >> 20} MiB that is never given back.",
            f"memory of the device and of the worker after each {steps} steps: "
            f"{', '.join(f'{size >> 20} MiB' for size in sizes)}",
        )


def probe_stalls(stage: Stage, leg: GpuLeg, best: GpuLeg) -> None:
    """Many calls of both legs in a row: what rare long calls cost, which a process pair has too few calls to see."""
    operator = stage.operator
    shape = _by_work(stage)[0]
    costs: dict[bool, list[float]] = {True: [], False: []}
    for _request in range(STALL_REQUESTS):
        given = draw_given(stage, shape, count=STALL_CALLS)
        for one in (leg, best):
            costs[one is leg].append(sum(one.run(step, given).wall_ns for step in operator.passes) / 1e6)
    ours, theirs = (sorted(costs[of])[:-1] for of in (True, False))  # one long call is an accident of the machine
    typical = quantile(theirs, 0.5), quantile(ours, 0.5)
    mean = sum(theirs) / len(theirs), sum(ours) / len(ours)
    if denies_gain(typical, mean):
        raise Fault(
            "gain-in-the-mean",
            f"On {shape.label} a typical step takes {typical[1]:.3g} ms (the best {typical[0]:.3g}), but the mean over "
            f"{STALL_REQUESTS * STALL_CALLS} steps is {mean[1]:.3g} ms (the best {mean[0]:.3g}): a few calls take "
            "much longer.",
            f"the longest requests, per step: {', '.join(f'{cost:.3g}' for cost in sorted(costs[True])[-4:])} ms",
        )


def probe_repetition(stage: Stage, leg: GpuLeg) -> None:
    """The same inputs again: outputs may differ by rounding (another order of summation), not by more."""
    operator = stage.operator
    shape = _by_work(stage)[0]
    given = draw_given(stage, shape)
    for step in operator.passes:
        first = leg.run(step, repeat(operator, given))
        outputs: dict[str, Any] = dict(first.outputs[0])
        kept = {name: output.clone() for name, output in outputs.items()}
        allowed = max(ERROR_FLOOR, 4 * max(error.rms for error in first.errors))
        for _turn in range(REPEATS - 1):
            again = leg.run(step, repeat(operator, given))
            for name, output in again.outputs[0].items():
                spread = measure_error(name, output, kept[name].float()).worst
                if not spread <= allowed * 32:
                    raise Fault(
                        "repeatable",
                        f"{step.symbol} on {shape.label} gives different {name} for the same inputs, by more than "
                        "rounding.",
                        f"spread {spread:.1e} of the output's size, rounding explains {allowed * 32:.1e}",
                    )


def probe_errors(stage: Stage, leg: GpuLeg, start: GpuLeg) -> dict[str, list[Error]]:
    """On the same inputs, the candidate's error may not be a multiple of the starting kernel's, which is returned by
    shape.
    """
    operator = stage.operator
    shape = _by_work(stage)[0]
    yardstick: dict[str, list[Error]] = {}
    for kind in operator.distributions[:2]:
        ours: list[Error] = []
        theirs: list[Error] = []
        for _call in range(2):
            given = draw_given(stage, shape, kind)
            for step in operator.passes:
                ours += leg.run(step, given).errors
                theirs += start.run(step, given).errors
        for wrong in compare_errors(operator.tolerance.error_ratio, ours, theirs):
            raise Fault(wrong.property, f"{shape.label}: {wrong.reason}", *wrong.evidence, f"inputs: {kind}")
        yardstick.setdefault(shape.label, theirs)  # of the timed distribution
    return yardstick


def probe_state(stage: Stage, leg: GpuLeg, best: GpuLeg) -> Carried:
    """Does repeating inputs make the candidate faster than it makes the best kernel? Then something outlives the
    call.
    """
    operator = stage.operator
    names = tuple(dict.fromkeys(name for step in operator.passes for name in step.inputs))
    shape = _by_work(stage)[0]
    if any(_speed_up(stage, leg, best, shape, names) < STATE_RATIO for _twice in range(2)):
        return Carried(what="")
    single = [name for name in names if _speed_up(stage, leg, best, shape, (name,)) >= STATE_RATIO]
    if single and all(name in operator.weights for name in single):
        return Carried(what=f"repeating {', '.join(single)} (a weight) makes {shape.label} faster", bucket=Bucket.W1)
    if single:
        return Carried(what=f"repeating {', '.join(single)} makes {shape.label} faster", bucket=Bucket.W2)
    return Carried(what=f"repeating all inputs together makes {shape.label} faster", bucket=Bucket.W3)


def _speed_up(stage: Stage, leg: GpuLeg, best: GpuLeg, shape: Shape, kept: tuple[str, ...]) -> float:
    """time(fresh) / time(kept inputs repeated) of the candidate, divided by the same of the best."""
    operator = stage.operator
    ratio = 1.0
    for one, power in ((leg, 1), (best, -1)):
        anchor = draw_given(stage, shape)
        for step in operator.passes:
            one.run(step, anchor)
        fresh: list[float] = []
        same: list[float] = []
        for _call in range(STATE_CALLS):
            other = replace(draw_given(stage, shape), on_same_place=True)
            fresh.append(sum(one.run(step, other).wall_ns for step in operator.passes))
            for is_second in (False, True):
                again = keep(operator, anchor, stage.rng, kept)
                cost = sum(one.run(step, again).wall_ns for step in operator.passes)
                same += [cost] if is_second else []
        ratio *= (quantile(fresh, 0.25) / quantile(same, 0.25)) ** power
    return ratio


def probe_tampering(leg: GpuLeg) -> None:
    """Timers, waits, cache limits, global flags and the current stream are as they were before the kernel was
    loaded.
    """
    changed = leg.worker.inspect()["changed"]
    if not changed:
        return
    if "persisting L2 limit" in changed:
        raise Fault("persisting-l2", "The kernel set L2 memory aside for lines that survive a flush.", *changed)
    if any(name.startswith(("torch.cuda.", "time.")) for name in changed):
        raise Fault("timers-untouched", "The kernel replaced functions that time or wait.", *changed)
    raise Fault("global-state", "The kernel left global state changed.", *changed)


def _by_work(stage: Stage) -> list[Shape]:
    return sorted(stage.shapes, key=stage.operator.passes[0].flops)
