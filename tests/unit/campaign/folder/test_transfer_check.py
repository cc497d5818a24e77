"""The headline is shared among the rounds; only what survives real training counts as real."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from layline.campaign.folder.transfer_check import attribute
from layline.campaign.ledger.state import Level, Round, Settled, State
from layline.campaign.values.measurement import Bucket, Outcome
from layline.campaign.values.verdict import Interval, Verdict


@dataclass
class Lineage:
    """As much of a state as the attribution reads."""

    rounds: tuple[Round, ...]


def accepted(number: int, gain: float, bucket: Bucket, real: float | None) -> Round:
    interval = Interval(estimate=gain, lower=gain, upper=gain, confidence=0.99, pairs=5)
    verdict = Verdict(outcome=Outcome.ACCEPT, reason="", interval=interval, bucket=bucket, transferred=real)
    plain: dict[str, Any] = {
        "at": "",
        "hypothesis": "",
        "change": "",
        "expect": None,
        "kernel": "",
        "best": 1,
        "parent": "",
    }
    return Round(number=number, bucket=bucket, level=Level.QUICK, verdict=verdict, settled=Settled.ACCEPTED, **plain)


CASES = [
    # rounds, headline, S real, W real, gap
    ([(0.10, Bucket.K1, 0.10), (0.10, Bucket.K3, 0.10)], 0.21, 0.21, 0.0, 0.0),
    ([(0.10, Bucket.K1, 0.10), (0.10, Bucket.K3, 0.10)], 0.30, 0.30, 0.0, 0.0),
    ([(0.10, Bucket.K1, 0.10), (0.10, Bucket.W1, 0.015)], 0.21, 0.10, 0.015, 0.0935),
    ([(0.10, Bucket.K1, None)], 0.10, 0.0, 0.0, 0.10),
    ([], 0.0, 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("rounds", "headline", "structural", "weight", "gap"), CASES)
def test_the_headline_is_shared_by_what_each_round_brought(
    rounds: list[tuple[float, Bucket, float | None]], headline: float, structural: float, weight: float, gap: float
) -> None:
    lineage = Lineage(tuple(accepted(number, *item) for number, item in enumerate(rounds, 2)))
    found = attribute(cast("State", lineage), headline)
    assert (found.structural, found.weight, found.gap) == pytest.approx((structural, weight, gap), abs=1e-4)
    word = "clean" if gap <= 0.01 else "unshown" if any(real is None for *_, real in rounds) else "inflated"
    assert found.verdict.startswith(f"{word} — ")
