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
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.no_op_rounds import slow_down
from bench.no_op_timing import describe_round, report, time_round
from layline.campaign.measure import build
from layline.campaign.measure.build import ALIGNED
from layline.campaign.operators import load_operator
from layline.campaign.values.measurement import Plan
from layline.campaign.values.statistics import spend_campaign

PLAN = Plan(calls=12, seconds=0.15, alpha=spend_campaign(0) / 2)
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


def _round(number: int, options: argparse.Namespace) -> dict[str, Any]:
    name, start = STARTS[number % len(STARTS)]
    operator = load_operator(name)
    edit, change = EDITS[number // len(STARTS) % len(EDITS)]
    best, candidate = change(operator.start(start))
    if options.gain and name == "gemm":
        best = slow_down(best, options.gain)
    began = time.monotonic()
    shapes = tuple(shape for shape in operator.shapes if shape.label in SHAPES[operator.name])
    found = {"round": number, "start": f"{name} {start}", "edit": edit}
    measurement = time_round(operator, shapes, PLAN, (best, candidate), is_fixed=options.fixed)
    seconds = round(time.monotonic() - began, 1)
    return {**found, **describe_round(measurement), "load": os.getloadavg()[0], "seconds": seconds}


if __name__ == "__main__":
    main()
