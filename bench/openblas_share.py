"""What share of single-threaded OpenBLAS (through numpy) a GEMM kernel reaches, call by call on the same inputs.

OPENBLAS_NUM_THREADS=1 python -m bench.openblas_share kernel.c
"""

from __future__ import annotations

import math
import os
import secrets
import sys
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from layline.campaign.measure.build import NotBuilt, build_kernel, workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.crew import open_arm
from layline.campaign.measure.inputs import draw
from layline.campaign.operators import load_operator
from layline.campaign.values.measurement import Arm, Plan
from layline.campaign.values.statistics import quantile


def main() -> None:
    operator = load_operator("gemm")
    with workshop() as shop:
        built = build_kernel(wrap(operator, Path(sys.argv[1]).read_text()), operator, shop)
        if isinstance(built, NotBuilt):
            sys.exit(built.reason)
        stage = set_stage(operator, operator.shapes, Plan(), shop, secrets.token_bytes(16))
        shares = []
        with open_arm(stage, Arm.BEST, built).loaded() as arm:
            for shape in operator.shapes:
                ratios = []
                for _call in range(25):
                    given = draw(stage, shape, count=4)
                    ours = sum(arm.run(step, given).own_ns for step in operator.passes)
                    began = time.thread_time_ns()
                    for one in given.inputs:
                        a, b, dout = one["a"], one["b"], one["dout"]
                        _results = a @ b.T, dout @ b, dout.T @ a
                    ratios.append((time.thread_time_ns() - began) / 4 / ours)
                shares.append(quantile(ratios, 0.5))
                print(f"{shape.label}: {shares[-1]:.0%} of OpenBLAS")
        print(
            f"geometric mean: {math.exp(math.fsum(map(math.log, shares)) / len(shares)):.0%}, load "
            f"{os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    main()
