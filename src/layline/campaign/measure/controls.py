"""Controls in every measuring run: is the instrument itself to be trusted now? If not, there is no verdict."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.build import Built, NotBuilt, build_kernel
from layline.campaign.measure.clock import check_clock, measure_step
from layline.campaign.measure.crew import live, open_arm
from layline.campaign.measure.inputs import draw, draw_bare
from layline.campaign.measure.pair import Key, PairRun, plan_count
from layline.campaign.measure.stage import MODE, Stage
from layline.campaign.values.judge import pair_ratios, say
from layline.campaign.values.measurement import Arm, Environment, GateResult, Measurement
from layline.campaign.values.operator import Operator, Shape, Snapshot
from layline.campaign.values.statistics import gain_interval, quantile
from layline.errors import BenchError

_OWN: dict[tuple[str, str], tuple[Built, bytes]] = {}
CONTROL_REQUESTS = 8
CONTROLS = (Arm.BEST, Arm.AGAIN, Arm.CANARY)
TRIAL_SPIN = {"own": 400_000, "wall": 1_000_000}
"""Turns of the worker's, or the device's, empty loop used to find out what one costs."""
AA_ALPHA = 0.001
AA_LIMIT = 0.01
"""A difference between the best and itself below this is never held against the instrument."""


def wrap(operator: Operator, source: str) -> Snapshot:
    """One of our own kernels as a snapshot."""
    return Snapshot(files=(("kernel.c" if operator.language == "c" else "kernel.py", source),))


def build_own(stage: Stage, source: str) -> Built:
    """Compile one of our own kernels, once in the life of this process: nobody but us can have changed it."""
    operator = stage.operator
    key = (operator.language, source)
    if key not in _OWN or operator.language != "c":
        built = build_kernel(wrap(operator, source), operator, stage.shop)
        if isinstance(built, NotBuilt):
            raise BenchError(f"A kernel of Layline itself does not compile: {built.reason}")
        _OWN[key] = (built, built.path.read_bytes())
        return built
    built, data = _OWN[key]
    path = Path(tempfile.mkdtemp(dir=stage.shop)) / "kernel.so"
    path.write_bytes(data)
    return replace(built, path=path, units=())


def _nothing() -> None:
    """Nobody else starts meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """What the device's workers are and cost before any kernel does anything, and whether they can tell right from
    wrong.
    """

    overhead_ms: float
    """Of an empty call, on the clock that decides."""
    mode: int | None
    """The floating-point mode of an untouched worker, where there is one."""
    files: frozenset[str]
    """Files whose code is in it."""
    environment: Environment
    controls: tuple[GateResult, ...]


def examine(
    stage: Stage, environment: Environment, begin: Callable[[], None] = _nothing, wait: Callable[[], None] = _nothing
) -> Instrument:
    """A wrong kernel that must be refused, while others may begin to start; then an empty one for what a worker is and
    costs, when they have started.
    """
    operator, device = stage.operator, stage.device
    arms = [
        open_arm(stage, Arm.BEST, build_own(stage, _write_empty(operator)), cache="empty"),
        # an operator that brings no start has no kernel to spoil: one that writes nothing must be refused, too
        open_arm(stage, Arm.CANDIDATE, build_own(stage, operator.wrong or _write_empty(operator)), cache="wrong"),
    ]
    with live(arms) as (nothing, wrong):
        begin()
        _load_own(wrong)
        known_wrong = check_known_wrong(stage, wrong)
        wait()
        nothing.worker.load()
        given = draw_bare(stage, stage.shapes[0])
        ran = [nothing.run_unchecked(operator.passes[0], given, queues=True) for _ in range(30)]
        if ran[-1].launched_ns:
            device.trip_ns = quantile([one.wall_ns for one in ran[5:]], 0.1)
        reply = nothing.ask(operator.passes[0], given)
        told, files = device.read_instrument(nothing.worker, environment)
        controls = (check_clock(measure_step()),) if device.clock == "own" else ()
        return Instrument(
            # the least where a low quantile of processor time decides, the most that is usual where two clocks must agree
            overhead_ms=quantile([one.cost_ns / 1e6 for one in ran[5:]], 0.1 if device.clock == "own" else 0.9),
            mode=reply.mode if MODE in device.gives else None,
            files=files,
            environment=told,
            controls=(*controls, known_wrong),
        )


