"""Which true gain is found 95 % of the time on this machine, and do the intervals hold what they say?

    python -m bench power [MINUTES]          # about that long (default 9); prints everything

First the no-op candidate is measured against the best in as many process pairs as half the time allows (blocked GEMM,
the
representative shapes of a campaign, the default protocol). Then rounds are simulated by drawing whole process pairs
from
those, with the judge's own decision rule and the error of a campaign's first round: coverage of the bounds, false
accepts,
power. In the rest of the time real rounds are made with candidates that truly gain what the simulation calls findable.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.no_op_rounds import slow_down
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators import load_operator
from layline.campaign.values.judge import Ratios, _decide, _decide_at_the_end, judge
from layline.campaign.values.measurement import Arm, Outcome, Plan
from layline.campaign.values.operator import Snapshot
from layline.campaign.values.statistics import bound_mean, gain_interval, spend_campaign, spend_looks
from layline.campaign.values.verdict import ShapeGain

SHAPES = ("tiny-48", "tall-384x48", "mlp-128x256x192")
"""What a baseline of this kernel chooses as representative."""
CHUNK = 24
ROUNDS = 2000
GAINS = (0.0, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08, 0.10, 0.12, 0.16, 0.20)
Pairs = np.ndarray[Any, Any]
"""ln(t_best / t_candidate) by process pair and shape."""


def main(arguments: list[str]) -> int:
    minutes = float(arguments[0]) if arguments else 9.0
    began, load = time.monotonic(), os.getloadavg()[0]
    pairs = measure_pairs(began + 30 * minutes)
    whole = pairs.mean(axis=1)
    print(
        f"{len(pairs)} process pairs of a kernel against itself in {time.monotonic() - began:.0f} s, load "
        f"{load:.1f} to {os.getloadavg()[0]:.1f}"
    )
    print(
        f"a pair's log-ratio: mean {whole.mean():+.4f}, standard deviation {whole.std(ddof=1):.4f}; by shape "
        f"{', '.join(f'{name} {spread:.4f}' for name, spread in zip(SHAPES, pairs.std(axis=0, ddof=1), strict=True))}"
    )
    rng = np.random.default_rng(0)
    for line in check_coverage(whole - whole.mean(), rng):
        print(line)
    plan = Plan(alpha=spend_campaign(0) / 2)
    found = {gain: simulate(pairs - pairs.mean(axis=0), gain, plan, rng) for gain in GAINS}
    for gain, share in found.items():
        print(f"true gain {gain:.1%}: accepted in {share:.2%} of {ROUNDS} simulated rounds")
    findable = next((gain for gain in GAINS if found[gain] >= 0.95), None)
    print(
        f"smallest gain found 95 % of the time: {'above the largest tried' if findable is None else f'{findable:.1%}'}"
    )
    if findable is not None:
        make_rounds(findable, plan, began + 60 * minutes)
    return 0


def _request(gain: float, plan: Plan) -> Request:
    operator = load_operator("gemm")
    source = operator.start("blocked")
    shapes = tuple(shape for shape in operator.shapes if shape.label in SHAPES)
    best = Snapshot(files=(("kernel.c", slow_down(source, gain)),))
    candidate = Snapshot(files=(("kernel.c", source + "\nint unused(int x) { return x + 1; }\n"),))
    return Request(operator=operator, shapes=shapes, best=best, candidate=candidate, plan=plan)


def measure_pairs(until: float) -> Pairs:
    """Process pairs of a no-op candidate, in runs of CHUNK, until the time is up (at least one run)."""
    rows: list[list[float]] = []
    while not rows or time.monotonic() < until:
        run = measure_pair(_request(0.0, Plan(looks=(CHUNK,))))
        by_pair: dict[int, dict[str, float]] = {}
        for ratio in run.ratios:
            if ratio.leg is Arm.CANDIDATE:
                by_pair.setdefault(ratio.pair, {})[ratio.shape] = ratio.cpu
        rows += [[values[name] for name in SHAPES] for values in by_pair.values() if len(values) == len(SHAPES)]
        if not by_pair:
            print(f"no figures: {run.status} {run.problem}")
    return np.array(rows)


def check_coverage(noise: Pairs, rng: np.random.Generator) -> Iterator[str]:
    """How often the truth lies outside a one-sided bound, when pairs are drawn from what was measured."""
    for pairs in Plan().looks:
        for error in (0.05, 0.01):
            draws = rng.choice(noise, size=(5 * ROUNDS, pairs))
            bounds = [bound_mean(list(draw), error) for draw in draws]
            low = sum(lower > 0 for _mean, lower, _upper in bounds) / len(bounds)
            high = sum(upper < 0 for _mean, _lower, upper in bounds) / len(bounds)
            yield (
                f"coverage, {pairs} pairs: the {1 - error:.0%} bounds miss in {low:.2%} (lower) and {high:.2%} (upper)"
            )


def simulate(noise: Pairs, gain: float, plan: Plan, rng: np.random.Generator) -> float:
    """Share of simulated rounds the judge's rule accepts; whole pairs are drawn, so shapes keep their connection."""
    accepted = 0
    for _round in range(ROUNDS):
        drawn = noise[rng.integers(len(noise), size=plan.looks[-1])] + math.log1p(gain)
        accepted += _decide_round(drawn, plan).is_accepted
    return accepted / ROUNDS


def _decide_round(drawn: Pairs, plan: Plan) -> Outcome:
    for look, share in zip(plan.looks, spend_looks(plan.looks, plan.alpha), strict=True):
        seen = drawn[:look]
        ratios = Ratios(
            whole=tuple(seen.mean(axis=1)), shapes=tuple((name, tuple(seen[:, at])) for at, name in enumerate(SHAPES))
        )
        interval = gain_interval(ratios.whole, share)
        rows = tuple(
            ShapeGain(
                shape=name,
                best_ms=1.0,
                candidate_ms=1.0,
                gain=gain_interval(values, share / len(SHAPES)),
                wall_gain=0.0,
            )
            for name, values in ratios.shapes
        )
        decided = _decide(plan, ratios, interval, rows)
        if decided is None and look == plan.looks[-1]:
            decided = _decide_at_the_end(plan, ratios, interval, rows)
        if decided is not None:
            return decided[0]
    return Outcome.INCONCLUSIVE


def make_rounds(gain: float, plan: Plan, until: float) -> None:
    """Real rounds with a candidate that gains this much by construction."""
    outcomes = []
    while time.monotonic() < until:
        measurement = measure_pair(_request(gain, plan))
        verdict = judge(measurement)
        outcomes.append(verdict.outcome.is_accepted)
        print(f"real round, true gain about {gain:.1%}: {verdict.outcome}: {verdict.reason}", flush=True)
    print(f"{sum(outcomes)} of {len(outcomes)} real rounds with a true gain of about {gain:.1%} accepted")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
