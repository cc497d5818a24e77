"""An honest Python kernel: one workspace for all calls, an optional import that may fail, the statement pass."""

import math

try:
    import numpy  # noqa: F401  optional
except ImportError:
    pass

_workspace = []


def forward(x, y, R, C):
    import array

    exp = math.exp
    _workspace.clear()
    values = x.tolist()
    for r in range(R):
        row = values[r * C : (r + 1) * C]
        top = max(row)
        powers = [exp(v - top) for v in row]
        total = sum(powers)
        _workspace.extend([p / total for p in powers])
    y[:] = memoryview(array.array("f", _workspace))
