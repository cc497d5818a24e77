"""What a real training loop says of a campaign: step times before and after, as values. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from layline.campaign.values.statistics import bound_mean, quantile
from layline.campaign.values.verdict import Interval

LEGS = ("start", "best", "again", "torch")
"""The starting kernel, the best, the best a second time (noise), and torch's own operators."""
LOSS_SHARE = 0.01
"""How far a leg's loss may be from torch's on the same tokens, relative, before the kernel is said to train
differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """One leg in one set of processes."""

    leg: str
    step_ms: tuple[float, ...]
    """The parent's wall clock, warm-up steps left out."""
    losses: tuple[float, ...]
    """Of every step, warm-up included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Sets of processes in which the legs' steps alternate; a set is the unit an interval is made of."""

    model: str
    """The loop in one sentence."""
    sets: tuple[tuple[Trained, ...], ...] = ()
    problem: str = ""
    """Why there are no times, or fewer than planned."""


def find_median(training: Training, leg: str) -> float:
    """Median milliseconds of a step over all sets."""
    return quantile([ms for one in training.sets for found in one if found.leg == leg for ms in found.step_ms], 0.5)


def compare_steps(training: Training, slower: str, faster: str) -> Interval | None:
    """How much less time a step takes, with two-sided 95 % bounds over sets; None with fewer than two sets."""
    logs = []
    for one in training.sets:
        by_leg = {found.leg: found.step_ms for found in one}
        if slower in by_leg and faster in by_leg:
            pairs = zip(by_leg[slower], by_leg[faster], strict=True)
            logs.append(quantile([math.log(a / b) for a, b in pairs], 0.5))
    if len(logs) < 2:
        return None
    mean, lower, upper = bound_mean(logs, 0.025)
    return Interval(
        estimate=math.expm1(mean), lower=math.expm1(lower), upper=math.expm1(upper), confidence=0.975, pairs=len(logs)
    )


def find_loss_distance(training: Training, leg: str) -> float | None:
    """The largest relative distance of a leg's losses from torch's on the same tokens."""
    worst = None
    for one in training.sets:
        by_leg = {found.leg: found.losses for found in one}
        if leg in by_leg and "torch" in by_leg:
            pairs = zip(by_leg[leg], by_leg["torch"], strict=True)
            found = max((abs(mine - its) / abs(its) for mine, its in pairs), default=0.0)
            worst = found if worst is None or not found <= worst else worst
    return worst
