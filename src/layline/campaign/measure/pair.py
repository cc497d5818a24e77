"""One process pair: best and candidate alive together, their calls interleaved on the same fresh inputs."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layline.campaign.measure.arm import Given, LiveLeg, Ran, Setup
from layline.campaign.measure.build import Built
from layline.campaign.measure.inputs import choose_calls, draw, nudge
from layline.campaign.measure.oracle import Error
from layline.campaign.values.model import Leg, Ratio, Sample, Shape
from layline.campaign.values.statistics import quantile, summarise

if TYPE_CHECKING:
    import numpy as np

REQUEST_MS = 2.0
"""Short calls are made several to a request, on as many distinct inputs, until a request takes about this long."""
MOST_CALLS = 48
"""Calls to a request: so many that the clock of processor time advances during the shortest."""
LEAST_REQUESTS = 6
HELD_OUT_REQUESTS = 3
HELD_OUT_PAIRS = 5
"""Process pairs in which neighbours are timed."""
PROBE_SHARE = 0.15
SETTLE_SHARE = 0.2
SUBSET_SHARE = 0.5
"""Of the requests on places seen before: only some of the calls are made, in any order; checked, but not timed."""

Key = tuple[Leg, str, str]


@dataclass(slots=True)
class PairRun:
    """What was seen so far in one process pair."""

    number: int
    times: defaultdict[Key, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """(CPU ms, wall ms) per call by leg, shape and pass."""
    errors: defaultdict[tuple[Leg, str], list[Error]] = field(default_factory=lambda: defaultdict(list))
    held_out: dict[str, float] = field(default_factory=dict)
    """Log-ratio best/candidate on an aligned neighbour of each shape."""
    first_call_ms: float = 0.0

    def ratios(self) -> tuple[Ratio, ...]:
        """Each leg against the best, call by call on the same inputs."""
        found = []
        for leg, shape in sorted({(leg, shape) for leg, shape, _step in self.times if leg is not Leg.BEST}):
            best, other = self._steps(Leg.BEST, shape), self._steps(leg, shape)
            cpu, wall = (
                [math.log(mine[clock] / its[clock]) for mine, its in zip(best, other, strict=True)] for clock in (0, 1)
            )
            found.append(
                Ratio(pair=self.number, leg=leg, shape=shape, cpu=quantile(cpu, 0.5), wall=quantile(wall, 0.5))
            )
        return tuple(found)

    def _steps(self, leg: Leg, shape: str) -> list[tuple[float, float]]:
        """(CPU ms, wall ms) of each whole step, all passes together."""
        passes = [times for (of, at, _step), times in self.times.items() if of is leg and at == shape]
        return [
            (math.fsum(cpu for cpu, _ in one), math.fsum(wall for _, wall in one)) for one in zip(*passes, strict=True)
        ]

    def record(self, leg: Leg, shape: str, step: str, ran: Ran) -> None:
        """Keep a checked request of the timed distribution."""
        self.times[leg, shape, step].append((ran.cpu_ns / 1e6, ran.wall_ns / 1e6))
        self.errors[leg, shape].extend(ran.errors)

    def forget(self, shape: str) -> None:
        """Drop what was timed on a shape, of every arm: it is timed again."""
        for key in [one for one in self.times if one[1] == shape]:
            del self.times[key]

    def samples(self) -> tuple[Sample, ...]:
        """One sample per leg, shape and pass."""
        return tuple(
            Sample(
                pair=self.number,
                leg=leg,
                shape=shape,
                step=step,
                cpu=summarise([cpu for cpu, _wall in times]),
                wall=summarise([wall for _cpu, wall in times]),
            )
            for (leg, shape, step), times in self.times.items()
        )


def open_legs(
    stack: ExitStack, setup: Setup, builts: Mapping[Leg, Built], rng: np.random.Generator
) -> tuple[list[LiveLeg], float]:
    """Start and load every leg, in random order; the inputs' generator is asked for values only afterwards."""
    order = [list(builts)[int(at)] for at in rng.permutation(len(builts))]
    legs = [stack.enter_context(LiveLeg(leg, builts[leg], setup, rng)) for leg in order]
    loaded = {leg.leg: leg.worker.load() / 1e6 for leg in legs}
    stack.enter_context(pinned(legs, setup.plan.threads, rng))
    return legs, loaded.get(Leg.CANDIDATE, loaded.get(Leg.BEST, 0.0))


