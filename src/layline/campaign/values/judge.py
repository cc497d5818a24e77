"""Judge a measurement: gates first, then statistics; the reason travels with the verdict. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from layline.campaign.values.amd_rule import judge_literally
from layline.campaign.values.measurement import Arm, Bucket, Measurement, Outcome, Plan, Sample, Status, Timing
from layline.campaign.values.statistics import (
    bound_mean,
    find_smallest_gain,
    gain_interval,
    spend_looks,
    standard_error,
    takes_back,
)
from layline.campaign.values.verdict import Interval, ShapeGain, Verdict
from layline.core.prose import count

FULL_VALIDATION_BELOW = 0.05
"""A quick result (representative shapes) under this gain is measured again on all shapes."""
GIVE_UP_ALPHA = 0.05
"""One-sided error of calling a gain too small that is worth having."""
MEAN_ALPHA = 0.05
"""One-sided error of calling a gain that is there in the mean absent."""
MOSTLY_LOST, WILD = 0.75, 0.25
"""So much of a gain lost in the mean (and so much at all, in logarithms), in some process pairs only, ends without a
verdict."""
TELLING = 0.4
"""How wide the wall clock's interval may be to be worth a line."""
CONTRADICTION_ALPHA = 0.001
"""How sure the other clock must be to overrule the deciding one: on a busy machine it mostly measures the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratios:
    """Log-ratios ln(t_best / t_candidate): one per process pair, on the whole and per shape."""

    whole: tuple[float, ...]
    shapes: tuple[tuple[str, tuple[float, ...]], ...]


def judge(measurement: Measurement, *, bucket: Bucket | None = None, weight_share: float | None = None) -> Verdict:
    """The verdict of a finished measuring run.

    `bucket` is the one declared; what the measurement found outranks it. `weight_share` is quant_time(weight) /
    step_time,
    the most a W1 cache can bring; the share a training simulation measured outranks it.
    """
    refused = _refuse(measurement, bucket)
    if refused:
        return refused
    verdict = look(measurement, is_last=True)
    assert verdict is not None  # noqa: S101  the last look always decides
    bucket = measurement.bucket or bucket
    share = measurement.weight_share if measurement.weight_share is not None else weight_share
    return replace(verdict, bucket=bucket, transferred=_transfer(verdict, bucket, share))


def _refuse(measurement: Measurement, bucket: Bucket | None) -> Verdict | None:
    """The verdict where times do not come into it."""
    measured = measurement.bucket or bucket
    match measurement.status:
        case Status.CONTROLS_FAILED:
            failed = [control for control in measurement.controls if not control.passed]
            why = failed[0].reason if failed else measurement.problem
            return Verdict(
                outcome=Outcome.INCONCLUSIVE, reason=f"No verdict, because a control failed: {why}", bucket=measured
            )
        case Status.BUILD_FAILED | Status.CRASHED | Status.HUNG | Status.REFUSED:
            reasons = [f"fails “{gate.property}”: {gate.reason}" for gate in measurement.failed_gates]
            return Verdict(outcome=Outcome.ROLLBACK, reason=" ".join(reasons) or measurement.problem, bucket=measured)
        case Status.MEASURED:
            pass
    if measurement.failed_gates:
        gate = measurement.failed_gates[0]
        return Verdict(outcome=Outcome.ROLLBACK, reason=f"fails “{gate.property}”: {gate.reason}", bucket=measured)
    if measured is not None and measured.is_refused:
        why = measurement.state or "declared so"
        return Verdict(
            outcome=Outcome.ROLLBACK,
            reason=f"{measured} is refused: real training never hits such a cache ({why}).",
            bucket=measured,
        )
    return None


def look(measurement: Measurement, *, is_last: bool = False) -> Verdict | None:
    """What the samples so far decide; None while more process pairs are worth their time."""
    plan = measurement.plan
    ratios, interval, shapes = figures = _estimate(measurement)
    decided = _decide(plan, *figures)
    if decided is None and not is_last:
        return None
    outcome, reason = decided or _decide_at_the_end(plan, *figures)
    outcome, reason, notes = _hold_against_other_clocks(measurement, outcome, reason)
    notes = (*notes, *_note_first_call(measurement, shapes, outcome))
    literal = judge_literally(ratios.whole, shapes, plan, outcome)
    if outcome.is_accepted and not literal.accepts:
        outcome = Outcome.INCONCLUSIVE
        reason = f"{reason} But AMD's rule refuses it, and Layline's rule is never less strict: {literal.reason}"
        literal = judge_literally(ratios.whole, shapes, plan, outcome)
    return Verdict(outcome=outcome, reason=reason, interval=interval, shapes=shapes, amd_literal=literal, notes=notes)


def is_in_doubt(measurement: Measurement) -> bool:
    """Whether nothing but long calls keeps a gain from being accepted: they are worth a look of their own."""
    plan, figures = measurement.plan, _estimate(measurement)
    outcome, _reason = _decide(plan, *figures) or _decide_at_the_end(plan, *figures)
    return outcome.is_accepted and _find_denial(measurement) is not None


def _estimate(measurement: Measurement) -> tuple[Ratios, Interval, tuple[ShapeGain, ...]]:
    """The gain by process pair, its interval with the error this look may spend, and the same by shape."""
    ratios = pair_ratios(measurement, measurement.plan.clock)
    alpha = _share(measurement.plan, measurement.pairs)
    return ratios, gain_interval(ratios.whole, alpha), tuple(_shape_rows(measurement, ratios, alpha))


def _decide(
    plan: Plan, ratios: Ratios, interval: Interval, shapes: tuple[ShapeGain, ...]
) -> tuple[Outcome, str] | None:
    """A decision that holds at any look, or None."""
    core = [row for row in shapes if plan.is_core(row.shape)]
    lost = [row for row in core if row.gain.upper < -plan.shape_loss]
    if lost:
        worst = min(lost, key=lambda row: row.gain.estimate)
        return Outcome.ROLLBACK, f"{worst.shape} is {-worst.gain.estimate:.1%} slower (confirmed {say(worst.gain)})."
    unresolved = [row for row in core if row.gain.lower < -plan.shape_loss]
    if interval.lower > plan.min_effect and not unresolved:
        return _accept(interval, shapes, plan)
    if _is_hopeless(plan, ratios):
        return _give_up(plan, ratios, interval, ", and more pairs would hardly decide it")
    return None


def _is_hopeless(plan: Plan, ratios: Ratios) -> bool:
    """Whether more pairs are not worth their time: one standard error below the margin at first, one above it in the end.

    A gain that the last look would find is that low at an earlier one in less than one round of a hundred.
    """
    pairs = len(ratios.whole)
    error = standard_error(ratios.whole)
    above = math.fsum(ratios.whole) / pairs - math.log1p(plan.min_effect)
    return error == 0 or above / error < 2 * pairs / plan.looks[-1] - 1


def _decide_at_the_end(
    plan: Plan, ratios: Ratios, interval: Interval, shapes: tuple[ShapeGain, ...]
) -> tuple[Outcome, str]:
    """The decision when no more pairs will be measured."""
    core = [row for row in shapes if plan.is_core(row.shape)]
    worst = min(core, key=lambda row: row.gain.estimate, default=None)
    if worst is not None and worst.gain.estimate <= -plan.shape_loss:
        return Outcome.ROLLBACK, f"{worst.shape} is estimated {-worst.gain.estimate:.1%} slower ({say(worst.gain)})."
    if interval.lower > plan.min_effect:
        return _accept(interval, shapes, plan)
    return _give_up(plan, ratios, interval)


def _accept(interval: Interval, shapes: tuple[ShapeGain, ...], plan: Plan) -> tuple[Outcome, str]:
    slower = [row for row in shapes if row.gain.upper < 0 or row.gain.estimate < -plan.min_effect]
    gain = (
        f"{interval.estimate:+.1%}, at least {interval.lower:+.1%} with {interval.confidence:.2%} confidence "
        f"over {interval.pairs} process pairs"
    )
    if not slower:
        return Outcome.ACCEPT, f"Faster by {gain}."
    listed = ", ".join(f"{row.shape} {row.gain.estimate:+.1%}" for row in slower)
    return Outcome.ACCEPT_TRADEOFF, f"Faster by {gain}; slower on {listed}."


def _give_up(plan: Plan, ratios: Ratios, interval: Interval, more: str = "") -> tuple[Outcome, str]:
    _mean, _lower, upper = bound_mean(ratios.whole, GIVE_UP_ALPHA)
    figure = f"The gain is {interval.estimate:+.1%} over {interval.pairs} process pairs"
    if math.expm1(upper) <= plan.min_effect:
        below = f"with {1 - GIVE_UP_ALPHA:.0%} confidence at most {math.expm1(upper):+.1%}"
        return Outcome.ROLLBACK, f"{figure}, {below}: less than the {plan.min_effect:.0%} worth having."
    return Outcome.INCONCLUSIVE, f"{figure} ({say(interval)}): it may or may not exceed {plan.min_effect:.0%}{more}."


def _hold_against_other_clocks(
    measurement: Measurement, outcome: Outcome, reason: str
) -> tuple[Outcome, str, tuple[str, ...]]:
    """An accepted gain must not be denied by the other clock or by another part of the distribution."""
    plan = measurement.plan
    other = "wall" if plan.clock == "cpu" else "cpu"
    called = "device" if measurement.environment.accelerator and other == "cpu" else other
    beside = gain_interval(pair_ratios(measurement, other).whole, CONTRADICTION_ALPHA)
    name, estimate = ("each kernel's quickest tenth", _low) if measurement.ratios else ("medians", _median)
    differently = gain_interval(read_ratios(measurement, plan.clock, estimate).whole, 0.01)
    notes = (
        _tell_other_clock(called, beside, outcome),
        f"Judged by {name} the gain is {differently.estimate:+.1%} ({say(differently)}).",
    )
    if outcome.is_accepted and plan.clock == "cpu" and beside.upper < 0:
        return Outcome.ROLLBACK, f"Less CPU time but more waiting: {notes[0]}", notes
    if outcome.is_accepted and called == "device" and beside.upper < 0:
        return Outcome.ROLLBACK, f"The parent's clock and the device's contradict each other: {notes[0]}", notes
    denied = _find_denial(measurement) if outcome.is_accepted else None
    if denied:
        return *denied, notes
    if outcome.is_accepted and differently.upper < plan.min_effect:
        return Outcome.ROLLBACK, f"Only some calls are faster: {notes[1]}", notes
    says_nothing = called == "wall" and beside.upper - beside.lower > TELLING
    return outcome, reason, notes[1:] if says_nothing else notes


def _tell_other_clock(called: str, beside: Interval, outcome: Outcome) -> str:
    if called == "wall":
        use = "a loss there would cancel the gain" if outcome.is_accepted else "it decides nothing here"
        return f"By the wall clock, which includes other work on this machine, it is {say(beside)}: {use}."
    return f"By the {called} clock the gain is {beside.estimate:+.1%} ({say(beside)})."


def _note_first_call(measurement: Measurement, shapes: tuple[ShapeGain, ...], outcome: Outcome) -> Iterator[str]:
    """What a new process pays once: it is reported, and how soon it is earned back."""
    if not measurement.first_call_ms:
        return
    saved = math.fsum(row.best_ms - row.candidate_ms for row in shapes) / len(shapes)
    calls = math.ceil(measurement.first_call_ms / saved) if saved > 0 and outcome.is_accepted else 0
    earned = f"; it is made up for after {count(calls, 'call')}" if calls else ""
    yield f"The first call of a process took {measurement.first_call_ms:.1f} ms with loading{earned}."


def say(interval: Interval) -> str:
    """An interval in words."""
    return f"{interval.lower:+.1%} to {interval.upper:+.1%}"


def _low(timing: Timing) -> float:
    return timing.low


def _median(timing: Timing) -> float:
    return timing.median


def _mean(timing: Timing) -> float:
    return timing.mean


def _find_denial(measurement: Measurement) -> tuple[Outcome, str] | None:
    """Refuse where process pairs agree that long calls take the gain back; where only some say so it can be the
    machine.
    """
    clock = measurement.plan.clock
    typical, mean = (read_ratios(measurement, clock, of).whole for of in (_median, _mean))
    claimed = math.fsum(typical) / len(typical)
    _lost, least, _most = bound_mean([one - all_ for one, all_ in zip(typical, mean, strict=True)], MEAN_ALPHA)
    at_median, at_mean = (_sum_ratio(measurement, of) for of in (_median, _mean))
    told = (
        f"typical calls are {math.expm1(at_median):+.1%}, but over all timed calls together it is "
        f"{math.expm1(at_mean):+.1%}: a few calls take much longer than the others."
    )
    if takes_back(claimed, least):
        return Outcome.ROLLBACK, f"gain-in-the-mean: {told}"
    if at_median > 0 and at_median - at_mean > max(MOSTLY_LOST * at_median, WILD):
        differ = (
            f"Process pairs differ ({say(gain_interval(mean, MEAN_ALPHA))}), so it may be the machine: measure again."
        )
        return Outcome.INCONCLUSIVE, f"No verdict: {told} {differ}"
    return None


def _sum_ratio(measurement: Measurement, estimate: Callable[[Timing], float]) -> float:
    """ln(best / candidate) of what all timed calls cost together, each at its process's estimate."""
    best, candidate = (
        math.fsum(
            estimate(timing) * timing.calls
            for sample in measurement.samples
            if sample.leg is leg
            for timing in (_timing(sample, measurement.plan.clock),)
        )
        for leg in (Arm.BEST, Arm.CANDIDATE)
    )
    return math.log(best / candidate)


