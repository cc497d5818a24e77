"""Takes a pool of memory at the first call and keeps it."""

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


_pool = []


def forward(x, y, R, C):
    if not _pool:
        _pool.append(bytearray(8 << 20))
    right(x, y, R, C)
