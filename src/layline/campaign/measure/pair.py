"""One process pair: best and candidate alive together, their calls interleaved on the same fresh inputs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.measure.arm import LiveArm, Ran
from layline.campaign.measure.company import look_at, refuse_company
from layline.campaign.measure.given import Given
from layline.campaign.measure.inputs import choose_calls, draw, draw_bare, draw_by_chance, nudge
from layline.campaign.measure.oracle import Error, summarise_errors
from layline.campaign.measure.stage import Stage
from layline.campaign.values.company import Look, name_other_work
from layline.campaign.values.measurement import Accuracy, Arm, Ratio, Sample
from layline.campaign.values.operator import Shape
from layline.campaign.values.statistics import quantile, summarise

LEAST_REQUESTS = 6
HELD_OUT_REQUESTS = 3
HELD_OUT_PAIRS, ENOUGH_PAIRS = 5, 3
"""Process pairs in which neighbours are timed; fewer where they tell clearly that a gain is there, too."""
CLOCK_LOOKS = 3
"""How often a shape is timed before clocks that disagree are held against a kernel, or other work ends the run."""
CLOCK_SHARE = 0.2
CLOCK_FREE_MS = 0.2
CLOCK_CALL_MS = 0.05
CLOCK_TRIP_MS = 0.03
"""Wall time of a request may exceed the device's by the empty call's, the first, so much per call and a fifth; and fall
short of it by the last: the way there and back is taken off it where calls are queued.
"""
PROBE_SHARE = 0.15
SETTLE_SHARE = 0.2
SUBSET_SHARE = 0.5
"""Of the requests on places seen before: only some of the calls are made, in any order; checked, but not timed."""

Key = tuple[Arm, str, str]


@dataclass(slots=True)
class PairRun:
    """What was seen so far in one process pair."""

    number: int
    times: defaultdict[Key, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """(own ms, wall ms) per call by arm, shape and pass: processor time, or time between two events of the device."""
    launches: defaultdict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Host milliseconds to launch a call, where calls were queued and launching is not in their time."""
    errors: defaultdict[tuple[Arm, str], list[Error]] = field(default_factory=lambda: defaultdict(list))
    held_out: dict[str, float] = field(default_factory=dict)
    """Log-ratio best/candidate on an aligned neighbour of each shape."""
    first_call_ms: float = 0.0
    conditions: list[str] = field(default_factory=list)
    """What an accelerator said of itself after each shape."""
    looks: list[Look] = field(default_factory=list)
    """Who else was on the device, request by request, in the block that is timed now; then in those that count."""

    def ratios(self) -> tuple[Ratio, ...]:
        """Each arm against the best, call by call on the same inputs."""
        found = []
        for arm, shape in sorted({(arm, shape) for arm, shape, _step in self.times if arm is not Arm.BEST}):
            best, other = self._steps(Arm.BEST, shape), self._steps(arm, shape)
            cpu, wall = (
                [math.log(mine[clock] / its[clock]) for mine, its in zip(best, other, strict=True)] for clock in (0, 1)
            )
            found.append(
                Ratio(pair=self.number, leg=arm, shape=shape, cpu=quantile(cpu, 0.5), wall=quantile(wall, 0.5))
            )
        return tuple(found)

    def _steps(self, arm: Arm, shape: str) -> list[tuple[float, float]]:
        """(CPU ms, wall ms) of each whole step, all passes together."""
        passes = [times for (of, at, _step), times in self.times.items() if of is arm and at == shape]
        return [
            (math.fsum(cpu for cpu, _ in one), math.fsum(wall for _, wall in one)) for one in zip(*passes, strict=True)
        ]

    def record(self, arm: Arm, shape: str, step: str, ran: Ran) -> None:
        """Keep a checked request of the timed distribution."""
        self.times[arm, shape, step].append((ran.own_ns / 1e6, ran.wall_ns / 1e6))
        self.launches[arm, shape, step].append(ran.launched_ns / 1e6)
        self.errors[arm, shape].extend(ran.weigh())

    def find_slowest(self, shape: str, stage: Stage) -> float:
        """Milliseconds of a step on a shape, on the slower arm, by the clock that decides in probes."""
        arms = {arm for arm, at, _step in self.times if at == shape}
        clock = 0 if stage.device.clock == "own" else 1
        return max(quantile([one[clock] for one in self._steps(arm, shape)], 0.5) for arm in arms)

    def shows_gain(self, clock: str, least: float = 0.0) -> bool:
        """Whether the candidate was the faster one here, all shapes together, by more than `least`."""
        ratios = [one for one in self.ratios() if one.leg is Arm.CANDIDATE]
        found = [one.cpu if clock == "cpu" else one.wall for one in ratios]
        return math.fsum(found) > len(found) * math.log1p(least)

    def forget(self, shape: str) -> None:
        """Drop what was timed on a shape, of every arm: it is timed again."""
        for kept in (self.times, self.launches):
            for key in [one for one in kept if one[1] == shape]:
                del kept[key]

    def samples(self) -> tuple[Sample, ...]:
        """One sample per arm, shape and pass."""
        return tuple(
            Sample(
                pair=self.number,
                leg=arm,
                shape=shape,
                step=step,
                cpu=summarise([cpu for cpu, _wall in times]),
                wall=summarise([wall for _cpu, wall in times]),
            )
            for (arm, shape, step), times in self.times.items()
        )


