"""A standing pool of threads shares the rows."""

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


from concurrent.futures import ThreadPoolExecutor

_pool = []


def forward(x, y, R, C):
    if not _pool:
        _pool.append(ThreadPoolExecutor(2))
    half = R // 2
    parts = ((x[: half * C], y[: half * C], half, C), (x[half * C :], y[half * C :], R - half, C))
    for done in [_pool[0].submit(right, *part) for part in parts]:
        done.result()
