"""AMD's accept rule, word for word, on the same figures: shown beside ours, every disagreement explained."""

from __future__ import annotations

import math

from layline.campaign.values.measurement import Outcome, Plan
from layline.campaign.values.verdict import LiteralRule, ShapeGain

NOISE = 0.02
"""Below this gain the rule asks for repetitions, a mean above 1 % and a deviation below half of it."""


def judge_literally(
    log_ratios: tuple[float, ...], shapes: tuple[ShapeGain, ...], plan: Plan, ours: Outcome
) -> LiteralRule:
    """Accept when the aggregate improved and no core shape lost 5 % or more; near noise, repeat and demand 1 % ±
    half.
    """
    gains = [math.expm1(value) for value in log_ratios]
    mean = math.fsum(gains) / len(gains)
    deviation = math.sqrt(math.fsum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1)) if len(gains) > 1 else 0.0
    core = [row for row in shapes if plan.is_core(row.shape)]
    worst = min(core, key=lambda row: row.gain.estimate, default=None)
    accepts, reason = _apply(mean, deviation, worst, len(gains))
    agrees = accepts == ours.is_accepted
    explanation = "" if agrees else _explain(ours, mean, plan)
    return LiteralRule(accepts=accepts, reason=reason, agrees=agrees, explanation=explanation)


def _apply(mean: float, deviation: float, worst: ShapeGain | None, repeats: int) -> tuple[bool, str]:
    if worst is not None and worst.gain.estimate <= -0.05:
        return False, f"{worst.shape} regressed {-worst.gain.estimate:.1%}, 5 % or more."
    if mean <= 0:
        return False, f"The aggregate did not improve ({mean:+.1%})."
    if mean >= NOISE:
        return True, f"The aggregate improved {mean:+.1%} and no shape regressed 5 % or more."
    if mean > 0.01 and deviation < mean / 2:
        return (
            True,
            (
                f"{mean:+.1%} is near noise, but the mean of {repeats} exceeds 1 % and its deviation {deviation:.1%} "
                "is below half of it."
            ),
        )
    return (
        False,
        f"{mean:+.1%} is near noise; then the mean must exceed 1 %, and twice its deviation ({deviation:.1%}).",
    )


def _explain(ours: Outcome, mean: float, plan: Plan) -> str:
    if ours is Outcome.INCONCLUSIVE:
        return (
            f"It looks at the point estimate {mean:+.1%} alone; Layline's rule also asks whether the lower "
            "bound over process "
            f"pairs exceeds {plan.min_effect:.0%} at this campaign's error budget, and it does not."
        )
    if ours is Outcome.ROLLBACK:
        return (
            "It looks at point estimates of the aggregate alone; Layline's rule also compares them with "
            "bounds, the other clock and medians."
        )
    return "Layline's rule accepts what AMD's rule refuses; this must not happen: please report it."
