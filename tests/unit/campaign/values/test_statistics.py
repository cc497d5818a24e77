"""The interval holds for few process pairs, and the permitted error is never overspent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from layline.campaign.values.measurement import Plan
from layline.campaign.values.statistics import (
    CAMPAIGN_ALPHA,
    bound_mean,
    denies_gain,
    false_accept_bound,
    find_smallest_gain,
    gain_interval,
    quantile,
    spend_campaign,
    spend_looks,
    summarise,
)

LOOKS = Plan().looks

NOISES: dict[str, Callable[[np.random.Generator, int], np.ndarray[Any, Any]]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "heavy tails": lambda rng, n: rng.standard_t(3, n),
    "contended: one pair in ten is far off": lambda rng, n: (
        rng.standard_normal(n) * np.where(rng.random(n) < 0.1, 8.0, 1.0)
    ),
}


def test_rounds_spend_no_more_than_the_campaign_has() -> None:
    assert sum(spend_campaign(measured) for measured in range(10_000)) < CAMPAIGN_ALPHA
    assert spend_campaign(0) == pytest.approx(0.025)


def test_looks_spend_exactly_the_rounds_share() -> None:
    shares = spend_looks(LOOKS, 0.01)
    assert math.fsum(shares) == pytest.approx(0.01)
    assert all(share > 0 for share in shares)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("pairs", "alpha"), [(5, 0.05), (5, 0.01), (8, 0.01), (16, 0.005)])
def test_lower_bound_covers_at_least_as_often_as_it_says(noise: str, pairs: int, alpha: float) -> None:
    rng = np.random.default_rng(7)
    runs = 4000
    misses = sum(bound_mean(list(NOISES[noise](rng, pairs)), alpha)[1] > 0 for _ in range(runs))
    assert misses <= runs * alpha + 3.3 * math.sqrt(runs * alpha) + 2


def test_noise_without_tails_is_where_the_bound_is_weakest() -> None:
    """Known limit, also in docs/judge.md: for uniform noise and five pairs a 99 % bound misses in under 2 %, not 1
    %."""
    rng = np.random.default_rng(7)
    misses = sum(bound_mean(list(rng.uniform(-1, 1, 5)), 0.01)[1] > 0 for _ in range(6000)) / 6000
    assert 0.01 < misses < 0.02


@pytest.mark.parametrize("noise", NOISES)
def test_sequential_looks_keep_the_error_together(noise: str) -> None:
    """Looking four times at a true null, ever seeing a lower bound above zero stays below alpha."""
    rng = np.random.default_rng(11)
    alpha, runs = 0.05, 2500
    shares = spend_looks(LOOKS, alpha)
    ever = 0
    for _ in range(runs):
        values = list(NOISES[noise](rng, LOOKS[-1]))
        ever += any(bound_mean(values[:look], share)[1] > 0 for look, share in zip(LOOKS, shares, strict=True))
    assert ever <= runs * alpha + 3.3 * math.sqrt(runs * alpha)


def test_a_bound_over_one_pair_is_no_bound() -> None:
    interval = gain_interval([0.3], 0.01)
    assert interval.lower == -1.0
    assert interval.upper > 1e100


def test_gain_is_a_fraction_of_time() -> None:
    interval = gain_interval([math.log(1.10)] * 5, 0.01)
    assert interval.estimate == pytest.approx(0.10)
    assert interval.lower == pytest.approx(0.10)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 2.5), (0.1, 1.3), (1.0, 4.0)])
def test_quantile_interpolates(share: float, expected: float) -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], share) == pytest.approx(expected)


def test_summary_of_one_call_has_no_spread() -> None:
    assert summarise([2.0]).stddev == 0.0


def test_no_accept_in_two_hundred_rounds_bounds_the_rate() -> None:
    assert false_accept_bound(0, 200) == pytest.approx(1 - 0.05 ** (1 / 200))
    assert false_accept_bound(3, 3) == 1.0


@pytest.mark.parametrize(
    ("what", "typical", "mean", "denies"),
    [
        ("the means agree", (10.0, 2.0), (10.5, 2.2), False),
        ("most of the gain is left", (10.0, 2.5), (10.0, 3.0), False),
        ("half of the gain is left", (10.0, 2.5), (10.0, 5.0), True),
        ("the stall that was accepted three times of three", (0.93, 0.33), (0.95, 0.57), True),
        ("a small gain and more than that lost", (10.0, 9.0), (10.0, 10.5), True),
        ("rare calls cost more than was won", (10.0, 2.0), (10.0, 12.0), True),
        ("a small gain and a noisy mean", (10.0, 9.8), (10.0, 10.2), False),
        ("no gain to deny", (10.0, 11.0), (10.0, 30.0), False),
    ],
)
def test_a_mean_may_deny_a_gain(
    what: str, typical: tuple[float, float], mean: tuple[float, float], denies: bool
) -> None:
    assert denies_gain(typical, mean) is denies, what


def test_the_smallest_gain_is_found_as_often_as_said() -> None:
    """Simulated: rounds with just that true gain are accepted in about 95 of 100."""
    rng = np.random.default_rng(11)
    spread, pairs, alpha, least = 0.02, 16, 0.005, 0.01
    gain = find_smallest_gain(spread, pairs, alpha, least)
    found = [
        gain_interval(rng.normal(math.log1p(gain), spread, pairs).tolist(), alpha).lower > least
        for _round in range(2000)
    ]
    assert 0.92 < sum(found) / len(found) < 0.98
