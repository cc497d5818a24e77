"""Verdicts from made-up samples: a table of what was measured and what must follow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from layline.campaign.values.judge import Ratios, _decide, is_in_doubt, judge, look, needs_full_validation
from layline.campaign.values.measurement import (
    Arm,
    Bucket,
    Environment,
    GateResult,
    Measurement,
    Outcome,
    Plan,
    Sample,
    Status,
    Timing,
)
from layline.campaign.values.statistics import gain_interval, spend_campaign, spend_looks

QUIET = Environment(
    cpu="x",
    cores=2,
    governor=None,
    load_before=0,
    load_after=0,
    kernel="6",
    python="3",
    sandbox=(),
    weaker=(),
    is_contended=False,
)
WOBBLE = (
    0.000,
    0.004,
    -0.003,
    0.002,
    -0.004,
    0.001,
    -0.001,
    0.003,
    -0.002,
    0.0,
    0.004,
    -0.004,
    0.002,
    -0.002,
    0.001,
    -0.001,
)


def timing(ms: float) -> Timing:
    return Timing(calls=12, low=ms, median=ms * 1.02, mean=ms * 1.1, stddev=ms * 0.05)


def measured(speed: dict[str, float], *, pairs: int = 5, noise: float = 1.0, wall: float = 1.0) -> Measurement:
    """Samples where the candidate is `speed` times as fast as the best on each shape."""
    samples = []
    for pair in range(pairs):
        for shape, times in speed.items():
            mine = 10.0 / times * (1 + noise * WOBBLE[pair])
            for leg, ms in ((Arm.BEST, 10.0), (Arm.CANDIDATE, mine)):
                on_the_wall = timing(ms if leg is Arm.BEST else ms * wall)
                samples.append(
                    Sample(pair=pair, leg=leg, shape=shape, step="forward", cpu=timing(ms), wall=on_the_wall)
                )
    return Measurement(
        status=Status.MEASURED,
        operator="gemm",
        shapes=tuple(speed),
        plan=Plan(),
        environment=QUIET,
        seed_commitment="",
        seed="",
        pairs=pairs,
        samples=tuple(samples),
    )


def stalled(measurement: Measurement, costs: tuple[float, ...]) -> Measurement:
    """The same medians, but rare long calls make the candidate's mean so many times as long, by process pair."""

    def stall(sample: Sample) -> Sample:
        slow = costs[sample.pair % len(costs)] if sample.leg is Arm.CANDIDATE else 1.0
        return replace(sample, cpu=replace(sample.cpu, mean=sample.cpu.mean * slow))

    return replace(measurement, samples=tuple(stall(sample) for sample in measurement.samples))


VERDICTS = [
    ("clearly faster", measured({"s": 1.2, "l": 1.1}), Outcome.ACCEPT),
    ("the same", measured({"s": 1.0, "l": 1.0}), Outcome.ROLLBACK),
    ("half a per cent is not worth having", measured({"s": 1.005, "l": 1.005}), Outcome.ROLLBACK),
    ("slower", measured({"s": 0.9, "l": 0.95}), Outcome.ROLLBACK),
    ("faster on the whole, one shape 3 % slower", measured({"s": 1.3, "l": 0.97}, pairs=16), Outcome.ACCEPT_TRADEOFF),
    ("faster on the whole, one shape 8 % slower", measured({"s": 1.5, "l": 0.92}), Outcome.ROLLBACK),
    ("2 % but the noise is as large", measured({"s": 1.02}, pairs=16, noise=8), Outcome.INCONCLUSIVE),
    ("less CPU time, more waiting", measured({"s": 1.3, "l": 1.3}, wall=3.0), Outcome.ROLLBACK),
    ("half of the gain in the mean", stalled(measured({"s": 2.8}), (1.7, 1.75, 1.8)), Outcome.ROLLBACK),
    ("a small gain, none in the mean", stalled(measured({"s": 1.1}), (1.1, 1.12, 1.11)), Outcome.ROLLBACK),
    ("rare long calls that cost little", stalled(measured({"s": 2.8}), (1.1, 1.12, 1.08)), Outcome.ACCEPT),
    ("long calls in one process of five", stalled(measured({"s": 2.8}), (1.0, 1.0, 1.9, 1.0, 1.0)), Outcome.ACCEPT),
    ("long calls in some processes", stalled(measured({"s": 2.8}), (1.0, 1.0, 30.0)), Outcome.INCONCLUSIVE),
]


@pytest.mark.parametrize(("what", "measurement", "outcome"), VERDICTS, ids=[what for what, *_ in VERDICTS])
def test_verdict(what: str, measurement: Measurement, outcome: Outcome) -> None:
    assert judge(measurement).outcome is outcome, judge(measurement).reason