def _load_own(wrong: LiveArm) -> None:
    """A kernel of the operator that cannot be loaded is not the candidate's fault."""
    try:
        wrong.worker.load()
    except Fault as fault:
        raise BenchError(
            f"The operator's kernel that is known to be wrong could not be loaded: {fault.reason}",
            hint="Correct its `wrong`, or the start that it is made of; the candidate was not measured.",
        ) from None


def _write_empty(operator: Operator) -> str:
    if operator.language == "c":
        return "".join(f"int {step.symbol}(void) {{ return 0; }}\n" for step in operator.passes)
    return "".join(f"def {step.symbol}(*_): return None\n" for step in operator.passes)


def check_known_wrong(stage: Stage, wrong: LiveArm) -> GateResult:
    """A subtly wrong kernel must be refused."""
    shapes = stage.operator.shapes if stage.device.pace.whole else stage.by_work[:1]
    try:
        for shape in shapes:
            given = draw(stage, shape)
            for step in stage.operator.passes:
                wrong.run(step, given)
    except Fault as fault:
        reason = f"A kernel known to be wrong was refused ({fault.property})."
        return GateResult(property="known-wrong", passed=True, reason=reason, evidence=(fault.reason,))
    return GateResult(property="known-wrong", passed=False, reason="A kernel known to be wrong was not refused.")


