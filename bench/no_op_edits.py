"""Edits that change nothing must never win: unused functions added, removed, reordered, names changed, the same text twice.

    python -m bench.no_op_edits --rounds 200 --out noop.jsonl           # as the gate measures now
    python -m bench.no_op_edits --rounds 20 --fixed --out before.jsonl  # code at one place, unaligned, as it was before
    python -m bench.no_op_edits --rounds 40 --gain 0.02 --out gain.jsonl

Only the timing of a round is made (process pairs, looks, the judge), with the largest error any round may spend; gates have
nothing to say about such edits. Starts and operators take turns, on shapes of the operators' own. Every line of the output
is one round; the file is appended to, so an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.no_op_rounds import slow_down
from layline.campaign.devices.machine import read_environment
from layline.campaign.measure import build
from layline.campaign.measure.arm import Setup
from layline.campaign.measure.build import ALIGNED, Built, build_kernel, workshop
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.pair import PairRun, open_legs, run_shape
from layline.campaign.measure.placement import Placements
from layline.campaign.measure.run import ARENA_BYTES
from layline.campaign.operators import load_operator
from layline.campaign.values.judge import judge, look
from layline.campaign.values.model import Leg, Measurement, Operator, Plan, Status
from layline.campaign.values.statistics import false_accept_bound

PLAN = Plan(looks=(5, 8, 12, 16), calls=12, seconds=0.15, alpha=0.025)
STARTS = (("gemm", "naive"), ("gemm", "blocked"), ("softmax", "naive"))
SHAPES = {
    "gemm": ("tiny-48", "square-96", "deep-64x64x480"),
    "softmax": ("square-384", "long-64x4096", "vocab-8x32000"),
}


def spare(count: int, salt: int = 0) -> str:
    return "".join(f"int spare_{salt}_{at}(int x) {{ return x * {at + 3} + {at}; }}\n" for at in range(count))


def add_before(text: str, count: int) -> str:
    """Functions nobody calls, behind the last include."""
    head, last, rest = text.rpartition("#include <stdint.h>\n")
    return f"{head}{last}{spare(count)}{rest}"


def reorder(text: str) -> str:
    """The last function first."""
    at = text.rindex("\nint ")
    head, last, rest = text[:at].rpartition("#include <stdint.h>\n")
    return f"{head}{last}{text[at:]}{rest}" if "static" not in rest else text + spare(1, 7)


def rename(text: str) -> str:
    """Other names for what has no name outside."""
    for old, new in (
        ("sum", "gathered_sum"),
        ("add_scaled", "zz_scaled_addition"),
        ("turned", "a_block"),
        ("top", "largest"),
    ):
        text = re.sub(rf"\b{old}\b", new, text)
    return text


EDITS: tuple[tuple[str, Callable[[str], tuple[str, str]]], ...] = (
    ("one unused function added", lambda text: (text, add_before(text, 1))),
    ("five unused functions removed", lambda text: (add_before(text, 5), text)),
    ("three unused functions added", lambda text: (text, add_before(text, 3))),
    ("functions reordered", lambda text: (text, reorder(text))),
    ("eight unused functions added", lambda text: (text, add_before(text, 8))),
    ("names changed", lambda text: (text, rename(text))),
    ("one unused function removed", lambda text: (add_before(text, 1), text)),
    ("the same text", lambda text: (text, text)),
)


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rounds", type=int, default=200)
    asked.add_argument("--gain", type=float, default=0.0)
    asked.add_argument("--fixed", action="store_true", help="as before: unaligned, every process at the same place")
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--seconds", type=float, default=1e9, help="stop after this long")
    options = asked.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if options.fixed:
        build.FLAGS = tuple(flag for flag in build.FLAGS if flag not in ALIGNED)
    done = len(options.out.read_text().splitlines()) if options.out.exists() else 0
    began = time.monotonic()
    with options.out.open("a") as out:
        for number in range(done, options.rounds):
            if time.monotonic() - began > options.seconds:
                break
            out.write(json.dumps(_round(number, options)) + "\n")
            out.flush()
    report([json.loads(line) for line in options.out.read_text().splitlines()])


def report(rows: list[dict[str, Any]]) -> None:
    accepted = sum(row["accepted"] for row in rows)
    bound = false_accept_bound(accepted, len(rows))
    spreads = sorted(row["spread"] for row in rows)
    print(f"{accepted} of {len(rows)} accepted; 95 % upper bound of the rate {bound:.2%}")
    print(f"spread of a process pair: median {spreads[len(spreads) // 2]:.2%}, largest {spreads[-1]:.2%}")
    for name in dict.fromkeys(row["start"] for row in rows):
        of_it = [row for row in rows if row["start"] == name]
        estimates = sorted(row["estimate"] for row in of_it)
        told = f"estimates {estimates[0]:+.1%} to {estimates[-1]:+.1%}"
        print(f"  {name}: {sum(row['accepted'] for row in of_it)} of {len(of_it)}, {told}")


def _round(number: int, options: argparse.Namespace) -> dict[str, Any]:
    name, start = STARTS[number % len(STARTS)]
    operator = load_operator(name)
    edit, change = EDITS[number // len(STARTS) % len(EDITS)]
    best, candidate = change(operator.start(start))
    if options.gain and name == "gemm":
        best = slow_down(best, options.gain)
    began = time.monotonic()
    measurement = _measure(operator, best, candidate, is_fixed=options.fixed)
    verdict = judge(measurement)
    whole = [ratio.cpu for ratio in measurement.ratios if ratio.leg is Leg.CANDIDATE]
    by_pair = np.array(whole).reshape(measurement.pairs, -1).mean(axis=1)
    return {
        "round": number,
        "start": f"{name} {start}",
        "edit": edit,
        "outcome": verdict.outcome,
        "accepted": verdict.outcome.is_accepted,
        "estimate": verdict.interval.estimate if verdict.interval else 0.0,
        "lower": verdict.interval.lower if verdict.interval else None,
        "pairs": measurement.pairs,
        "spread": float(by_pair.std(ddof=1)),
        "load": os.getloadavg()[0],
        "seconds": round(time.monotonic() - began, 1),
    }


def _measure(operator: Operator, best: str, candidate: str, *, is_fixed: bool) -> Measurement:
    """The timing of a round: process pairs until the judge can tell."""
    rng = np.random.default_rng(int.from_bytes(secrets.token_bytes(16), "big"))
    shapes = tuple(shape for shape in operator.shapes if shape.label in SHAPES[operator.name])
    measurement = Measurement(
        status=Status.MEASURED,
        operator=operator.name,
        shapes=tuple(shape.label for shape in shapes),
        plan=PLAN,
        environment=read_environment(),
        seed_commitment="",
        seed="",
    )
    with workshop() as shop:
        setup = Setup(operator=operator, shapes=shapes, plan=PLAN, shop=shop, arena_bytes=2 * ARENA_BYTES)
        texts = {Leg.BEST: best, Leg.CANDIDATE: candidate}
        builts = {leg: build_kernel(wrap(operator, text), operator, shop) for leg, text in texts.items()}
        places = {leg: Placements(built, shop, rng) for leg, built in builts.items() if isinstance(built, Built)}
        runs: list[PairRun] = []
        while True:
            run = PairRun(number=len(runs))
            drawn = {leg: place.built if is_fixed else place.draw() for leg, place in places.items()}
            with ExitStack() as stack:
                legs, _loaded = open_legs(stack, setup, drawn, rng)
                for index in rng.permutation(len(shapes)):
                    run_shape(setup, legs, shapes[int(index)], run, rng)
            runs.append(run)
            if len(runs) in PLAN.looks:
                samples = tuple(sample for one in runs for sample in one.samples())
                ratios = tuple(ratio for one in runs for ratio in one.ratios())
                made = places[Leg.CANDIDATE].built.build
                measurement = replace(measurement, pairs=len(runs), samples=samples, ratios=ratios, candidate=made)
                if look(measurement, is_last=len(runs) == PLAN.looks[-1]):
                    return measurement


if __name__ == "__main__":
    main()