def pair_ratios(measurement: Measurement, clock: str, leg: Arm = Arm.CANDIDATE) -> Ratios:
    """Log-ratios of the best against a leg: paired call by call where the harness did that, else by low quantiles."""
    found = {(one.pair, one.shape): one for one in measurement.ratios if one.leg is leg}
    if not found:
        return read_ratios(measurement, clock, _low, leg)
    pairs = sorted({pair for pair, _shape in found})
    names = [shape for shape in measurement.shapes if all((pair, shape) in found for pair in pairs)]
    rows = {
        name: tuple(found[pair, name].cpu if clock == "cpu" else found[pair, name].wall for pair in pairs)
        for name in names
    }
    return _average(rows, len(pairs))


def _average(rows: dict[str, tuple[float, ...]], pairs: int) -> Ratios:
    whole = tuple(math.fsum(row[at] for row in rows.values()) / len(rows) for at in range(pairs))
    return Ratios(whole=whole, shapes=tuple(rows.items()))


def read_ratios(
    measurement: Measurement, clock: str, estimate: Callable[[Timing], float], leg: Arm = Arm.CANDIDATE
) -> Ratios:
    """Log-ratios of the best against a leg from the samples' own figures, where both ran."""
    theirs, ours = _step_times(measurement, leg, clock, estimate), _step_times(measurement, Arm.BEST, clock, estimate)
    pairs = sorted({pair for pair, _shape in theirs})
    names = [shape for shape in measurement.shapes if all((pair, shape) in theirs for pair in pairs)]
    rows = {name: tuple(math.log(ours[pair, name] / theirs[pair, name]) for pair in pairs) for name in names}
    return _average(rows, len(pairs))


