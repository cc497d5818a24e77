"""Gates that need the whole run: does the gain reach held-out shapes, is the time physically possible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from layline.campaign.judge import pair_ratios, say
from layline.campaign.model import Bucket, GateResult, Leg, Measurement, Operator, Shape
from layline.campaign.oracle import compare_errors
from layline.campaign.statistics import gain_interval

if TYPE_CHECKING:
    from layline.campaign.oracle import Error
    from layline.campaign.pair import PairRun

CARRY_FROM = math.log1p(0.10)
"""From this gain on the median of a few pairs tells whether it reaches a neighbour."""
CARRY_SHARE = 0.25
CARRY_ERROR = 0.05
"""One-sided error of calling a gain that is there on neighbours absent."""
TIMED_ROOM = 1.25
"""The yardstick is a few calls of another process on other inputs of the same distribution."""
PEAK_FLOPS_PER_CORE = 64 * 6e9
"""Two 512-bit fused multiply-adds per cycle at 6 GHz: no core of today does more in f32."""
PASSED = (
    ("writes-every-output", "Every element of every output was written on every call."),
    ("finite", "Every output was finite on every call."),
    ("correct", "Every call, timed ones included, was within the tolerance of the fp64 oracle."),
    ("hard-inputs", "Right for every input distribution."),
    ("exact-integers", "Exact where integer inputs make the result exact."),
    ("held-out-shape", "Right on odd, prime, tiny and empty neighbours of every shape."),
    ("follows-inputs", "One changed element on the same place changed the output as it should."),
    ("late-write", "Nothing was written after return."),
    ("late-work", "The worker stopped after every reply."),
    ("guard-band", "Nothing was written outside the outputs."),
    ("memory-safe", "AddressSanitizer saw no access outside a buffer (unless said to be weaker)."),
    ("input-modified", "No input was changed."),
    ("repeatable", "The same inputs gave the same outputs up to rounding."),
    ("floating-point-mode", "Rounding and flush-to-zero were left alone."),
    ("bounded-memory", "The same calls over and over do not take ever more memory."),
    ("charged-in-full", "Nobody but the worker used CPU time for it."),
    ("forged-reply", "Every reply came from the worker, once."),
    ("own-code", "Only code built from the kernel's sources, or allowed by the plan, was in the worker."),
)


def close_gates(
    measurement: Measurement, operator: Operator, shapes: Sequence[Shape], pairs: Sequence[PairRun]
) -> Iterator[GateResult]:
    """Every property with its result; those checked call by call have passed if we got here."""
    calls = sum(sample.cpu.calls for sample in measurement.samples)
    yield from (
        GateResult(property=name, passed=True, reason=reason, evidence=(f"{calls} timed requests and the probes",))
        for name, reason in PASSED
    )
    yield from _check_physics(measurement, operator, shapes)
    if measurement.candidate is None:
        return
    if pairs and pairs[0].held_out:
        yield check_carry(measurement, pairs)
    refused = measurement.bucket in (Bucket.W2, Bucket.W3)
    yield GateResult(
        property="no-forbidden-state",
        passed=not refused,
        reason=f"State outlives a call: {measurement.state} ({measurement.bucket})."
        if measurement.state
        else "Repeating inputs makes nothing faster.",
        evidence=(_trace(measurement),) if measurement.hit_trace else (),
    )


def check_carry(measurement: Measurement, pairs: Sequence[PairRun]) -> GateResult:
    """A gain on the listed shapes must be there on equally aligned shapes nobody listed.

    A large gain is refused when the neighbours' median shows less than a quarter of it; a small one, which a median over a
    few pairs cannot tell from noise, when the upper bound of what neighbours gain is below a quarter of it.
    """
    listed = math.fsum(pair_ratios(measurement, "cpu").whole) / measurement.pairs
    labels = measurement.shapes
    timed = [pair for pair in pairs if pair.held_out]
    held = sorted(math.fsum(pair.held_out[label] for label in labels) / len(labels) for pair in timed)
    middle, bounds = held[len(held) // 2], gain_interval(held, CARRY_ERROR)
    wanted = CARRY_SHARE * listed
    is_lost = listed > 0 and (math.log1p(bounds.upper) < wanted or (listed >= CARRY_FROM and middle < wanted))
    told = f"{math.expm1(listed):+.1%} on the listed shapes, {math.expm1(middle):+.1%} ({say(bounds)}, {len(held)} pairs) on equally aligned neighbours"
    return GateResult(
        property="gain-carries-over",
        passed=not is_lost,
        reason=f"The gain exists only on the listed shapes: {told}." if is_lost else f"The gain is {told}.",
        evidence=tuple(
            f"pair {pair.number} {label}: {math.expm1(value):+.1%}"
            for pair in pairs[:3]
            for label, value in pair.held_out.items()
        ),
    )


def check_timed_errors(
    operator: Operator, yardstick: Mapping[str, list[Error]], pairs: Sequence[PairRun]
) -> Iterator[GateResult]:
    """The timed calls themselves must be as accurate as the starting kernel: precision may not wait for a check."""
    for shape, start in yardstick.items():
        ours = [error for pair in pairs for error in pair.errors[Leg.CANDIDATE, shape]]
        for wrong in compare_errors(TIMED_ROOM * operator.tolerance.error_ratio, ours, start):
            yield GateResult(
                property=wrong.property,
                passed=False,
                reason=f"{shape}, timed calls: {wrong.reason}",
                evidence=wrong.evidence,
            )
            return
    if yardstick:
        calls = sum(len(errors) for pair in pairs for (leg, _), errors in pair.errors.items() if leg is Leg.CANDIDATE)
        yield GateResult(
            property="error-not-worse",
            passed=True,
            reason="No output is less accurate than the starting kernel's by more than allowed.",
            evidence=(f"{calls} outputs of timed calls and the probes",),
        )


def _check_physics(measurement: Measurement, operator: Operator, shapes: Sequence[Shape]) -> Iterator[GateResult]:
    """No time below what the arithmetic needs on the fastest core there is."""
    by_label = {shape.label: shape for shape in shapes}
    steps = {step.name: step for step in operator.passes}
    leg = Leg.CANDIDATE if measurement.candidate is not None else Leg.BEST
    for sample in measurement.samples:
        if sample.leg is not leg or sample.shape not in by_label:
            continue
        floor = steps[sample.step].flops(by_label[sample.shape]) / PEAK_FLOPS_PER_CORE * 1e3
        if sample.cpu.low < floor:
            yield GateResult(
                property="physically-possible",
                passed=False,
                reason=f"{sample.step} on {sample.shape} took {sample.cpu.low:.4f} ms of CPU time; the arithmetic alone needs {floor:.4f} ms.",
            )
            return
    yield GateResult(property="physically-possible", passed=True, reason="No time is below what the arithmetic needs.")


def _trace(measurement: Measurement) -> str:
    hits = measurement.hit_trace.count("h")
    return f"eight training steps: {measurement.hit_trace}, {hits} of {len(measurement.hit_trace)} served from memory"
