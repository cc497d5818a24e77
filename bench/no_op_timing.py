"""The timing of a round alone, on any device: process pairs, looks, the judge. What the no-op benches share."""

from __future__ import annotations

import secrets
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from layline.campaign.devices.machine import read_environment
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.build import Built, build_kernel, workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.crew import live, open_arms
from layline.campaign.measure.pair import PairRun, run_shape
from layline.campaign.measure.placement import Placements
from layline.campaign.values.company import tell_alone
from layline.campaign.values.judge import judge, look
from layline.campaign.values.measurement import Arm, Measurement, Plan, Status
from layline.campaign.values.operator import Operator, Shape
from layline.campaign.values.statistics import false_accept_bound

OVERHEAD_MS = 0.5


def time_round(
    operator: Operator,
    shapes: tuple[Shape, ...],
    plan: Plan,
    texts: tuple[str, str],
    *,
    is_fixed: bool = False,
    kept: Path | None = None,
) -> Measurement:
    """Best and candidate in process pairs until the judge can tell; what was compiled for a text is `kept` there."""
    measurement = Measurement(
        status=Status.MEASURED,
        operator=operator.name,
        shapes=tuple(shape.label for shape in shapes),
        plan=plan,
        environment=read_environment(),
        seed_commitment="",
        seed="",
    )
    with nullcontext(kept) if kept else workshop() as shop, ExitStack() as stack:
        stage = set_stage(operator, shapes, plan, shop, secrets.token_bytes(16))
        places: dict[Arm, Placements] = {}
        for arm, text in zip((Arm.BEST, Arm.CANDIDATE), texts, strict=True):
            built = build_kernel(wrap(operator, text), operator, shop)
            assert isinstance(built, Built)
            places[arm] = Placements(built, shop, stage.rng)

        def start() -> list[LiveArm]:
            drawn = {arm: place.built if is_fixed else place.draw() for arm, place in places.items()}
            arms = open_arms(stage, drawn)
            for arm in arms:
                stack.callback(arm.close)
            return arms

        runs: list[PairRun] = []
        waiting: list[list[LiveArm]] = []
        while True:
            due = next(at for at in plan.looks if at > len(runs)) - len(runs)
            while len(waiting) < (due if stage.device.starts_slowly else 1):
                waiting.append(start())
            for one in (one for started in waiting for one in started):  # who still starts up would make the host late
                one.worker.wait_ready()
            run = PairRun(number=len(runs))
            with live(waiting.pop(0)) as arms:
                for one in arms:
                    one.worker.load()
                with stage.device.hold([one.worker for one in arms], stage):
                    for index in stage.rng.permutation(len(shapes)):
                        run_shape(stage, arms, shapes[int(index)], run, overhead_ms=OVERHEAD_MS)
            runs.append(run)
            if len(runs) in plan.looks:
                measurement = replace(
                    measurement,
                    pairs=len(runs),
                    samples=tuple(sample for one in runs for sample in one.samples()),
                    ratios=tuple(ratio for one in runs for ratio in one.ratios()),
                    conditions=tuple(tell_alone(one.looks) for one in runs if one.looks),
                    candidate=places[Arm.CANDIDATE].built.build,
                )
                if look(measurement, is_last=len(runs) == plan.looks[-1]):
                    return measurement


def describe_round(measurement: Measurement) -> dict[str, Any]:
    """What became of it, and how far process pairs lie apart."""
    import numpy as np

    verdict = judge(measurement)
    clock = measurement.plan.clock
    values = [getattr(ratio, clock) for ratio in measurement.ratios if ratio.leg is Arm.CANDIDATE]
    by_pair = np.array(values).reshape(measurement.pairs, -1).mean(axis=1)
    return {
        "outcome": verdict.outcome,
        "accepted": verdict.outcome.is_accepted,
        "estimate": verdict.interval.estimate if verdict.interval else 0.0,
        "lower": verdict.interval.lower if verdict.interval else None,
        "pairs": measurement.pairs,
        "spread": float(by_pair.std(ddof=1)),
        "conditions": measurement.conditions[-1:],
    }


def report(rows: list[dict[str, Any]]) -> None:
    """How many were accepted, and what that bounds; rounds without a verdict are told."""
    judged = [row for row in rows if "accepted" in row]
    accepted = sum(row["accepted"] for row in judged)
    print(
        f"{accepted} of {len(judged)} accepted; 95 % upper bound of the rate {false_accept_bound(accepted, len(judged)):.2%}"
    )
    print(f"without a verdict: {len(rows) - len(judged)}")
    spreads = sorted(row["spread"] for row in judged)
    if spreads:
        print(f"spread of a process pair: median {spreads[len(spreads) // 2]:.2%}, largest {spreads[-1]:.2%}")
    for name in dict.fromkeys(row["start"] for row in judged):
        of_it = [row for row in judged if row["start"] == name]
        estimates = sorted(row["estimate"] for row in of_it)
        told = f"estimates {estimates[0]:+.1%} to {estimates[-1]:+.1%}"
        print(f"  {name}: {sum(row['accepted'] for row in of_it)} of {len(of_it)}, {told}")
