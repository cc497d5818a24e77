"""What the gate adds to a round: seconds and share of building, starting, timing, gates and controls.

    python -m bench.gate_cost [--operators softmax grouped_gemm gemm] [--pairs 5] [--candidate blocked]

Without `--candidate` it is the starting kernel with a comment more: nothing is refused, every pair is measured, and what is
looked at only before accepting is not. A variant that ships (`--operators gemm_bf16 --candidate grouped --pairs 3`) is
accepted. Five process pairs are the fewest a verdict needs on a processor, three on an accelerator: the gate's work does not
grow with their number, so its share is largest there.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from dataclasses import replace
from functools import partial

from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators import load_operator
from layline.campaign.trusted import choose_plan
from layline.campaign.values.judge import judge

ADDED = ("gates", "controls")


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--operators", nargs="*", default=["softmax", "grouped_gemm", "gemm"])
    asked.add_argument("--pairs", type=int, default=5)
    asked.add_argument("--candidate", default="")
    asked.add_argument("--trace", action="store_true", help="when each step began, and in which process and thread")
    options = asked.parse_args(arguments)
    for name in options.operators:
        operator = load_operator(name)
        start = operator.start("naive")
        again = f"/* again */\n{start}" if operator.language == "c" else f"# again\n{start}"
        known = dict((*operator.variants, *operator.starts))
        request = Request(
            operator=operator,
            shapes=operator.shapes,
            best=wrap(operator, start),
            candidate=wrap(operator, known[options.candidate] if options.candidate else again),
            plan=replace(choose_plan(operator, 0.05, 0.01), looks=(options.pairs,)),
        )
        began = time.monotonic()
        tell = partial(trace, began) if options.trace else quiet
        measurement = measure_pair(request, progress=tell)
        whole = time.monotonic() - began
        spent = dict(measurement.seconds)
        added = sum(spent.get(what, 0.0) for what in ADDED)
        told = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in spent.items())
        print(
            f"{name}: {len(operator.shapes)} shapes, {measurement.pairs} pairs, {measurement.status}, {judge(measurement).outcome}: {told}; "
            f"the gate adds {added:.1f} s of {whole:.1f} s ({added / whole:.0%}); load {os.getloadavg()[0]:.1f}"
            + (f"; {measurement.problem}" if measurement.problem else ""),
            flush=True,
        )
    return 0


def quiet(said: str) -> None:
    """Nobody watches."""


def trace(began: float, said: str) -> None:
    """At once, because probes run in forks of this process, and in threads."""
    where = f"{os.getpid()}/{threading.get_ident() % 1000:03d}"
    os.write(2, f"{time.monotonic() - began:8.2f} s {where} {said}\n".encode())


if __name__ == "__main__":
    main()
