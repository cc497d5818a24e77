"""torch beside kernels of ours, in one process on one accelerator: the same inputs, alternating, by device events.

    python -m bench gpu_torch OPERATOR START.py BEST.py SEED        prints one JSON object

Run several times (`bench gpu` does): a process is the unit an interval is made of.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

TOGETHER = 6
"""Calls inside one pair of events, on distinct inputs: launching hides behind the call before."""
TURNS = 10
LEAD = 4_000_000
"""Turns of the device's empty loop before the first event, about two milliseconds: all calls are in the queue by then,
so
that the time is the device's alone, as in a training loop that is launched ahead. The same for every leg, the copy's
too."""


def main(arguments: list[str]) -> int:
    import numpy as np
    import torch

    from layline.campaign.devices.gpu_memory import flush_cache
    from layline.campaign.devices.gpu_roof import measure_ceilings
    from layline.campaign.operators import load_operator
    from layline.campaign.values.statistics import quantile

    name, seed = arguments[0], int(arguments[3])
    operator, rng = load_operator(name), np.random.default_rng(seed)
    start_kernel, best_kernel = (load_kernel(Path(path)) for path in arguments[1:3])
    kernels = {"start": start_kernel, "best": best_kernel, "torch": TORCH[name], "copy": None}
    rows = []
    for shape in operator.shapes:
        given = [operator.draw(shape, rng, operator.distributions[0]) for _ in range(TOGETHER)]
        for step in operator.passes:
            outputs = [{each: _empty(operator, each, shape) for each in step.outputs} for _ in given]
            halves = [_draw_halves(step.bytes_moved(shape)) for _ in given]
            times: dict[str, list[float]] = {leg: [] for leg in kernels}
            for turn in range(TURNS + 2):
                for leg in rng.permutation(list(kernels)):
                    flush_cache("cuda")
                    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                    torch.cuda.synchronize()
                    torch.cuda._sleep(LEAD)
                    start.record()
                    for one, out, half in zip(given, outputs, halves, strict=True):
                        if leg == "copy":
                            half[1].copy_(half[0])
                            continue
                        call(kernels[str(leg)], step.symbol, [one[each] for each in step.inputs], list(out.values()))
                    end.record()
                    torch.cuda.synchronize()
                    if turn >= 2:
                        times[str(leg)].append(start.elapsed_time(end) / TOGETHER)
            ms = {leg: quantile(found, 0.5) for leg, found in times.items()}
            rows.append(
                {
                    "shape": shape.label,
                    "pass": step.name,
                    **ms,
                    "flops": step.flops(shape),
                    "bytes": step.bytes_moved(shape),
                }
            )
    ceilings = measure_ceilings("cuda")
    found = {"copy": ceilings.copy_bytes_per_s, "bf16": ceilings.bf16_flops_per_s, "fp8": ceilings.fp8_flops_per_s}
    print(json.dumps({"rows": rows, "ceilings": found}))
    return 0


def load_kernel(path: Path) -> Any:
    """A kernel file as a module; bench only, the campaign itself never imports one."""
    spec = importlib.util.spec_from_file_location(f"kernel_{path.stem}_{abs(hash(str(path)))}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(kernel: Any, symbol: str, inputs: list[Any], outputs: list[Any]) -> None:
    """Ours fills outputs; torch's functions make their own where they have no way to fill ours."""
    getattr(kernel, symbol)(*inputs, *outputs)


def _draw_halves(moved: float) -> tuple[Any, Any]:
    """Two buffers whose copy moves as many bytes as the pass must: half read, half written."""
    import torch

    source = torch.randint(0, 127, (int(moved) // 2,), dtype=torch.int8, device="cuda")
    return source, torch.empty_like(source)


def _empty(operator: Any, name: str, shape: Any) -> Any:
    import torch

    buffer = operator.buffer(name)
    return torch.empty(buffer.extent(shape), dtype=getattr(torch, buffer.dtype), device="cuda")


class _Gemm:
    @staticmethod
    def forward(a: Any, b: Any, out: Any) -> None:
        import torch

        torch.mm(a, b.T, out=out)

    @staticmethod
    def backward(a: Any, b: Any, dout: Any, da: Any, db: Any) -> None:
        import torch

        torch.mm(dout, b, out=da)
        torch.mm(dout.T, a, out=db)


class _RmsNorm:
    """torch's fused kernels; the backward pass gets 1/rms from its forward pass, as autograd would keep it."""

    kept: Any = {}  # noqa: RUF012

    @staticmethod
    def forward(x: Any, w: Any, _y: Any) -> None:
        import torch

        torch.ops.aten._fused_rms_norm(x, [x.shape[1]], w, 1e-6)

    @classmethod
    def backward(cls, x: Any, w: Any, dy: Any, _dx: Any, _dw: Any) -> None:
        import torch

        if x.data_ptr() not in cls.kept:
            cls.kept[x.data_ptr()] = torch.ops.aten._fused_rms_norm(x, [x.shape[1]], w, 1e-6)[1]
        torch.ops.aten._fused_rms_norm_backward(dy, x, [x.shape[1]], cls.kept[x.data_ptr()], w, [True, True])


class _Fp8:
    @staticmethod
    def forward(a: Any, b: Any, sa: Any, sb: Any, _out: Any) -> None:
        import torch

        # the library wants the scales of a lying column by column: laid out anew each call, a small copy
        torch._scaled_mm(a, b.T, sa.T.contiguous().T, sb.T, out_dtype=torch.bfloat16)


class _Grouped:
    @staticmethod
    def forward(a: Any, b: Any, sizes: Any, _out: Any) -> None:
        import torch

        torch._grouped_mm(a, b.transpose(1, 2), offs=sizes.cumsum(0).to(torch.int32), out_dtype=torch.bfloat16)


TORCH: dict[str, Any] = {
    "gemm_bf16": _Gemm,
    "rmsnorm_bf16": _RmsNorm,
    "gemm_fp8": _Fp8,
    "grouped_gemm_bf16": _Grouped,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