def _step_times(
    measurement: Measurement, leg: Arm, clock: str, estimate: Callable[[Timing], float]
) -> dict[tuple[int, str], float]:
    """Milliseconds of a whole step (all passes) by pair and shape."""
    times: dict[tuple[int, str], float] = {}
    for sample in measurement.samples:
        if sample.leg is leg:
            key = (sample.pair, sample.shape)
            times[key] = times.get(key, 0.0) + estimate(_timing(sample, clock))
    return times


def _timing(sample: Sample, clock: str) -> Timing:
    return sample.cpu if clock == "cpu" else sample.wall


def _shape_rows(measurement: Measurement, ratios: Ratios, alpha: float) -> Iterator[ShapeGain]:
    clock = measurement.plan.clock
    best = _step_times(measurement, Arm.BEST, clock, _low)
    candidate = _step_times(measurement, Arm.CANDIDATE, clock, _low)
    wall = dict(pair_ratios(measurement, "wall").shapes)
    for name, values in ratios.shapes:
        pairs = [pair for pair, shape in candidate if shape == name]
        yield ShapeGain(
            shape=name,
            best_ms=math.fsum(best[pair, name] for pair in pairs) / len(pairs),
            candidate_ms=math.fsum(candidate[pair, name] for pair in pairs) / len(pairs),
            gain=gain_interval(values, alpha / len(ratios.shapes)),
            wall_gain=math.expm1(math.fsum(wall[name]) / len(wall[name])),
        )