@pytest.mark.parametrize(("what", "measurement", "_outcome"), VERDICTS, ids=[what for what, *_ in VERDICTS])
def test_never_laxer_than_the_literal_rule_and_every_disagreement_is_explained(
    what: str, measurement: Measurement, _outcome: Outcome
) -> None:
    verdict = judge(measurement)
    assert verdict.amd_literal is not None
    assert verdict.amd_literal.accepts or not verdict.outcome.is_accepted
    assert verdict.amd_literal.agrees == (not verdict.amd_literal.explanation)


def test_a_failed_gate_ends_it_whatever_the_times() -> None:
    gate = GateResult(property="late-write", passed=False, reason="went on writing")
    fast = measured({"s": 9.0})
    refused = replace(fast, status=Status.REFUSED, gates=(gate,))
    verdict = judge(refused)
    assert (verdict.outcome, verdict.reason) == (Outcome.ROLLBACK, "fails “late-write”: went on writing")


def test_failed_controls_give_no_verdict() -> None:
    control = GateResult(property="a-a", passed=False, reason="differs from itself")
    measurement = replace(measured({"s": 1.5}), status=Status.CONTROLS_FAILED, controls=(control,))
    assert judge(measurement).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("bucket", [Bucket.W2, Bucket.W3])
def test_forbidden_caches_are_refused(bucket: Bucket) -> None:
    assert judge(measured({"s": 1.5}), bucket=bucket).outcome is Outcome.ROLLBACK


def test_a_weight_cache_counts_for_no_more_than_its_share_of_a_step() -> None:
    verdict = judge(measured({"s": 1.4}), bucket=Bucket.W1, weight_share=0.015)
    assert verdict.outcome.is_accepted
    assert verdict.transferred == pytest.approx(0.015)


def test_long_calls_that_keep_a_gain_from_being_accepted_are_worth_a_look_of_their_own() -> None:
    asked = [what for what, measurement, _outcome in VERDICTS if is_in_doubt(measurement)]
    assert asked == [
        "half of the gain in the mean",
        "a small gain, none in the mean",
        "long calls in some processes",
    ]


@pytest.mark.parametrize(("gain", "least", "most"), [(0.02, 0.95, 1.0), (0.01, 0.0, 0.02), (0.0, 0.0, 0.001)])
def test_two_per_cent_are_found_where_pairs_differ_by_one(gain: float, least: float, most: float) -> None:
    """And what is not worth having is taken no more often than the error allows."""
    plan, rng, rounds = Plan(alpha=spend_campaign(0) / 2), np.random.default_rng(3), 1000
    drawn = rng.normal(math.log1p(gain), 0.01, (rounds, plan.looks[-1]))
    found = sum(_is_found(plan, tuple(row)) for row in drawn.tolist())
    assert least <= found / rounds <= most


def _is_found(plan: Plan, row: tuple[float, ...]) -> bool:
    for pairs, share in zip(plan.looks, spend_looks(plan.looks, plan.alpha), strict=True):
        seen = Ratios(whole=row[:pairs], shapes=())
        decided = _decide(plan, seen, gain_interval(seen.whole, share), ())
        if decided is not None:
            return decided[0].is_accepted
    return False


def test_an_unresolved_gain_asks_for_more_pairs() -> None:
    assert look(measured({"s": 1.02}, noise=3)) is None


def test_a_hopeless_one_stops_at_the_first_look() -> None:
    stopped = look(measured({"s": 0.97}))
    assert stopped is not None
    assert stopped.outcome is Outcome.ROLLBACK


def test_quick_results_under_five_per_cent_need_full_validation() -> None:
    assert needs_full_validation(judge(measured({"s": 1.03}, noise=0.3)))
    assert not needs_full_validation(judge(measured({"s": 1.2})))


def test_a_measured_weight_share_outranks_the_declared_one() -> None:
    measurement = replace(
        measured({"s": 1.4}), bucket=Bucket.W1, weight_share=0.0, state="repeating b", hit_trace="mm" * 8
    )
    assert judge(measurement, bucket=Bucket.K1, weight_share=0.5).transferred == 0.0


CORE = [
    # the shape that loses 8 % is core; is not; none is named
    (("l",), Outcome.ROLLBACK),
    (("s",), Outcome.ACCEPT_TRADEOFF),
    ((), Outcome.ROLLBACK),
]


@pytest.mark.parametrize(("core", "outcome"), CORE)
def test_only_core_shapes_veto(core: tuple[str, ...], outcome: Outcome) -> None:
    seen = measured({"s": 1.5, "l": 0.92})
    verdict = judge(replace(seen, plan=replace(seen.plan, core_shapes=core)))
    assert verdict.outcome is outcome
    assert verdict.amd_literal is not None
    assert verdict.amd_literal.agrees
    assert "l" in verdict.reason
