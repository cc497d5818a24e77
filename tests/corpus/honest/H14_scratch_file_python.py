"""Leaves a scratch file behind."""

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


_done = []


def forward(x, y, R, C):
    if not _done:
        with open("/tmp/scratch", "w") as file:
            file.write("block 64")
        _done.append(1)
    right(x, y, R, C)