def _share(plan: Plan, pairs: int) -> float:
    """The error this look may spend; a run cut short between looks uses the next one's."""
    shares = spend_looks(plan.looks, plan.alpha)
    for at, share in zip(plan.looks, shares, strict=True):
        if pairs <= at:
            return share
    return shares[-1]


def measure_spread(measurement: Measurement) -> float | None:
    """The best beside itself, each process with its code elsewhere: standard deviation of a pair; None where it was not
    timed so.
    """
    ratios = pair_ratios(measurement, measurement.plan.clock, Arm.AGAIN)
    listed = {shape for shape, _values in ratios.shapes} & set(measurement.shapes)
    if len(ratios.whole) < 2 or not listed:
        return None
    return standard_error(ratios.whole) * math.sqrt(len(ratios.whole))


def describe_resolution(measurement: Measurement) -> str:
    """What this machine can show, from a baseline that was timed beside itself; empty where it was not."""
    spread = measure_spread(measurement)
    if spread is None:
        return ""
    plan = measurement.plan
    found = find_smallest_gain(spread, plan.looks[-1], _share(plan, plan.looks[-1]), plan.min_effect)
    return (
        f"Smallest gain this machine can show now: about {found:+.1%}. Of 100 rounds with such a gain 95 detect it, with up to "
        f"{plan.looks[-1]} process pairs each. Compared with itself, with its code at another place in each process, the kernel "
        f"differs by {spread:.1%} from pair to pair ({measurement.pairs} pairs)."
    )


def _transfer(verdict: Verdict, bucket: Bucket | None, weight_share: float | None) -> float | None:
    if not verdict.outcome.is_accepted or verdict.interval is None:
        return None
    if bucket is Bucket.W1:
        return min(verdict.interval.estimate, weight_share) if weight_share is not None else None
    return verdict.interval.estimate


def needs_full_validation(verdict: Verdict) -> bool:
    """Whether a quick (representative) result must be measured on all shapes before it may be accepted."""
    return (
        verdict.outcome.is_accepted
        and verdict.interval is not None
        and verdict.interval.estimate < FULL_VALIDATION_BELOW
    )
