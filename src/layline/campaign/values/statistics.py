"""Intervals that hold for a handful of process pairs, and the spending of the permitted error over looks and rounds.

The unit is the process pair: calls inside one process share its memory layout and its luck, so only the mean of a
pair counts as one observation. Bounds are Student's t over pairs; each look gets its own share of the error, and
the shares add up to no more than the whole (union bound), so no joint distribution has to be assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from layline.campaign.values.measurement import Timing
from layline.campaign.values.verdict import Interval

CAMPAIGN_ALPHA = 0.05
"""Chance that a campaign accepts anything that is no improvement at all."""
MEAN_KEPT = 0.75
"""Share of a gain (in logarithms) that must be there when rare long calls count."""
MEAN_NOISE = 0.05
"""How far (in logarithms) a candidate's mean may stray further from its typical time than the best's does: in series in
turns on two cores at load 27 it was 0.015."""


def spend_campaign(measured_rounds: int, total: float = CAMPAIGN_ALPHA) -> float:
    """The error the next verdict may spend when `measured_rounds` were spent on before: total / (r (r + 1)).

    The series sums to `total`, however long the campaign.
    """
    r = measured_rounds + 1
    return total / (r * (r + 1))


def spend_looks(looks: Sequence[int], alpha: float) -> tuple[float, ...]:
    """The share of `alpha` of each look: increments of the spending function α t².

    Three pairs that agree by chance make a narrow interval: the first look has little to spend, and large gains need
    little; what is small is decided later, where the spread is known.
    """
    last = looks[-1]
    spent = [alpha * (look / last) ** 2 for look in looks]
    return tuple(now - before for before, now in zip([0.0, *spent], spent, strict=False))


def bound_mean(values: Sequence[float], alpha: float) -> tuple[float, float, float]:
    """Mean and its one-sided lower and upper bounds, each with error `alpha`."""
    from scipy.special import stdtrit

    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, -math.inf, math.inf
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    reach = float(stdtrit(n - 1, 1 - alpha)) * error
    return mean, mean - reach, mean + reach


def gain_interval(log_ratios: Sequence[float], alpha: float) -> Interval:
    """The gain (a fraction) from log-ratios ln(t_best / t_candidate), one per process pair."""
    mean, lower, upper = bound_mean(log_ratios, alpha)
    return Interval(
        estimate=math.expm1(mean),
        lower=-1.0 if lower == -math.inf else math.expm1(lower),
        upper=_grow(upper),
        confidence=1 - alpha,
        pairs=len(log_ratios),
    )


def _grow(upper: float) -> float:
    return math.expm1(upper) if upper < 300 else math.expm1(300)


def denies_gain(typical: tuple[float, float], mean: tuple[float, float]) -> bool:
    """Whether means (best, candidate) take back what typical times show: less than three quarters are left, by more
    than noise.

    A median does not see a call in ten that takes a hundred times as long; whoever pays for all calls does.
    """
    claimed, left = (math.log(best / candidate) for best, candidate in (typical, mean))
    return takes_back(claimed, claimed - left)


def takes_back(claimed: float, lost: float) -> bool:
    """Whether what rare long calls cost (both in logarithms) is more than a quarter of the gain, and more than noise."""
    return claimed > 0 and lost > max((1 - MEAN_KEPT) * claimed, MEAN_NOISE)


def standard_error(values: Sequence[float]) -> float:
    """Of the mean."""
    n = len(values)
    if n < 2:
        return math.inf
    mean = math.fsum(values) / n
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)


def quantile(values: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def summarise(times_ms: Sequence[float]) -> Timing:
    """The times of one leg in one process."""
    n = len(times_ms)
    mean = math.fsum(times_ms) / n
    spread = math.sqrt(math.fsum((time - mean) ** 2 for time in times_ms) / (n - 1)) if n > 1 else 0.0
    return Timing(calls=n, low=quantile(times_ms, 0.1), median=quantile(times_ms, 0.5), mean=mean, stddev=spread)


def false_accept_bound(accepts: int, rounds: int, confidence: float = 0.95) -> float:
    """Exact (Clopper–Pearson) upper bound of a rate seen `accepts` times in `rounds`."""
    from scipy.special import betaincinv

    return 1.0 if accepts >= rounds else float(betaincinv(accepts + 1, rounds - accepts, confidence))


def find_smallest_gain(spread: float, pairs: int, alpha: float, least: float, power: float = 0.95) -> float:
    """The gain (a fraction) whose lower bound exceeds `least` in so many of 100 runs, given the spread of a pair's
    log-ratio.
    """
    from scipy.special import stdtrit

    reach = float(stdtrit(pairs - 1, 1 - alpha)) + float(stdtrit(pairs - 1, power))
    return math.expm1(math.log1p(least) + reach * spread / math.sqrt(pairs))
