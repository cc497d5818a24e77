"""Gates that need the whole run: does the gain reach held-out shapes, is the time physically possible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from layline.campaign.devices.faults import Disturbed
from layline.campaign.measure.launching import check_launching
from layline.campaign.measure.oracle import Error, compare_errors
from layline.campaign.measure.pair import PairRun
from layline.campaign.measure.stage import ACCOUNT, Floors, Stage
from layline.campaign.values.judge import pair_ratios, say
from layline.campaign.values.measurement import Arm, Bucket, GateResult, Measurement
from layline.campaign.values.operator import Operator
from layline.campaign.values.statistics import gain_interval

CARRY_FROM = math.log1p(0.10)
"""From this gain on the median of a few pairs tells whether it reaches a neighbour."""
CARRY_SHARE = 0.25
MOSTLY = 0.8
CARRY_ERROR = 0.05
"""One-sided error of calling a gain that is there on neighbours absent."""
TIMED_ROOM = 1.25
"""The yardstick is a few calls of another process on other inputs of the same distribution."""
_BUCKETS = {
    Bucket.W1: "a cache of the weight, whose gain is bounded by what it saves in training",
    Bucket.W2: "a cache of an activation or gradient; in training these are new in every step, so the gain is not "
    "there",
    Bucket.W3: "a memory of whole calls; in training no call comes twice, so the gain is not there",
}
REASONS = {
    "writes-every-output": "Every element of every output was written on every call.",
    "finite": "Every output was finite on every call.",
    "correct": "Every call, timed ones included, was within the tolerance of the fp64 oracle.",
    "hard-inputs": "Right for every input distribution.",
    "exact-integers": "Exact where integer inputs make the result exact.",
    "held-out-shape": "Right on odd, prime, tiny and empty neighbours of every shape.",
    "follows-inputs": "One changed element at the same address changed the output as it should.",
    "late-write": "Nothing was written after return.",
    "late-work": "The worker stopped after every reply.",
    "guard-band": "Nothing was written outside the outputs.",
    "memory-safe": "No access outside a buffer was seen.",
    "input-modified": "No input was changed.",
    "repeatable": "The same inputs gave the same outputs up to rounding.",
    "floating-point-mode": "Rounding and flush-to-zero were left alone.",
    "bounded-memory": "Repeating the same calls does not take more and more memory.",
    "charged-in-full": "No process but the worker used CPU time for it.",
    "forged-reply": "Every reply came from the worker, once.",
    "own-code": "Only code built from the kernel's sources, or allowed by the plan, did the work.",
    "gain-in-the-mean": "Rare long calls do not cancel the gain.",
    "keeps-contract": "Arguments the starting kernel refuses are refused.",
    "own-buffers": "Buffers of calls that were not made were left alone.",
    "special-values": "NaN, infinity and overflow are answered as the starting kernel answers them.",
    "endures": "Right and as fast after thousands of calls in one process.",
    "every-process": "Right in every new process.",
    "stream-order": "The kernel keeps the order of the stream it is called on.",
    "wide-offsets": "Right with more elements than 32 bits can count.",
    "clocks-agree": "The parent's clock and the device's events agreed on every block.",
    "timers-untouched": "Functions that time or wait were left alone.",
    "persisting-l2": "No L2 memory was set aside to survive the flush.",
    "global-state": "Settings of the whole process were left alone.",
}
"""What a property means where its probe found nothing against it."""
ON_EVERY_CALL = (
    "writes-every-output",
    "finite",
    "correct",
    "guard-band",
    "own-buffers",
    "input-modified",
    "forged-reply",
)
"""Looked at after every single call, on every device."""
Shown = Mapping[str, str]
"""What each property was shown by; one that is not in it was not looked at, and nothing is claimed."""


def claim(shown: Shown) -> Iterator[GateResult]:
    """The properties that were shown, each with the evidence of its own probe."""
    for name, evidence in shown.items():
        yield GateResult(property=name, passed=True, reason=REASONS[name], evidence=(evidence,))


def describe_calls(measurement: Measurement) -> str:
    """What was checked call by call."""
    return f"{sum(sample.cpu.calls for sample in measurement.samples)} timed requests and all calls of the probes"


def close_gates(measurement: Measurement, stage: Stage, pairs: Sequence[PairRun], shown: Shown) -> Iterator[GateResult]:
    """Every property with its result; those checked call by call have passed if we got here."""
    calls = describe_calls(measurement)
    more = ("clocks-agree",) if stage.device.has_events else ()
    stopped = ("late-work",) if ACCOUNT in stage.device.gives else ()
    yield from claim({**dict.fromkeys((*ON_EVERY_CALL, "late-write", *stopped, *more), calls), **shown})
    clock = "cpu" if stage.device.clock == "own" else "wall"
    yield _check_physics(measurement, stage.device.find_floors(stage.operator, stage.shapes), clock)
    if measurement.candidate is None:
        return
    pace = check_launching(pairs)
    if pace is not None:
        yield pace
    if any(pair.held_out for pair in pairs):
        yield check_carry(measurement, pairs, clock)
    if measurement.hit_trace:  # only where it was looked at
        yield check_state(measurement)


def check_state(measurement: Measurement) -> GateResult:
    """State that outlives a call is allowed as far as training would meet it again."""
    reason = "Repeating inputs makes nothing faster."
    if measurement.bucket is not None:
        reason = (
            f"The kernel keeps something from call to call: {measurement.state}, by a third or more and beyond what "
            f"it does for the best. {measurement.bucket}: {_BUCKETS[measurement.bucket]}."
        )
    return GateResult(
        property="no-forbidden-state",
        passed=measurement.bucket is None or not measurement.bucket.is_refused,
        reason=reason,
        evidence=(
            describe_trace(measurement) if measurement.hit_trace else "calls with and without repeated inputs, timed",
        ),
    )


def check_carry(measurement: Measurement, pairs: Sequence[PairRun], clock: str = "cpu") -> GateResult:
    """A gain on the listed shapes must be there on equally aligned shapes nobody listed.

    It is refused when the upper bound of what neighbours gain is below a quarter of it; a large one also when their
    median
    is, and four in five process pairs show less than half. A median that low without that is a busy machine's: no
    verdict.
    """
    ratios = pair_ratios(measurement, clock).whole
    listed = math.fsum(ratios) / measurement.pairs
    is_gain = gain_interval(ratios, CARRY_ERROR).lower > 0  # what is none has nowhere to be: the judge says so
    labels = measurement.shapes
    timed = [pair for pair in pairs if pair.held_out]
    held = sorted(math.fsum(pair.held_out[label] for label in labels) / len(labels) for pair in timed)
    middle, bounds = held[len(held) // 2], gain_interval(held, CARRY_ERROR)
    wanted = CARRY_SHARE * listed
    upper = math.log1p(bounds.upper)
    is_doubtful = is_gain and listed >= CARRY_FROM and middle < wanted
    is_mostly_lost = sum(value < listed / 2 for value in held) >= MOSTLY * len(held)
    is_lost = is_gain and (upper < wanted or (is_doubtful and is_mostly_lost))
    told = (
        f"{math.expm1(listed):+.1%} on the listed shapes, {math.expm1(middle):+.1%} ({say(bounds)}, {len(held)} "
        "pairs) on equally aligned neighbours"
    )
    if is_doubtful and not is_lost:
        raise Disturbed(f"It could not be told whether the gain reaches shapes that are not listed: {told}.")
    return GateResult(
        property="gain-carries-over",
        passed=not is_lost,
        reason=f"The gain exists only on the listed shapes: {told}." if is_lost else f"The gain is {told}.",
        evidence=tuple(
            f"pair {pair.number}, neighbours of {label}: {math.expm1(value):+.1%}"
            for pair in pairs[:3]
            for label, value in pair.held_out.items()
        ),
    )


def check_timed_errors(
    operator: Operator, yardstick: Mapping[str, list[Error]], pairs: Sequence[PairRun]
) -> Iterator[GateResult]:
    """The timed calls themselves must be as accurate as the starting kernel: precision may not wait for a check."""
    for shape, start in yardstick.items():
        ours = [error for pair in pairs for error in pair.errors[Arm.CANDIDATE, shape]]
        for wrong in compare_errors(TIMED_ROOM * operator.tolerance.error_ratio, ours, start):
            yield GateResult(
                property=wrong.property,
                passed=False,
                reason=f"{shape}, timed calls: {wrong.reason}",
                evidence=wrong.evidence,
            )
            return
    if yardstick:
        calls = sum(len(errors) for pair in pairs for (arm, _), errors in pair.errors.items() if arm is Arm.CANDIDATE)
        yield GateResult(
            property="error-not-worse",
            passed=True,
            reason="No output is less accurate than the starting kernel's by more than allowed.",
            evidence=(f"{calls} outputs of timed calls and the probes",),
        )


def _check_physics(measurement: Measurement, floors: Floors, clock: str) -> GateResult:
    """No time below what the work needs at the best rate there is."""
    arm = Arm.CANDIDATE if measurement.candidate is not None else Arm.BEST
    for sample in measurement.samples:
        floor = floors.times.get((sample.step, sample.shape), 0.0)
        took = (sample.cpu if clock == "cpu" else sample.wall).low
        if sample.leg is arm and took < floor:
            told = f"{sample.step} on {sample.shape} took {took:.4f} ms; {floors.needs} {floor:.4f} ms."
            return GateResult(property="physically-possible", passed=False, reason=told)
    return GateResult(
        property="physically-possible",
        passed=True,
        reason="No time is below what the work needs.",
        evidence=(floors.told,),
    )


def describe_trace(measurement: Measurement) -> str:
    """The simulated training steps pass by pass, and what the letters mean."""
    trace, steps = measurement.hit_trace, 8
    width = max(1, len(trace) // steps)
    told = " ".join(trace[at : at + width] for at in range(0, len(trace), width))
    return (
        f"{steps} simulated training steps with fresh activations, {trace.count('h')} of {len(trace)} passes "
        "served from "
        f"memory (m: computed anew, h: from memory; one word per step): {told}"
    )
