from __future__ import annotations

import math
from dataclasses import replace

import pytest

from layline.campaign.command.transfer import (
    HEADER,
    STEPS,
    TrainingStep,
    add_transfer,
    compare_steps,
    judge_transfer,
    parse_steps,
)
from layline.campaign.devices.machine import read_environment
from layline.campaign.values.measurement import Bucket, Measurement, Outcome, Plan, Status
from layline.campaign.values.verdict import Interval, Verdict
from layline.errors import RecordError


def _csv(ms: float = 1.0, hits: str = "0", steps: int = STEPS, labels: tuple[str, ...] = ("small", "large")) -> bytes:
    rows = [f"{label},{step},{ms},{hits},1" for label in labels for step in range(1, steps + 1)]
    return "\n".join([",".join(HEADER), *rows, ""]).encode()


BAD = [
    (b"", "header"),
    (b"label,step,ms\n", "header"),
    (_csv(steps=7), "steps 1 to 8"),
    (_csv(labels=("small",)), "steps 1 to 8"),
    (_csv(ms=float("nan")), "cannot be"),
    (_csv(ms=-1.0), "cannot be"),
    (_csv(hits="many"), "two counts"),
    (_csv()[:-30], "two counts|steps 1 to 8"),
    (b"\xff\xfe", "UTF-8"),
]


@pytest.mark.parametrize(("data", "says"), BAD)
def test_a_simulation_is_read_strictly(data: bytes, says: str) -> None:
    with pytest.raises(RecordError) as caught:
        parse_steps(data, ("small", "large"))
    assert any(word in " ".join(caught.value.problems) for word in says.split("|"))


def test_the_first_step_warms_up() -> None:
    slow_start = [
        TrainingStep(label="s", number=n, ms=100.0 if n == 1 else 1.0, activation_hits=0, weight_hits=0)
        for n in range(1, 9)
    ]
    steady = [replace(step, ms=2.0) for step in slow_start]
    assert compare_steps(steady, slow_start) == pytest.approx(math.log(2))


def _measurement() -> Measurement:
    return Measurement(
        status=Status.MEASURED,
        operator="gemm",
        shapes=("small",),
        plan=Plan(),
        environment=read_environment(),
        seed_commitment="",
        seed="",
    )


ACCEPTED = Verdict(
    outcome=Outcome.ACCEPT,
    reason="faster",
    bucket=Bucket.K1,
    interval=Interval(estimate=0.20, lower=0.18, upper=0.22, confidence=0.99, pairs=5),
)
JUDGED = [
    # gains in training steps, bucket, weight share → outcome, what counts as real
    ((0.20, 0.21, 0.20, 0.19, 0.20), Bucket.K1, None, Outcome.ACCEPT, 0.20),
    ((0.10, 0.11, 0.10, 0.09, 0.10), Bucket.K1, None, Outcome.ACCEPT, 0.10),
    ((0.0, 0.001, -0.001, 0.002, 0.0), Bucket.K1, None, Outcome.ROLLBACK, None),
    ((0.20, 0.21, 0.20, 0.19, 0.20), Bucket.W1, 0.015, Outcome.ACCEPT, 0.015),
    ((), Bucket.K1, None, Outcome.ACCEPT, None),
    ((0.02, 0.03, 0.02, 0.01, 0.02), Bucket.K1, None, Outcome.ROLLBACK, None),  # a tenth of the gain is no transfer
    ((0.30, -0.10, 0.20, -0.05, 0.25), Bucket.K1, None, Outcome.ACCEPT, None),  # too noisy to call real
]


@pytest.mark.parametrize(("gains", "bucket", "share", "outcome", "real"), JUDGED)
def test_a_gain_is_real_as_far_as_training_steps_show_it(
    gains: tuple[float, ...], bucket: Bucket, share: float | None, outcome: Outcome, real: float | None
) -> None:
    seen = replace(_measurement(), simulated=tuple(math.log1p(gain) for gain in gains))
    verdict = judge_transfer(replace(ACCEPTED, bucket=bucket), seen, share)
    assert verdict.outcome is outcome
    assert verdict.transferred == (pytest.approx(real, abs=0.005) if real is not None else None)
    assert verdict.notes
    assert (verdict.transferred is None) or seen.simulated


def test_a_hit_on_an_activation_is_refused() -> None:
    steps = parse_steps(_csv(hits="1"), ("small", "large"))
    seen = add_transfer(_measurement(), [0.2] * 5, steps)
    assert seen.bucket is Bucket.W2
    assert seen.hit_trace == "h" * 16
    assert [gate.property for gate in seen.failed_gates] == ["transfers"]
