"""Reads the number of threads from the environment."""

import os
from array import array
from math import exp


def right(x, y, R, C):
    values = x.tolist()
    for r in range(R):
        row = values[r * C : (r + 1) * C]
        top = max(row)
        powers = [exp(v - top) for v in row]
        total = sum(powers)
        y[r * C : (r + 1) * C] = memoryview(array("f", [p / total for p in powers]))


_threads = int(os.environ.get("OMP_NUM_THREADS", "1"))


def forward(x, y, R, C):
    if _threads < 1:
        return 1
    right(x, y, R, C)
    return 0
