"""Edits that change nothing, on an accelerator: names changed, functions reordered or added. None may win.

    python -m bench.no_op_gpu --rounds 60 --out noop-gpu.jsonl --seconds 500

As `bench.no_op_edits`: only the timing of a round, process pairs until the judge can tell. Workers of the next pair start
while this one is timed.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.no_op_edits import report
from layline.campaign.devices.machine import read_environment
from layline.campaign.measure.build import Built, workshop
from layline.campaign.measure.gpu.pair import GpuPair, run_shape
from layline.campaign.measure.gpu.run import plan_device
from layline.campaign.measure.gpu.session import Stage, find_arena_bytes, live, open_legs, take_kernel
from layline.campaign.measure.pair import PairRun
from layline.campaign.operators import load_operator
from layline.campaign.operators.tensors import find_device
from layline.campaign.values.judge import judge, look
from layline.campaign.values.model import Leg, Measurement, Operator, Snapshot, Status

SHAPES = {"gemm_bf16": ("square-4096",), "rmsnorm_bf16": ("llama8b-32768x4096",)}
STARTS = (("gemm_bf16", "naive"), ("rmsnorm_bf16", "naive"), ("gemm_bf16", "grouped"))
OVERHEAD_MS = 0.5


def rename(text: str) -> str:
    """Other names for functions and values inside the kernel: registers may be given out in another order."""
    for old, new in (
        ("_product", "zz_product"),
        ("_forward", "zz_forward"),
        ("_backward", "aa_backward"),
        ("total", "a_sum"),
    ):
        text = re.sub(rf"(?<![.\w]){old}\b", new, text)
    return text


def spare(text: str) -> str:
    return f"{text}\n\n@triton.jit\ndef _unused(x, BLOCK: tl.constexpr):\n    tl.store(x, BLOCK)\n"


EDITS = (
    ("names changed", rename),
    ("an unused kernel added", spare),
    ("both", lambda text: spare(rename(text))),
    ("the same", str),
)


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rounds", type=int, default=60)
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--seconds", type=float, default=1e9)
    options = asked.parse_args()
    began, rows = time.monotonic(), []
    with options.out.open("a") as out:
        for number in range(options.rounds):
            if time.monotonic() - began > options.seconds:
                break
            rows.append(_round(number))
            out.write(json.dumps(rows[-1]) + "\n")
            out.flush()
    report(rows)


def _round(number: int) -> dict[str, Any]:
    name, start = STARTS[number % len(STARTS)]
    operator = load_operator(name)
    text = dict((*operator.starts, *operator.variants))[start]
    edit, change = EDITS[number // len(STARTS) % len(EDITS)]
    began = time.monotonic()
    measurement = _measure(operator, text, change(text))
    verdict = judge(measurement)
    values = [ratio.wall for ratio in measurement.ratios if ratio.leg is Leg.CANDIDATE]
    return {
        "round": number,
        "start": f"{name} {start}",
        "edit": edit,
        "outcome": verdict.outcome,
        "accepted": verdict.outcome.is_accepted,
        "estimate": verdict.interval.estimate if verdict.interval else 0.0,
        "lower": verdict.interval.lower if verdict.interval else None,
        "pairs": measurement.pairs,
        "spread": float(np.std(values, ddof=1)),
        "seconds": round(time.monotonic() - began, 1),
    }


def _measure(operator: Operator, best: str, candidate: str) -> Measurement:
    plan = replace(plan_device(0.025, 0.01), looks=(3, 5))
    device = find_device()
    rng = np.random.default_rng(int.from_bytes(secrets.token_bytes(16), "big"))
    shapes = tuple(shape for shape in operator.shapes if shape.label in SHAPES[operator.name])
    measurement = Measurement(
        status=Status.MEASURED,
        operator=operator.name,
        shapes=tuple(shape.label for shape in shapes),
        plan=plan,
        environment=read_environment(),
        seed_commitment="",
        seed="",
    )
    with workshop() as shop:
        size = find_arena_bytes(operator, shapes, device)
        stage = Stage(operator=operator, shapes=shapes, plan=plan, shop=shop, device=device, rng=rng, arena_bytes=size)
        texts = {Leg.BEST: best, Leg.CANDIDATE: candidate}
        builts: dict[Leg, Built] = {}
        for leg, text in texts.items():
            built = take_kernel(stage, Snapshot(files=(("kernel.py", text),)))
            assert isinstance(built, Built)
            builts[leg] = built
        runs: list[PairRun] = []
        waiting = [open_legs(stage, builts) for _pair in range(plan.looks[0])]
        while True:
            pair = GpuPair(run=PairRun(number=len(runs)))
            with live(waiting.pop(0) if waiting else open_legs(stage, builts)) as legs:
                for one in legs:
                    one.worker.load()
                for shape in shapes:
                    run_shape(stage, legs, shape, pair, OVERHEAD_MS)
            runs.append(pair.run)
            if len(runs) in plan.looks:
                samples = tuple(sample for one in runs for sample in one.samples())
                ratios = tuple(ratio for one in runs for ratio in one.ratios())
                made = builts[Leg.CANDIDATE].build
                measurement = replace(measurement, pairs=len(runs), samples=samples, ratios=ratios, candidate=made)
                if look(measurement, is_last=len(runs) == plan.looks[-1]):
                    return measurement
                more = next(at for at in plan.looks if at > len(runs)) - len(runs)
                waiting = [open_legs(stage, builts) for _pair in range(more)]


if __name__ == "__main__":
    main()