def run_shape(
    stage: Stage,
    arms: Sequence[LiveArm],
    shape: Shape,
    run: PairRun,
    *,
    on_trial: Arm = Arm.CANDIDATE,
    overhead_ms: float = 0.0,
) -> None:
    """Alternate the arms' calls on one shape; a few calls with other inputs are mixed in, checked but not timed.

    Where a device has a clock of its own and the two disagree, or somebody else worked on it, the shape is timed again,
    for every arm: a host that was late once is nobody's fault.
    """
    late: tuple[Late, ...] = ()
    others = ""
    for look in range(CLOCK_LOOKS):
        before, unqueued = len(run.looks), len(stage.device.unqueued)
        count = _time_shape(stage, arms, shape, run, on_trial)
        if len(stage.device.unqueued) > unqueued:  # one arm's calls cannot be queued, so nobody's are
            run.forget(shape.label)
            count = _time_shape(stage, arms, shape, run, on_trial)
        others = name_other_work(run.looks[before:])
        late = find_late(run, shape.label, count, overhead_ms) if stage.device.has_events else ()
        if not late and not others:
            break
        if look < CLOCK_LOOKS - 1:
            run.forget(shape.label)  # of every arm: times are compared call by call
            del run.looks[before:]
    refuse_company(others)
    if late:
        refuse_late(late, on_trial)
    condition = stage.device.read_condition(f"pair {run.number} {shape.label}")
    run.conditions += [condition] if condition else []
    if any(label == shape.label for _step, label in stage.device.unqueued):
        told = "timed with its launch, because a call of it waits for the device"
        run.conditions.append(f"pair {run.number} {shape.label}: {told}")


def _time_shape(stage: Stage, arms: Sequence[LiveArm], shape: Shape, run: PairRun, on_trial: Arm) -> int:
    """Calls to a request, as many as it was found to need."""
    rng = stage.rng
    count, requests = _plan_requests(stage, arms, shape, run, on_trial)
    given: Given | None = None
    again = int(rng.integers(1, requests))  # at least one is on a place seen before: what is kept by address shows
    for at in range(requests):
        probes = given is not None and at != again and rng.random() < PROBE_SHARE
        given = _choose(stage, shape, given, count) if probes else draw(stage, shape, count=count)
        if not probes and (at == again or rng.random() < 1 / 3):
            given = replace(given, on_same_place=True)
            given = choose_calls(stage, given) if at not in (0, again) and rng.random() < SUBSET_SHARE else given
        settles = rng.random() < SETTLE_SHARE or at == requests - 1
        for step in stage.operator.passes:
            for index in rng.permutation(len(arms)):
                arm = arms[int(index)]
                run.looks += look_at(stage)  # before every request: work in bursts is seen only where it is looked for
                ran = arm.run(step, given, settles=settles, queues=True)
                if not probes and not given.called:
                    run.record(arm.arm, shape.label, step.name, ran)
    run.looks += look_at(stage)
    return count


