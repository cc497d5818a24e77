"""What the gate adds to a round: seconds and share of building, timing, gates and controls, on the shipped CPU operators.

    python -m bench.gate_cost [--operators gemm softmax grouped_gemm]

The candidate is the starting kernel with a comment more, so every gate is passed and every pair measured.
"""

from __future__ import annotations

import argparse
import os

from layline.campaign.controls import wrap
from layline.campaign.measure import Request, measure_pair
from layline.campaign.operators import load_operator

ADDED = ("gates", "controls")


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--operators", nargs="*", default=["gemm", "softmax", "grouped_gemm"])
    for name in asked.parse_args(arguments).operators:
        operator = load_operator(name)
        start = operator.start("naive")
        request = Request(
            operator=operator,
            shapes=operator.shapes,
            best=wrap(operator, start),
            candidate=wrap(operator, f"/* again */\n{start}"),
        )
        measurement = measure_pair(request)
        spent = dict(measurement.seconds)
        whole = sum(spent.values())
        added = sum(spent.get(what, 0.0) for what in ADDED)
        told = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in spent.items())
        print(
            f"{name}: {len(operator.shapes)} shapes, {measurement.pairs} pairs, {measurement.status}: {told}; "
            f"the gate adds {added:.1f} s of {whole:.1f} s ({added / whole:.0%}); load {os.getloadavg()[0]:.1f}"
        )
    return 0


if __name__ == "__main__":
    main()
