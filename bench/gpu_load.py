"""Other work on the accelerator: products for a share of every tenth of a second, until the process is ended.

python -m bench.gpu_load 0.5
"""

from __future__ import annotations

import sys
import time
from typing import Any

PERIOD_S = 0.1


def main() -> None:
    import torch

    share = float(sys.argv[1])
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    kept: Any = a
    print("working", flush=True)
    while True:
        began = time.monotonic()
        while time.monotonic() - began < share * PERIOD_S:
            kept = torch.nn.functional.normalize(kept @ a)
            torch.cuda.synchronize()
        time.sleep(max(0.0, began + PERIOD_S - time.monotonic()))


if __name__ == "__main__":
    main()
