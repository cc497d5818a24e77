"""Call a kernel once between the profiler's marks. Runs as `ncu … python -I SCRIPT CONFIGURATION.json`.

Standard library, torch and triton of the machine alone. Inputs are ordinary random numbers: what the counters tell goes
into a brief and decides nothing, so nothing here is secret.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any


def _make(torch: Any, device: str, described: list[Any]) -> Any:
    """`[dtype, extents, values or null]`."""
    dtype, extents, values = described
    kind = getattr(torch, dtype)
    if values is not None:
        return torch.tensor(values, dtype=kind, device=device)
    return torch.randn(extents, device=device).to(kind)


def main() -> None:
    config = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    import torch

    device = config["device"]
    spec = importlib.util.spec_from_file_location("kernel", config["kernel"])
    if spec is None or spec.loader is None:
        raise ImportError(config["kernel"])
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel"] = module
    spec.loader.exec_module(module)
    function = getattr(module, config["symbol"])
    arguments = [_make(torch, device, one) for one in config["arguments"]]
    function(*arguments)  # compiles
    if device == "cpu":
        return
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    function(*arguments)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