def _choose(stage: Stage, shape: Shape, last: Given | None, count: int) -> Given:
    """Inputs a kernel may not expect, as many as in a timed request: another distribution, or the last ones with one
    element changed.
    """
    if last is not None and stage.rng.random() < 1 / 3:
        return nudge(stage, last)
    return draw(stage, shape, str(stage.rng.choice(stage.operator.distributions[1:])), count=count)


def _plan_requests(stage: Stage, arms: Sequence[LiveArm], shape: Shape, run: PairRun, on_trial: Arm) -> tuple[int, int]:
    """Calls per request and requests per arm, from two checked warm-up calls; on an accelerator the first compiles."""
    operator, plan = stage.operator, stage.plan
    slowest = slowest_wall = 0.0
    for warm_up in range(2):
        given = draw(stage, shape)
        for arm in arms:
            runs = [arm.run(step, given, queues=warm_up > 0) for step in operator.passes]
            cost, wall = sum(ran.cost_ns for ran in runs) / 1e6, sum(ran.wall_ns for ran in runs) / 1e6
            if warm_up:
                slowest, slowest_wall = max(slowest, cost), max(slowest_wall, wall)
            elif arm.arm is on_trial and run.first_call_ms == 0:
                run.first_call_ms = wall
    count = plan_count(stage, shape, slowest)
    affordable = int(plan.seconds * 1000 / max(slowest_wall * count, 0.01))
    return count, max(LEAST_REQUESTS, min(plan.calls, affordable))


def plan_count(stage: Stage, shape: Shape, slowest_ms: float) -> int:
    """Calls per request for a shape whose step takes that long on the slowest arm, by the clock that decides.

    On a processor that is not the wall clock, which other people's load stretches: short calls must come several to a
    request on a busy machine too.
    """
    pace = stage.device.pace
    wanted = round(pace.request_ms * len(stage.operator.passes) / max(slowest_ms, 0.01))
    return max(1, min(pace.most_calls, stage.device.count_room(stage, shape), wanted))


def find_count(stage: Stage, arms: Iterable[LiveArm], shape: Shape) -> int:
    """The same after a call of each, made to find out."""
    given = draw_bare(stage, shape)
    return plan_count(stage, shape, max(time_calls(stage, arm, given) for arm in arms) / 1e6)


