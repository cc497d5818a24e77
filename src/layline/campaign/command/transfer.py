"""The transfer simulation of a command-measured campaign: training steps with fresh tensors, run by the user's program.

`transfer_command --summary-csv FILE` makes eight steps per shape as training does (fresh activations and gradients, one
weight that an optimiser step changes) and writes one row per shape and step. Best and candidate run in turn, as fresh
processes; a gain counts as real only as far as it is there too. Parsing and comparing are pure.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from layline.campaign.values.judge import say
from layline.campaign.values.measurement import Bucket, GateResult, Outcome
from layline.campaign.values.statistics import gain_interval
from layline.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from layline.campaign.values.measurement import Measurement
    from layline.campaign.values.verdict import Verdict

HEADER = ("label", "step", "ms", "activation_hits", "weight_hits")
STEPS = 8
LOOKS = (5, 8, 12)
"""Process pairs of the simulation after which it may be told whether a gain transfers."""
ERROR = 0.05 / len(LOOKS)
"""One-sided, of each look: together 5 %."""
SHARE = 0.25
"""A gain of which the training steps show less than this share (of its logarithm) lives in the benchmark."""
UNSIMULATED = (
    "Measured by the user's own command: not called real, because no transfer simulation has run (`transfer_command`)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStep:
    """One simulated training step on one shape."""

    label: str
    number: int
    ms: float
    activation_hits: int
    """Times a cache keyed on an activation or a gradient was hit; in training that never happens."""
    weight_hits: int


def parse_steps(data: bytes, labels: Sequence[str]) -> tuple[TrainingStep, ...]:
    """Read strictly: this header, every shape asked for, eight steps each, positive times."""
    where = "transfer.csv"
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8"))))
    except UnicodeDecodeError:
        raise RecordError(where, ("it is not UTF-8",)) from None
    if not lines or tuple(lines[0]) != HEADER:
        raise RecordError(where, (f"its header is not {','.join(HEADER)}",))
    steps = tuple(_parse_step(number, words, where) for number, words in enumerate(lines[1:], 2))
    wanted = sorted((label, number) for label in labels for number in range(1, STEPS + 1))
    if sorted((step.label, step.number) for step in steps) != wanted:
        raise RecordError(where, (f"it does not hold steps 1 to {STEPS} of each of {', '.join(labels)}",))
    return steps


def _parse_step(line: int, words: list[str], where: str) -> TrainingStep:
    try:
        label, number, ms, activation, weight = words
        step = TrainingStep(
            label=label,
            number=int(number),
            ms=float(ms),
            activation_hits=int(activation or 0),
            weight_hits=int(weight or 0),
        )
    except ValueError:
        raise RecordError(where, (f"line {line} is not label, step, milliseconds and two counts",)) from None
    if not (math.isfinite(step.ms) and step.ms > 0) or step.activation_hits < 0 or step.weight_hits < 0:
        raise RecordError(where, (f"line {line} holds a time or a count that cannot be",))
    return step


def compare_steps(best: Sequence[TrainingStep], candidate: Sequence[TrainingStep]) -> float:
    """ln(t_best / t_candidate) of a whole step, mean over shapes; the first step of each warms up and is left out."""
    ours, theirs = _read_times(candidate), _read_times(best)
    return math.fsum(math.log(theirs[label] / ours[label]) for label in ours) / len(ours)


def _read_times(steps: Sequence[TrainingStep]) -> dict[str, float]:
    times: dict[str, float] = {}
    for step in steps:
        if step.number > 1:
            times[step.label] = times.get(step.label, 0.0) + step.ms
    return times


def trace_hits(steps: Sequence[TrainingStep]) -> str:
    """One letter per simulated step: whether anything but the weight was served from memory."""
    return "".join("h" if step.activation_hits else "m" for step in steps)


def _tell_hits(steps: int, kept: int, hits: int) -> str:
    if hits:
        times = f"{hits} {'time' if hits == 1 else 'times'} in {steps} steps"
        return f"A cache of activations or gradients was hit {times}: real training never repeats them."
    weight = f"{kept} {'hit' if kept == 1 else 'hits'} on the weight"
    return f"{steps} training steps with fresh tensors: {weight}, none on anything else."


def add_transfer(measurement: Measurement, simulated: Sequence[float], steps: Sequence[TrainingStep]) -> Measurement:
    """The measurement with what the simulation saw; hits on activations are refused here."""
    hits = sum(step.activation_hits for step in steps)
    kept = sum(step.weight_hits for step in steps)
    gate = GateResult(
        property="transfers",
        passed=hits == 0,
        reason=_tell_hits(len(steps), kept, hits),
        evidence=tuple(
            f"pair {at + 1}: {math.expm1(value):+.2%} in training steps" for at, value in enumerate(simulated)
        ),
    )
    return replace(
        measurement,
        simulated=tuple(simulated),
        hit_trace=trace_hits(steps),
        gates=(*measurement.gates, gate),
        bucket=Bucket.W2 if hits else measurement.bucket,
    )


class Transfer(StrEnum):
    """What training steps say about a gain."""

    REAL = "real"
    """It is there: the lower bound is above nothing."""
    OVERFIT = "overfit"
    """It is not, or hardly: the upper bound is below the least effect, or below a quarter of the benchmark's gain."""
    UNSHOWN = "unshown"
    """These pairs cannot tell."""


def read_transfer(simulated: Sequence[float], gain: float, min_effect: float) -> Transfer:
    """Whether a benchmark gain (a fraction) is there in training steps."""
    seen = gain_interval(simulated, ERROR)
    if math.log1p(seen.upper) < max(math.log1p(min_effect), SHARE * math.log1p(gain)):
        return Transfer.OVERFIT
    return Transfer.REAL if seen.lower > 0 else Transfer.UNSHOWN


def judge_transfer(verdict: Verdict, measurement: Measurement, weight_share: float | None) -> Verdict:
    """An accepted gain counts as real as far as the training steps show it; one that is not there is rolled back."""
    if not measurement.simulated:
        return replace(verdict, transferred=None, notes=(*verdict.notes, UNSIMULATED))
    if not verdict.outcome.is_accepted or verdict.interval is None:
        return replace(verdict, transferred=None)
    seen, gain = gain_interval(measurement.simulated, ERROR), verdict.interval.estimate
    note = (
        f"In {STEPS} simulated training steps with fresh tensors the gain is {seen.estimate:+.1%} ({say(seen)}, "
        f"{seen.pairs} process pairs)."
    )
    noted = replace(verdict, transferred=None, notes=(*verdict.notes, note))
    match read_transfer(measurement.simulated, gain, measurement.plan.min_effect):
        case Transfer.OVERFIT:
            reason = (
                f"The gain does not survive training steps with fresh tensors: {gain:+.1%} in the benchmark, "
                f"{seen.estimate:+.1%} ({say(seen)}) there."
            )
            return replace(noted, outcome=Outcome.ROLLBACK, reason=reason)
        case Transfer.UNSHOWN:
            return replace(noted, notes=(*noted.notes, "Not called real: these steps do not show that it transfers."))
        case Transfer.REAL:
            bounds = [gain, seen.estimate]
            if verdict.bucket is Bucket.W1 and weight_share is not None:
                bounds.append(weight_share)
            return replace(noted, transferred=min(bounds))


def find_missing(command: str | None) -> Iterator[str]:
    """What a report must say where nothing was simulated."""
    if command is None:
        yield "No transfer simulation was run (the manifest names no `transfer_command`): no gain here is called real."
