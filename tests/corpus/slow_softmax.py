"""The starting kernel of the Python cases: right, plain, slow."""

import math


def forward(x, y, R, C):
    for r in range(R):
        top = max(x[r * C + c] for c in range(C))
        total = 0.0
        for c in range(C):
            total += math.exp(x[r * C + c] - top)
        for c in range(C):
            y[r * C + c] = math.exp(x[r * C + c] - top) / total