@contextmanager
def pinned(legs: list[LiveLeg], threads: int, rng: np.random.Generator) -> Iterator[None]:
    """All legs on one core and this process on the others, so that inputs come from equally far for every call."""
    cores = sorted(os.sched_getaffinity(0))
    if threads > 1 or len(cores) < 2:
        yield
        return
    core = int(rng.choice(cores))
    for leg in legs:
        leg.worker.pin({core})
    os.sched_setaffinity(0, set(cores) - {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def run_shape(setup: Setup, legs: list[LiveLeg], shape: Shape, run: PairRun, rng: np.random.Generator) -> None:
    """Alternate the legs' calls on one shape; a few calls with other inputs are mixed in, checked but not timed."""
    operator = setup.operator
    counts, requests = _plan_requests(setup, legs, shape, run, rng)
    given: Given | None = None
    for at in range(requests):
        probes = given is not None and rng.random() < PROBE_SHARE
        given = (
            _choose(setup, shape, rng, given, counts)
            if probes
            else draw(operator, shape, rng, operator.distributions[0], count=counts)
        )
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


def _choose(setup: Setup, shape: Shape, rng: np.random.Generator, last: Given | None, count: int) -> Given:
    """Inputs a kernel may not expect, as many as in a timed request: another distribution, or the last ones with one
    element changed.
    """
    operator = setup.operator
    if last is not None and rng.random() < 1 / 3:
        return nudge(operator, last, rng)
    return draw(operator, shape, rng, str(rng.choice(operator.distributions[1:])), count=count)


def _plan_requests(
    setup: Setup, legs: list[LiveLeg], shape: Shape, run: PairRun, rng: np.random.Generator
) -> tuple[int, int]:
    """Calls per request and requests per leg, from two checked warm-up calls."""
    operator, plan = setup.operator, setup.plan
    slowest_cpu = slowest_wall = 0.0
    for warm_up in range(2):
        given = draw(operator, shape, rng, operator.distributions[0])
        for leg in legs:
            runs = [leg.run(step, given) for step in operator.passes]
            cpu, wall = sum(ran.cpu_ns for ran in runs) / 1e6, sum(ran.wall_ns for ran in runs) / 1e6
            if warm_up:
                slowest_cpu, slowest_wall = max(slowest_cpu, cpu), max(slowest_wall, wall)
            elif leg.leg is Leg.CANDIDATE and run.first_call_ms == 0:
                run.first_call_ms = wall
    # By CPU time, which other people's load does not stretch: short calls must come several to a request on a busy
    # machine too.
    count = max(1, min(MOST_CALLS, round(REQUEST_MS * len(operator.passes) / max(slowest_cpu, 0.01))))
    affordable = int(plan.seconds * 1000 / max(slowest_wall * count, 0.01))
    return count, max(LEAST_REQUESTS, min(plan.calls, affordable))


def run_held_out(setup: Setup, legs: list[LiveLeg], shape: Shape, run: PairRun, rng: np.random.Generator) -> None:
    """Time an equally aligned neighbour nobody listed: a gain that is real is there too."""
    operator = setup.operator
    near = operator.neighbours(shape, rng)[0]
    times: defaultdict[Leg, list[float]] = defaultdict(list)
    for at in range(HELD_OUT_REQUESTS + 1):
        given = replace(draw(operator, near, rng, operator.distributions[0], count=2), is_held_out=True)
        for index in rng.permutation(len(legs)):
            leg = legs[int(index)]
            cost = sum(leg.run(step, given).cpu_ns for step in operator.passes)
            if at:
                times[leg.leg].append(cost)
    run.held_out[shape.label] = math.log(quantile(times[Leg.BEST], 0.2) / quantile(times[Leg.CANDIDATE], 0.2))
