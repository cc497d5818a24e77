"""One process pair on an accelerator: the legs alive together, their calls interleaved on the same fresh inputs."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace

from layline.campaign.devices.gpu_condition import read_condition
from layline.campaign.devices.worker_process import Disturbed, Fault
from layline.campaign.measure.arm import Given
from layline.campaign.measure.gpu.arm import GpuLeg
from layline.campaign.measure.gpu.session import Stage, draw_given, nudge, plan_count
from layline.campaign.measure.inputs import choose_calls
from layline.campaign.measure.pair import LEAST_REQUESTS, SUBSET_SHARE, PairRun
from layline.campaign.values.model import Leg, Shape
from layline.campaign.values.statistics import quantile

PROBE_SHARE = 0.15
SETTLE_SHARE = 0.2
HELD_OUT_REQUESTS = 3
CONTROL_REQUESTS = 6
CLOCK_SHARE = 0.2
CLOCK_FREE_MS = 0.2
CLOCK_CALL_MS = 0.05
"""Wall time of a request may exceed device time by the empty call's, the first, so much per call and a fifth."""
CLOCK_LOOKS = 3
"""How often a shape is timed before clocks that disagree are held against a kernel."""


@dataclass(slots=True)
class GpuPair:
    """What was seen in one process pair, and the conditions it was seen under."""

    run: PairRun
    conditions: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def run_shape(
    stage: Stage, legs: list[GpuLeg], shape: Shape, pair: GpuPair, overhead_ms: float, on_trial: Leg = Leg.CANDIDATE
) -> None:
    """Alternate the legs' calls on one shape; a few calls with other inputs are mixed in, checked but not timed.

    Where the two clocks of an arm disagree the shape is timed again, for every arm: a host that was late once is nobody's fault.
    """
    for look in range(CLOCK_LOOKS):
        count = _time_shape(stage, legs, shape, pair)
        late = find_late(pair.run, shape.label, count, overhead_ms)
        if not late:
            break
        if look < CLOCK_LOOKS - 1:
            pair.run.forget(shape.label)  # of every arm: times are compared call by call
    else:
        refuse_late(late, on_trial)
    pair.conditions.append(read_condition(f"pair {pair.run.number} {shape.label}"))
    pair.counts[shape.label] = count


def _time_shape(stage: Stage, legs: list[GpuLeg], shape: Shape, pair: GpuPair) -> int:
    operator, rng, run = stage.operator, stage.rng, pair.run
    count, requests = _plan_requests(stage, legs, shape, run)
    given = draw_given(stage, shape, count=count)
    for at in range(requests):
        probes = at > 0 and rng.random() < PROBE_SHARE
        if probes:
            given = nudge(stage, given) if rng.random() < 0.5 else _draw_other(stage, shape)
        elif at:
            given = draw_given(stage, shape, count=count)
        if not probes and rng.random() < 1 / 3:
            given = replace(given, on_same_place=True)
            given = choose_calls(given, rng) if at and rng.random() < SUBSET_SHARE else given
        settles = rng.random() < SETTLE_SHARE or at == requests - 1
        for step in operator.passes:
            for index in rng.permutation(len(legs)):
                leg = legs[int(index)]
                ran = leg.run(step, given, settles=settles)
                if not probes and not given.called:
                    run.record(leg.leg, shape.label, step.name, ran)
    return count


def _draw_other(stage: Stage, shape: Shape) -> Given:
    return draw_given(stage, shape, str(stage.rng.choice(stage.operator.distributions[1:])))


def _plan_requests(stage: Stage, legs: list[GpuLeg], shape: Shape, run: PairRun) -> tuple[int, int]:
    """Calls per request and requests per leg, from checked warm-up calls; the first compiles."""
    plan = stage.plan
    slowest = 0.0
    for warm_up in range(2):
        given = draw_given(stage, shape)
        for leg in legs:
            took = sum(leg.run(step, given).wall_ns for step in stage.operator.passes) / 1e6
            slowest = max(slowest, took) if warm_up else slowest
            if not warm_up and leg.leg in (Leg.CANDIDATE, Leg.BEST) and (leg.leg is Leg.CANDIDATE or len(legs) == 1):
                run.first_call_ms += took
    count = plan_count(stage, shape, slowest)
    affordable = int(plan.seconds * 1000 / max(slowest * count, 0.01))
    return count, max(LEAST_REQUESTS, min(plan.calls, affordable))


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """An arm whose two clocks cannot have seen the same work."""

    leg: Leg
    told: str
    evidence: tuple[str, ...]


def find_late(run: PairRun, shape: str, count: int, overhead_ms: float) -> tuple[Late, ...]:
    """Every arm for which the device's events and the parent's clock do not tell of the same work."""
    found = []
    for (leg, at, step), times in run.times.items():
        if at != shape or not times:
            continue
        device, wall = (count * quantile([one[clock] for one in times], 0.5) for clock in (0, 1))
        if disagrees(wall, device, overhead_ms, count):
            told = f"{step} on {shape}: the parent's clock says {wall:.3f} ms, the device's events {device:.3f} ms."
            allowed = (
                f"allowed: empty call {overhead_ms:.3f} ms + {CLOCK_FREE_MS:g} ms + {CLOCK_CALL_MS:g} ms per "
                f"call + {CLOCK_SHARE:.0%} of the device time"
            )
            counted = f"{count} calls per request, {len(times)} requests, {leg.value}, seen {CLOCK_LOOKS} times"
            found.append(Late(leg=leg, told=told, evidence=(allowed, counted)))
    return tuple(found)


def refuse_late(late: tuple[Late, ...], on_trial: Leg) -> None:
    """Only the kernel on trial can be refused, and only if no other arm's clocks disagree as well: that is the host's doing."""
    others = [one for one in late if one.leg is not on_trial]
    if others:
        raise Disturbed(
            f"The clocks of another arm ({others[0].leg.value}) disagree, so the host was late. {others[0].told}"
        )
    raise Fault("clocks-agree", late[0].told, *late[0].evidence)


def disagrees(wall_ms: float, device_ms: float, overhead_ms: float, count: int = 1) -> bool:
    """Whether two clocks cannot have seen the same work, over a request of so many calls."""
    free = overhead_ms + CLOCK_FREE_MS + CLOCK_CALL_MS * count
    return device_ms > wall_ms * 1.02 or wall_ms - device_ms > free + CLOCK_SHARE * device_ms


def run_held_out(stage: Stage, legs: list[GpuLeg], shape: Shape, run: PairRun) -> None:
    """Time an equally aligned neighbour nobody listed: a gain that is real is there too."""
    operator = stage.operator
    near = operator.neighbours(shape, stage.rng)[0]
    times: defaultdict[Leg, list[float]] = defaultdict(list)
    for at in range(HELD_OUT_REQUESTS + 1):
        given = replace(draw_given(stage, near, count=2), is_held_out=True)
        for index in stage.rng.permutation(len(legs)):
            leg = legs[int(index)]
            cost = sum(leg.run(step, given).wall_ns for step in operator.passes)
            if at:
                times[leg.leg].append(cost)
    run.held_out[shape.label] = math.log(quantile(times[Leg.BEST], 0.2) / quantile(times[Leg.CANDIDATE], 0.2))
