"""How often is a change that changes nothing accepted, and which true gain is found? Real rounds, real machine.

    python -m bench.no_op_rounds --rounds 200 --out aa.jsonl            # no-op candidates, load and drift injected
    python -m bench.no_op_rounds --rounds 20 --gain 0.05 --out p5.jsonl # candidates that are truly 5 % faster

Every line of the output is one round; the file is appended to, so an interrupted run goes on. The best kernel carries
`gain` extra work (repeated on a scratch row), the candidate does not: the true gain is known by construction.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import time
from pathlib import Path

from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators import load_operator
from layline.campaign.values.judge import judge
from layline.campaign.values.measurement import Arm, Plan
from layline.campaign.values.operator import Snapshot
from layline.campaign.values.statistics import false_accept_bound

SHAPES = ("square-96",)
PLAN = Plan(looks=(5, 8), calls=8, seconds=0.1, alpha=0.025)
"""One shape and few calls, so that many rounds fit; alpha is the first round's, the largest any round of a campaign may
spend: the hardest case for false accepts."""


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rounds", type=int, default=200)
    asked.add_argument("--gain", type=float, default=0.0)
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--load", type=float, default=0.5, help="mean share of one core that is taken by injected load")
    options = asked.parse_args()
    done = len(options.out.read_text().splitlines()) if options.out.exists() else 0
    loader = multiprocessing.Process(target=_disturb, args=(options.load, os.getpid()), daemon=True)
    loader.start()
    with options.out.open("a") as out:
        for number in range(done, options.rounds):
            out.write(json.dumps(_round(number, options.gain)) + "\n")
            out.flush()
    loader.terminate()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()]
    accepted = sum(row["accepted"] for row in rows)
    print(
        f"{accepted} of {len(rows)} accepted; 95 % upper bound of the rate "
        f"{false_accept_bound(accepted, len(rows)):.2%}"
    )


def _round(number: int, gain: float) -> dict[str, object]:
    operator = load_operator("gemm")
    source = operator.start("blocked")
    shapes = tuple(shape for shape in operator.shapes if shape.label in SHAPES)
    best = Snapshot(files=(("kernel.c", slow_down(source, gain)),))
    other = f"\nint unused_{number}(int x) {{ return x + {number}; }}\n"
    candidate = Snapshot(files=(("kernel.c", source + other),))
    began = time.monotonic()
    measurement = measure_pair(Request(operator=operator, shapes=shapes, best=best, candidate=candidate, plan=PLAN))
    verdict = judge(measurement)
    return {
        "round": number,
        "status": measurement.status,
        "problem": measurement.problem,
        "failed": [one.reason for one in (*measurement.controls, *measurement.gates) if not one.passed],
        "outcome": verdict.outcome,
        "accepted": verdict.outcome.is_accepted,
        "estimate": verdict.interval.estimate if verdict.interval else None,
        "lower": verdict.interval.lower if verdict.interval else None,
        "upper": verdict.interval.upper if verdict.interval else None,
        "literal": verdict.amd_literal.accepts if verdict.amd_literal else None,
        "pairs": measurement.pairs,
        "ratios": [ratio.cpu for ratio in measurement.ratios if ratio.leg is Arm.CANDIDATE],
        "again": [ratio.cpu for ratio in measurement.ratios if ratio.leg is Arm.AGAIN],
        "load": measurement.environment.load_after,
        "spent": dict(measurement.seconds),
        "seconds": round(time.monotonic() - began, 1),
    }


def slow_down(source: str, gain: float) -> str:
    """The kernel with a share of its rows computed twice, so that leaving that out gains `gain`."""
    if gain == 0:
        return source
    for name in ("forward", "backward"):
        source = source.replace(f"int {name}(", f"static int once_{name}(")
    return (
        source
        + f"""
int forward(const float *a, const float *b, float *out, int64_t M, int64_t N, int64_t K) {{
    once_forward(a, b, out, (int64_t)({gain} * M + 0.5), N, K);
    return once_forward(a, b, out, M, N, K);
}}
int backward(const float *a, const float *b, const float *dout, float *da, float *db, int64_t M, int64_t N, int64_t K) {{
    once_backward(a, b, dout, da, db, (int64_t)({gain} * M + 0.5), N, K);
    return once_backward(a, b, dout, da, db, M, N, K);
}}
"""
    )


def _disturb(share: float, parent: int) -> None:
    """Bursts of work on any core, whose mean drifts over minutes."""
    os.nice(5)
    rng = random.Random(0)
    began = time.monotonic()
    while os.getppid() == parent:
        drift = 1 + 0.8 * ((time.monotonic() - began) % 240 / 120 - 1)
        busy = rng.expovariate(1) * 0.2 * share * drift
        end = time.monotonic() + busy
        while time.monotonic() < end:
            sum(range(500))
        time.sleep(rng.expovariate(1) * 0.2 * (1 - min(share, 0.95)))


if __name__ == "__main__":
    main()
