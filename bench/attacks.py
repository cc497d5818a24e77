"""Hold kernels that somebody else wrote against the gate, one folder each, and write what became of every one.

    python -m bench.attacks FOLDER --operator gemm_bf16 --out attacks.jsonl [--shapes square-4096] [--pairs 3] [--only 01 05]

FOLDER holds a folder for each kernel, with `kernel.c` or `kernel.py` in it; whether it is a trick or honest only its author
knows. The best is the operator's naive start. What is in the output already is not tried again.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators.find import find_operator
from layline.campaign.trusted import choose_plan
from layline.campaign.values.judge import judge
from layline.campaign.values.measurement import Status
from layline.campaign.values.operator import Operator, Shape, Snapshot

ATTEMPTS = 2


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("folder", type=Path)
    asked.add_argument("--operator", default="gemm")
    asked.add_argument("--shapes", nargs="*", default=[])
    asked.add_argument("--smallest", type=int, default=0, help="only so many shapes")
    asked.add_argument("--pairs", type=int, default=0, help="at the first look; as the device's plan has it")
    asked.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    asked.add_argument("--seconds", type=float, default=1e9)
    asked.add_argument("--out", type=Path, required=True)
    options = asked.parse_args(arguments)
    until = time.monotonic() + options.seconds
    done = {json.loads(line)["kernel"] for line in options.out.read_text().splitlines()} if options.out.exists() else ()
    for path in sorted(options.folder.glob("*/kernel.*")):
        name = path.parent.name
        if name in done or not name.startswith(tuple(options.only)) or time.monotonic() > until:
            continue
        found = {"kernel": name, **try_kernel(path, options)}
        with options.out.open("a") as out:
            out.write(json.dumps(found) + "\n")
        print(f"{name}: {found['fate']} ({found['seconds']} s): {found['reason'][:240]}", flush=True)
    return 0


def choose(operator: Operator, options: argparse.Namespace) -> tuple[Shape, ...]:
    """Those that are named, the smallest few, or all."""
    named = [shape for shape in operator.shapes if not options.shapes or shape.label in options.shapes]
    ordered = sorted(named, key=operator.passes[0].flops)
    return tuple(ordered[: options.smallest] if options.smallest else named)


def try_kernel(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    operator = find_operator(options.operator, Path.cwd()).operator
    plan = choose_plan(operator, 0.05, 0.01)
    request = Request(
        operator=operator,
        shapes=choose(operator, options),
        best=wrap(operator, operator.start("naive")),
        candidate=Snapshot(files=((path.name, path.read_text("utf-8")),)),
        plan=replace(plan, looks=(options.pairs,)) if options.pairs else plan,
    )
    began = time.monotonic()
    for _attempt in range(ATTEMPTS):
        measurement = measure_pair(request)
        if measurement.status is not Status.CONTROLS_FAILED:
            break
    verdict = judge(measurement)
    failed = measurement.failed_gates
    fate = failed[0].property if failed else str(verdict.outcome)
    return {
        "fate": fate,
        "status": str(measurement.status),
        "reason": measurement.problem or verdict.reason,
        "evidence": failed[0].evidence if failed else (),
        "left_out": measurement.left_out,
        "attempts": _attempt + 1,
        "spent": dict(measurement.seconds),
        "seconds": round(time.monotonic() - began, 1),
    }


if __name__ == "__main__":
    main()
