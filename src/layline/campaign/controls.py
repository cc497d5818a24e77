"""Controls in every measuring run: is the instrument itself to be trusted now? If not, there is no verdict."""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import TYPE_CHECKING

from layline.campaign.build import Built, NotBuilt, build_kernel
from layline.campaign.feed import draw
from layline.campaign.judge import read_ratios, say
from layline.campaign.leg import LiveLeg, Setup
from layline.campaign.link import Fault
from layline.campaign.model import GateResult, Leg, Measurement, Operator, Shape, Snapshot, Timing
from layline.campaign.pair import PairRun
from layline.campaign.statistics import bound_mean, gain_interval, quantile
from layline.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

AA_ALPHA = 0.001
AA_LIMIT = 0.01
"""A difference between the best and itself below this is never held against the instrument."""


def wrap(operator: Operator, source: str) -> Snapshot:
    """One of our own kernels as a snapshot."""
    return Snapshot(files=(("kernel.c" if operator.language == "c" else "kernel.py", source),))


def build_own(setup: Setup, source: str) -> Built:
    """Compile one of our own kernels."""
    built = build_kernel(wrap(setup.operator, source), setup.operator, setup.shop)
    if isinstance(built, NotBuilt):
        raise BenchError(f"One of Layline's own kernels does not compile: {built.reason}")
    return built


def measure_empty_call(setup: Setup, rng: np.random.Generator) -> tuple[float, int, tuple[str, ...]]:
    """CPU milliseconds of a call that does nothing, the untouched floating-point mode, what the sandbox lacks."""
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
        return quantile([reply.cpu_ns / 1e6 for reply in replies], 0.1), replies[-1].mode, leg.worker.weaker


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


def run_controls(setup: Setup, best: Built, shape: Shape, run: PairRun, rng: np.random.Generator) -> None:
    """The best against itself, and against itself made slower, on one shape, interleaved like any pair."""
    operator = setup.operator
    with ExitStack() as stack:
        legs = [stack.enter_context(LiveLeg(leg, best, setup, rng)) for leg in (Leg.BEST, Leg.AGAIN, Leg.CANARY)]
        for leg in legs:
            leg.worker.load()
        spins = _calibrate(setup, legs[2], shape, rng)
        reference = PairRun(number=run.number)
        for _request in range(max(8, setup.plan.calls)):
            given = draw(operator, shape, rng, operator.distributions[0])
            for index in rng.permutation(len(legs)):
                leg = legs[int(index)]
                for step in operator.passes:
                    spin = spins[step.name] if leg.leg is Leg.CANARY else 0
                    reference.record(leg.leg, shape.label, step.name, leg.run(step, given, spin=spin))
        for (leg_, label, step_), times in reference.times.items():
            run.times[leg_, f"control:{label}", step_] = times


def _calibrate(setup: Setup, leg: LiveLeg, shape: Shape, rng: np.random.Generator) -> dict[str, int]:
    """Loop counts that make each pass slower by the planned share."""
    operator = setup.operator
    trial = 200_000
    spins = {}
    for step in operator.passes:
        bare, loaded = [], []
        for _ in range(5):
            given = draw(operator, shape, rng, operator.distributions[0])
            bare.append(leg.run(step, given).cpu_ns)
            loaded.append(leg.run(step, given, spin=trial).cpu_ns)
        per_turn = max(1.0, (min(loaded) - min(bare)) / trial)
        spins[step.name] = round(setup.plan.canary * min(bare) / per_turn)
    return spins


def judge_controls(measurement: Measurement) -> tuple[GateResult, GateResult]:
    """Whether the best equals itself and the canary was seen, over all pairs."""
    control = next(sample.shape for sample in measurement.samples if sample.leg is Leg.AGAIN)
    only = _restrict(measurement, control)
    again = read_ratios(only, measurement.plan.clock, _low, Leg.AGAIN).whole
    canary = read_ratios(only, measurement.plan.clock, _low, Leg.CANARY).whole
    null = gain_interval(again, AA_ALPHA)
    is_null = null.lower <= 0 <= null.upper or abs(null.estimate) < AA_LIMIT
    _mean, _lower, upper = bound_mean(canary, 0.05)
    seen = gain_interval(canary, 0.05)
    return (
        GateResult(
            property="a-a",
            passed=is_null,
            reason=f"The best against itself reads {null.estimate:+.1%} ({say(null)}); it must not differ.",
            evidence=tuple(f"pair {at}: {math.expm1(value):+.2%}" for at, value in enumerate(again)),
        ),
        GateResult(
            property="canary",
            passed=upper < 0,
            reason=f"The best slowed by {measurement.plan.canary:.0%} reads {seen.estimate:+.1%} ({say(seen)}); it must be seen as slower.",
            evidence=tuple(f"pair {at}: {math.expm1(value):+.2%}" for at, value in enumerate(canary)),
        ),
    )


def _restrict(measurement: Measurement, shape: str) -> Measurement:
    from dataclasses import replace

    return replace(
        measurement, shapes=(shape,), samples=tuple(one for one in measurement.samples if one.shape == shape)
    )


def _low(timing: Timing) -> float:
    return timing.low
