"""Controls in every measuring run: is the instrument itself to be trusted now? If not, there is no verdict."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.arm import LiveLeg, Setup
from layline.campaign.measure.build import Built, NotBuilt, build_kernel
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.pair import REQUEST_MS, Key, PairRun
from layline.campaign.values.judge import pair_ratios, say
from layline.campaign.values.model import GateResult, Leg, Measurement, Operator, Shape, Snapshot
from layline.campaign.values.statistics import gain_interval, quantile
from layline.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

_OWN: dict[tuple[str, str], tuple[Built, bytes]] = {}
CONTROL_REQUESTS = 8
CONTROLS = (Leg.BEST, Leg.AGAIN, Leg.CANARY)
TRIAL_SPIN = 400_000
AA_ALPHA = 0.001
AA_LIMIT = 0.01
"""A difference between the best and itself below this is never held against the instrument."""


def wrap(operator: Operator, source: str) -> Snapshot:
    """One of our own kernels as a snapshot."""
    return Snapshot(files=(("kernel.c" if operator.language == "c" else "kernel.py", source),))


def build_own(setup: Setup, source: str) -> Built:
    """Compile one of our own kernels, once in the life of this process: nobody but us can have changed it."""
    key = (setup.operator.language, source)
    if key not in _OWN or setup.operator.language != "c":
        built = build_kernel(wrap(setup.operator, source), setup.operator, setup.shop)
        if isinstance(built, NotBuilt):
            raise BenchError(f"One of Layline's own kernels does not compile: {built.reason}")
        _OWN[key] = (built, built.path.read_bytes())
        return built
    built, data = _OWN[key]
    path = Path(tempfile.mkdtemp(dir=setup.shop)) / "kernel.so"
    path.write_bytes(data)
    return replace(built, path=path, units=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Untouched:
    """A worker with a kernel that does nothing."""

    overhead_ms: float
    """CPU time of an empty call."""
    mode: int
    """Its floating-point mode."""
    weaker: tuple[str, ...]
    """What its sandbox lacks."""
    files: frozenset[str]
    """Files whose code is in it."""


def measure_empty_call(setup: Setup, rng: np.random.Generator) -> Untouched:
    """What a worker is and costs before any kernel does anything."""
    operator = setup.operator
    if operator.language == "python":
        source = "".join(f"def {step.symbol}(*_): return None\n" for step in operator.passes)
    else:
        source = "".join(f"int {step.symbol}(void) {{ return 0; }}\n" for step in operator.passes)
    built = build_own(setup, source)
    shape = setup.shapes[0]
    given = draw(operator, shape, rng, operator.distributions[0])
    with LiveLeg(Leg.BEST, built, setup, rng) as leg:
        leg.worker.load()
        replies = [leg.call_unchecked(operator.passes[0], given) for _ in range(30)]
        return Untouched(
            overhead_ms=quantile([reply.cpu_ns / 1e6 for reply in replies], 0.1),
            mode=replies[-1].mode,
            weaker=leg.worker.weaker,
            files=leg.worker.mapped_files(),
        )


def check_known_wrong(setup: Setup, rng: np.random.Generator) -> GateResult:
    """A subtly wrong kernel must be refused."""
    built = build_own(setup, setup.operator.wrong)
    operator = setup.operator
    refused: Fault | None = None
    with LiveLeg(Leg.CANDIDATE, built, setup, rng) as leg:
        leg.worker.load()
        try:
            for shape in operator.shapes:
                given = draw(operator, shape, rng, operator.distributions[0])
                for step in operator.passes:
                    leg.run(step, given)
        except Fault as fault:
            refused = fault
    if refused is None:
        return GateResult(property="known-wrong", passed=False, reason="A kernel known to be wrong was not refused.")
    return GateResult(
        property="known-wrong",
        passed=True,
        reason=f"A kernel known to be wrong was refused ({refused.property}).",
        evidence=(refused.reason,),
    )


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


def calibrate_canary(setup: Setup, leg: LiveLeg, rng: np.random.Generator) -> Canary:
    """Choose a shape of modest cost and find out what a turn of the worker's empty loop costs."""
    operator = setup.operator
    ordered = sorted(setup.shapes, key=operator.passes[0].flops)
    shape = ordered[len(ordered) // 2]
    spins = []
    cheapest = math.inf
    for step in operator.passes:
        bare, loaded = [], []
        for _ in range(5):
            given = draw(operator, shape, rng, operator.distributions[0])
            bare.append(leg.run(step, given).cpu_ns)
            loaded.append(leg.run(step, given, spin=TRIAL_SPIN).cpu_ns)
        per_turn = max(
            1.0, quantile([with_ - without for with_, without in zip(loaded, bare, strict=True)], 0.5) / TRIAL_SPIN
        )
        spins.append((step.name, round(setup.plan.canary * quantile(bare, 0.5) / per_turn)))
        cheapest = min(cheapest, *bare)
    return Canary(shape=shape, spins=tuple(spins), count=max(1, min(8, round(REQUEST_MS * 1e6 / cheapest))))


def run_controls(
    setup: Setup, best: LiveLeg, places: Sequence[Built], canary: Canary, rng: np.random.Generator
) -> dict[Key, list[tuple[float, float]]]:
    """The best against itself, and against itself made slower, on one shape, interleaved like any pair.

    All three are new processes, each with the kernel at another place: one that has served calls before has its pages and translations at hand, and would read
    faster.
    """
    operator, shape, spins = setup.operator, canary.shape, dict(canary.spins)
    run = PairRun(number=0)
    with ExitStack() as stack:
        order = [CONTROLS[int(at)] for at in rng.permutation(len(CONTROLS))]
        legs = [stack.enter_context(LiveLeg(leg, built, setup, rng)) for leg, built in zip(order, places, strict=True)]
        for leg in legs:
            leg.worker.load()
            leg.worker.pin(best.worker.cores)
        for request in range(CONTROL_REQUESTS + 1):
            given = draw(operator, shape, rng, operator.distributions[0], count=canary.count)
            for step in operator.passes:
                for index in rng.permutation(len(legs)):
                    leg = legs[int(index)]
                    spin = canary.count * spins[step.name] if leg.leg is Leg.CANARY else 0
                    ran = leg.run(step, given, spin=spin)
                    if request:  # the first one warms up
                        run.record(leg.leg, f"control:{shape.label}", step.name, ran)
    return dict(run.times)


def judge_controls(measurement: Measurement) -> tuple[GateResult, GateResult]:
    """Whether the best equals itself and the canary was seen, over all pairs."""
    control = next(sample.shape for sample in measurement.samples if sample.leg is Leg.CANARY)
    only = _restrict(measurement, control)
    again = pair_ratios(only, measurement.plan.clock, Leg.AGAIN).whole
    canary = pair_ratios(only, measurement.plan.clock, Leg.CANARY).whole
    null = gain_interval(again, AA_ALPHA)
    is_null = null.lower <= 0 <= null.upper or abs(null.estimate) < AA_LIMIT
    seen = gain_interval(canary, 0.05)
    blind = sum(value >= 0 for value in canary)
    return (
        GateResult(
            property="a-a",
            passed=is_null,
            reason=f"The best against itself reads {null.estimate:+.1%} ({say(null)}); it must not differ.",
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