def time_calls(stage: Stage, arm: LiveArm, given: Given, *, queues: bool = False) -> float:
    """Nanoseconds a call of all passes; outputs are looked at where the right ones are known."""
    run = arm.run if given.right else arm.run_unchecked
    return sum(run(step, given, queues=queues).cost_ns for step in stage.operator.passes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """An arm whose two clocks cannot have seen the same work."""

    arm: Arm
    told: str
    evidence: tuple[str, ...]


def find_late(run: PairRun, shape: str, count: int, overhead_ms: float) -> tuple[Late, ...]:
    """Every arm for which the device's events and the parent's clock do not tell of the same work."""
    found = []
    for (arm, at, step), times in run.times.items():
        if at != shape or not times:
            continue
        device, wall = (count * quantile([one[clock] for one in times], 0.5) for clock in (0, 1))
        if disagrees(wall, device, overhead_ms, count):
            told = f"{step} on {shape}: the parent's clock says {wall:.3f} ms, the device's events {device:.3f} ms."
            allowed = (
                f"allowed: empty call {overhead_ms:.3f} ms + {CLOCK_FREE_MS:g} ms + {CLOCK_CALL_MS:g} ms per "
                f"call + {CLOCK_SHARE:.0%} of the device time"
            )
            counted = f"{count} calls per request, {len(times)} requests, {arm.value}, seen {CLOCK_LOOKS} times"
            found.append(Late(arm=arm, told=told, evidence=(allowed, counted)))
    return tuple(found)


def refuse_late(late: tuple[Late, ...], on_trial: Arm) -> None:
    """Only the kernel on trial can be refused, and only if no other arm's clocks disagree as well: that is the host's
    doing.
    """
    same = (Arm.BEST, Arm.AGAIN) if on_trial is Arm.BEST else (on_trial,)  # the baseline is timed beside itself
    others = [one for one in late if one.arm not in same]
    if others:
        who = others[0].arm.value
        raise Disturbed(f"The clocks also disagree for another kernel ({who}), so the host was late. {others[0].told}")
    raise Fault("clocks-agree", late[0].told, *late[0].evidence)


def disagrees(wall_ms: float, device_ms: float, overhead_ms: float, count: int = 1) -> bool:
    """Whether two clocks cannot have seen the same work, over a request of so many calls."""
    free = overhead_ms + CLOCK_FREE_MS + CLOCK_CALL_MS * count
    return device_ms > wall_ms * 1.02 + CLOCK_TRIP_MS or wall_ms - device_ms > free + CLOCK_SHARE * device_ms


def time_neighbours(stage: Stage, arms: Sequence[LiveArm], run: PairRun) -> None:
    """A neighbour of every shape."""
    for shape in stage.shapes:
        _time_neighbour(stage, arms, shape, run)


def _time_neighbour(stage: Stage, arms: Sequence[LiveArm], shape: Shape, run: PairRun) -> None:
    """Time an equally aligned neighbour nobody listed: a gain that is real is there too.

    In requests as long as those of the listed shape: what a kernel does when a size is new to it, and what a request
    itself costs, would else count for more there.
    """
    near = stage.operator.neighbours(shape, stage.rng)[0]
    times: defaultdict[Arm, list[float]] = defaultdict(list)
    count = 1
    for at in range(HELD_OUT_REQUESTS + 1):
        given = replace(draw_by_chance(stage, near, count=count), is_held_out=True)  # a probe looks at all of them
        for index in stage.rng.permutation(len(arms)):
            arm = arms[int(index)]
            cost = time_calls(stage, arm, given, queues=at > 0)
            if at:  # the first may compile
                times[arm.arm].append(cost)
        # as many as on the listed one, where not two must do because the right answer costs as much as the call
        count = plan_count(stage, near, run.find_slowest(shape.label, stage)) if stage.device.pace.whole else 2
    run.held_out[shape.label] = math.log(quantile(times[Arm.BEST], 0.2) / quantile(times[Arm.CANDIDATE], 0.2))


def needs_neighbours(pairs: Sequence[PairRun], clock: str) -> bool:
    """Whether neighbours are timed once more: not where every process pair so far shows half of its gain there."""
    timed = [pair for pair in pairs if pair.held_out]
    shares = [(math.fsum(pair.held_out.values()), math.fsum(find_gains([pair], clock).values())) for pair in timed]
    is_clear = len(timed) >= ENOUGH_PAIRS and all(held >= listed / 2 for held, listed in shares)
    return len(timed) < HELD_OUT_PAIRS and not is_clear


def find_gains(pairs: Sequence[PairRun], clock: str) -> dict[str, float]:
    """Logarithm of the candidate's gain by shape, as the process pairs so far have it."""
    ratios = [one for pair in pairs for one in pair.ratios() if one.leg is Arm.CANDIDATE]
    by_shape = {one.shape: [getattr(two, clock) for two in ratios if two.shape == one.shape] for one in ratios}
    return {shape: sum(found) / len(found) for shape, found in by_shape.items()}


def find_accuracy(arms: Iterable[Arm], shapes: Iterable[Shape], pairs: Sequence[PairRun]) -> Iterator[Accuracy]:
    """How close each arm came to the oracle on each shape, over all pairs."""
    for arm, shape in product(arms, shapes):
        errors = [error for pair in pairs for error in pair.errors[arm, shape.label]]
        if errors:
            yield from summarise_errors(arm, shape.label, errors)
