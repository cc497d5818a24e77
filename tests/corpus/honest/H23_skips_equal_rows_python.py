"""A row of equal values needs no exponential; exact for every input."""

from array import array
from math import exp


def forward(x, y, R, C):
    for r in range(R):
        row = x[r * C : (r + 1) * C].tolist()
        top = max(row)
        if min(row) == top:
            y[r * C : (r + 1) * C] = memoryview(array("f", [1 / C]) * C)
            continue
        powers = [exp(v - top) for v in row]
        total = sum(powers)
        y[r * C : (r + 1) * C] = memoryview(array("f", [p / total for p in powers]))
