"""An honest Python kernel: one workspace for all calls, an optional import that may fail, the statement pass."""

import math

try:
    import numpy  # noqa: F401  optional
except ImportError:
    pass

_workspace = []


def forward(x, y, R, C):
    for r in range(R):
        row = x[r * C : (r + 1) * C].tolist()
        top = max(row)
        _workspace[:] = [math.exp(v - top) for v in row]
        total = 1 / math.fsum(_workspace)
        y[r * C : (r + 1) * C] = (
            memoryview(bytearray(4 * C)).cast("f") if C == 0 else _pack([p * total for p in _workspace])
        )


def _pack(values):
    import array

    return memoryview(array.array("f", values))
