"""What this accelerator can do at most, measured by torch's own kernels in the same process as the campaign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from layline.campaign.values.operator import Operator
from layline.campaign.values.statistics import quantile

LEAD = 1_000_000
"""Turns of the device's empty loop before what is timed, about half a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCeilings:
    """Copy bandwidth (bytes read plus written) and matrix rates on random data; 0 where the device cannot."""

    copy_bytes_per_s: float
    bf16_flops_per_s: float
    fp8_flops_per_s: float


def choose_rate(operator: Operator, ceilings: DeviceCeilings) -> float:
    """The matrix rate of the operator's operands, FLOP/s."""
    is_fp8 = any(buffer.dtype.startswith("float8") for buffer in operator.buffers)
    return ceilings.fp8_flops_per_s if is_fp8 else ceilings.bf16_flops_per_s


@cache
def measure_ceilings(device: str) -> DeviceCeilings:
    """Medians of repeated large operations: a 2 GiB copy, 8192³ products."""
    import torch

    if device == "cpu":
        return DeviceCeilings(copy_bytes_per_s=0.0, bf16_flops_per_s=0.0, fp8_flops_per_s=0.0)
    source = torch.randint(0, 127, (1 << 30,), dtype=torch.int8, device=device)
    target = torch.empty_like(source)
    copy_s = _time(lambda: target.copy_(source))
    size = 8192
    a, b = (torch.randn(size, size, device=device).to(torch.bfloat16) for _ in range(2))
    bf16_s = _time(lambda: a @ b.T)
    one = torch.ones((), device=device)
    left, right = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
    try:
        fp8_s = _time(lambda: torch._scaled_mm(left, right.T, one, one, out_dtype=torch.bfloat16))
    except RuntimeError:
        fp8_s = float("inf")
    work = 2.0 * size**3
    return DeviceCeilings(
        copy_bytes_per_s=2.0 * source.numel() / copy_s,
        bf16_flops_per_s=work / bf16_s,
        fp8_flops_per_s=work / fp8_s,
    )


def _time(work: Callable[[], Any]) -> float:
    """Median seconds of ten, after three; launched ahead, so that launching is not in it."""
    import torch

    times = []
    for turn in range(13):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(LEAD)
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        if turn >= 3:
            times.append(start.elapsed_time(end) / 1e3)
    return quantile(times, 0.5)