def check_builds(best: Built, candidate: Built, *, is_same_source: bool) -> GateResult:
    """The build id changes with the source, so what runs is what was written."""
    same = best.build.build_id == candidate.build.build_id
    passed = same == is_same_source
    note = "; the machine code is identical" if best.build.binary_hash == candidate.build.binary_hash else ""
    verb = "is the same" if same else "differs"
    reason = f"The sources are {'the same' if is_same_source else 'different'} and the build id {verb}{note}."
    return GateResult(
        property="build-id",
        passed=passed,
        reason=reason,
        evidence=(f"best {best.build.build_id[:12]}", f"candidate {candidate.build.build_id[:12]}"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """Where the controls run, and the loop counts that make each pass slower by the planned share."""

    shape: Shape
    spins: tuple[tuple[str, int], ...]
    """Per call."""
    count: int
    """Calls per request."""


def calibrate_canary(stage: Stage, best: LiveArm) -> Canary:
    """Choose a shape of modest cost and find out what a turn of the empty loop costs."""
    ordered = stage.by_work
    shape = ordered[len(ordered) // 2] if stage.device.pace.whole else ordered[0]
    trial = TRIAL_SPIN[stage.device.clock]
    spins, whole = [], 0.0
    for step in stage.operator.passes:
        bare, loaded = [], []
        for _ in range(5):
            given = draw_bare(stage, shape)
            bare.append(best.run_unchecked(step, given, queues=True).own_ns)
            loaded.append(best.run_unchecked(step, given, spin=trial, queues=True).own_ns)
        extra = quantile([with_ - without for with_, without in zip(loaded, bare, strict=True)], 0.5)
        typical = quantile(bare, 0.5)
        spins.append((step.name, round(stage.plan.canary * typical / max(1e-3, extra / trial))))
        whole += typical
    # half as long as a timed request: a way there and back is still little beside the canary's share
    count = min(stage.device.pace.control_calls, (1 + plan_count(stage, shape, whole / 1e6)) // 2)
    return Canary(shape=shape, spins=tuple(spins), count=count)


def open_twins(stage: Stage, best: LiveArm, places: Sequence[Built]) -> list[LiveArm]:
    """The best three times over, in new processes, each with the kernel at another place: one that has served calls
    before has its pages and translations at hand, and would read faster.
    """
    order = [CONTROLS[int(at)] for at in stage.rng.permutation(len(CONTROLS))]
    arms = [open_arm(stage, arm, built) for arm, built in zip(order, places, strict=True)]
    for arm in arms:
        arm.worker.wait_ready()
    for arm in arms:
        arm.worker.load()
        arm.worker.pin(best.worker.cores)
    return arms


def time_twins(
    stage: Stage, arms: Iterable[LiveArm], canary: Canary, draw_place: Callable[[], Built]
) -> dict[Key, list[tuple[float, float]]]:
    """The controls of one process pair: with the twins it has, or with new ones where these start at once."""
    if stage.device.starts_slowly:
        return run_controls(stage, [arm for arm in arms if arm.arm in CONTROLS], canary)
    best = next(arm for arm in arms if arm.arm is Arm.BEST)
    with stage.device.spread():  # nothing is timed while they start
        opened = open_twins(stage, best, [draw_place() for _control in CONTROLS])
    with live(opened) as twins:
        return run_controls(stage, twins, canary)


def run_controls(stage: Stage, twins: Sequence[LiveArm], canary: Canary) -> dict[Key, list[tuple[float, float]]]:
    """The best against itself, and against itself made slower, on one shape, interleaved like any pair."""
    shape, spins = canary.shape, dict(canary.spins)
    run = PairRun(number=0)
    _warm_up(stage, twins, shape)
    for request in range(min(CONTROL_REQUESTS, stage.plan.calls) + 1):
        given = draw_bare(stage, shape, count=canary.count)  # the best's own time is asked for, nothing else
        for step in stage.operator.passes:
            for index in stage.rng.permutation(len(twins)):
                arm = twins[int(index)]
                spin = canary.count * spins[step.name] if arm.arm is Arm.CANARY else 0
                ran = arm.run_unchecked(step, given, spin=spin, queues=request > 0)
                if request:  # the first one warms up
                    run.record(arm.arm, f"control:{shape.label}", step.name, ran)
    return dict(run.times)


def _warm_up(stage: Stage, twins: Sequence[LiveArm], shape: Shape) -> None:
    """Where the first call of a process takes long, all of them make it at the same time."""
    if not stage.device.starts_slowly:
        return
    given = draw_bare(stage, shape)

    def call(arm: LiveArm) -> None:
        for step in stage.operator.passes:
            arm.run_unchecked(step, given)

    with ThreadPoolExecutor(max_workers=len(twins)) as pool:
        list(pool.map(call, twins))


def judge_controls(measurement: Measurement) -> tuple[GateResult, GateResult]:
    """Whether the best equals itself and the canary was seen, over all pairs."""
    control = next(sample.shape for sample in measurement.samples if sample.leg is Arm.CANARY)
    only = _restrict(measurement, control)
    again = pair_ratios(only, measurement.plan.clock, Arm.AGAIN).whole
    canary = pair_ratios(only, measurement.plan.clock, Arm.CANARY).whole
    null = gain_interval(again, AA_ALPHA)
    is_null = null.lower <= 0 <= null.upper or abs(null.estimate) < AA_LIMIT
    seen = gain_interval(canary, 0.05)
    blind = sum(value >= 0 for value in canary)
    return (
        GateResult(
            property="a-a",
            passed=is_null,
            reason=f"The best against itself measures {null.estimate:+.1%} ({say(null)}); the two must not differ.",
            evidence=tuple(f"pair {at}: {math.expm1(value):+.2%}" for at, value in enumerate(again)),
        ),
        GateResult(
            property="canary",
            passed=blind <= len(canary) // 5,  # one wild pair in five must not end a run on a busy machine
            reason=f"The best slowed by {measurement.plan.canary:.0%} reads {seen.estimate:+.1%} ({say(seen)}), "
            f"slower in {len(canary) - blind} of {len(canary)} pairs; it must be seen.",
            evidence=tuple(f"pair {at}: {math.expm1(value):+.2%}" for at, value in enumerate(canary)),
        ),
    )


def _restrict(measurement: Measurement, shape: str) -> Measurement:
    samples = tuple(one for one in measurement.samples if one.shape == shape)
    ratios = tuple(one for one in measurement.ratios if one.shape == shape)
    return replace(measurement, shapes=(shape,), samples=samples, ratios=ratios)
