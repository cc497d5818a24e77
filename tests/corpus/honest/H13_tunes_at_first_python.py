"""Makes a table at the first call, which takes a while."""

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


_table = []


def forward(x, y, R, C):
    if not _table:
        _table.extend(exp(-i / 1000) for i in range(200_000))
    right(x, y, R, C)
