"""Edits that change nothing, on an accelerator: names changed, functions reordered or added. None may win.

    python -m bench.no_op_gpu --rounds 60 --out noop-gpu.jsonl --seconds 500

    python -m bench.no_op_gpu --rounds 8 --beside 0.5 --out noop-beside.jsonl           # a second process works there
    python -m bench.no_op_gpu --rounds 8 --beside 0.5 --hidden --out noop-hidden.jsonl  # and the driver lists nobody

As `bench.no_op_edits`: only the timing of a round, process pairs until the judge can tell. Workers of the next pair start
while this one is timed. `--blind` looks for nobody, as it was before.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.no_op_timing import describe_round, report, time_round
from layline.campaign.devices import gpu_company
from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.measure.accelerator import Accelerator, plan_device
from layline.campaign.measure.build import workshop
from layline.campaign.operators import load_operator
from layline.campaign.values.statistics import spend_campaign

PLAN = plan_device(spend_campaign(0) / 2, 0.01)
"""As in a campaign's first round, which may spend most."""
SHAPES = {"gemm_bf16": ("square-4096",), "rmsnorm_bf16": ("llama8b-32768x4096",)}
STARTS = (("gemm_bf16", "naive"), ("rmsnorm_bf16", "naive"), ("gemm_bf16", "grouped"))


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
    asked.add_argument("--beside", type=float, default=0.0, help="share of its time that a second process works there")
    asked.add_argument("--hidden", action="store_true", help="as in a container that hides other processes")
    asked.add_argument("--blind", action="store_true", help="look for nobody")
    options = asked.parse_args()
    if options.hidden:
        gpu_company.LIBRARY = "libnone.so"
    if options.blind:
        Accelerator.look_around = lambda _self: None  # type: ignore[method-assign, assignment]
    began, rows = time.monotonic(), []
    with options.out.open("a") as out, work_beside(options.beside), workshop() as shop:
        for number in range(options.rounds):
            if time.monotonic() - began > options.seconds:
                break
            rows.append(_round(number, shop))
            out.write(json.dumps(rows[-1]) + "\n")
            out.flush()
    report(rows)


@contextmanager
def work_beside(share: float) -> Iterator[None]:
    """A second process on the same device, for as long as this lasts."""
    if not share:
        yield
        return
    command = (sys.executable, "-m", "bench.gpu_load", str(share))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            yield
        finally:
            other.kill()


def _round(number: int, shop: Path) -> dict[str, Any]:
    name, start = STARTS[number % len(STARTS)]
    operator = load_operator(name)
    text = dict((*operator.starts, *operator.variants))[start]
    edit, change = EDITS[number // len(STARTS) % len(EDITS)]
    began = time.monotonic()
    shapes = tuple(shape for shape in operator.shapes if shape.label in SHAPES[operator.name])
    found = {"round": number, "start": f"{name} {start}", "edit": edit}
    try:
        found |= describe_round(time_round(operator, shapes, PLAN, (text, change(text)), kept=shop))
    except (Disturbed, Fault) as disturbed:  # a host that is late is no verdict, either
        found["disturbed"] = str(disturbed)
    return {**found, "seconds": round(time.monotonic() - began, 1)}


if __name__ == "__main__":
    main()
