"""What the gate adds to a round: seconds and share of building, timing, gates and controls, on the shipped CPU
operators.

    python -m bench.gate_cost [--operators softmax grouped_gemm gemm] [--pairs 5]

The candidate is the starting kernel with a comment more, so every gate is passed and every pair measured. Five process
pairs
are the fewest a verdict needs: the gate's work does not grow with their number, so its share is largest there.
"""

from __future__ import annotations

import argparse
import os

from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators import load_operator
from layline.campaign.values.measurement import Plan

ADDED = ("gates", "controls")


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--operators", nargs="*", default=["softmax", "grouped_gemm", "gemm"])
    asked.add_argument("--pairs", type=int, default=5)
    options = asked.parse_args(arguments)
    for name in options.operators:
        operator = load_operator(name)
        start = operator.start("naive")
        request = Request(
            operator=operator,
            shapes=operator.shapes,
            best=wrap(operator, start),
            candidate=wrap(operator, f"/* again */\n{start}"),
            plan=Plan(looks=(options.pairs,)),
        )
        measurement = measure_pair(request)
        spent = dict(measurement.seconds)
        whole = sum(spent.values())
        added = sum(spent.get(what, 0.0) for what in ADDED)
        told = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in spent.items())
        print(
            f"{name}: {len(operator.shapes)} shapes, {measurement.pairs} pairs, {measurement.status}: {told}; "
            f"the gate adds {added:.1f} s of {whole:.1f} s ({added / whole:.0%}); load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    main()
