"""Inputs on the device, from the parent's secret generator. torch is the machine's own and imported late."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

DISTRIBUTIONS = ("normal", "scaled", "uneven", "offset", "sparse", "outliers", "spike")
SPIKE = 100.0
PADDED = 0.3


def find_device() -> str:
    """Where GPU operators live: the accelerator; the host where `LAYLINE_TORCH_DEVICE=cpu` asks for a rehearsal."""
    return os.environ.get("LAYLINE_TORCH_DEVICE", "cuda")


def start_generator(rng: np.random.Generator) -> Any:
    """A generator of the device, seeded from the parent's."""
    import torch

    return torch.Generator(device=find_device()).manual_seed(int(rng.integers(0, 1 << 62)))


def draw_normal(extent: tuple[int, ...], generator: Any) -> Any:
    """Standard normal, f32."""
    import torch

    return torch.randn(extent, generator=generator, device=find_device(), dtype=torch.float32)


def draw_floats(extent: tuple[int, ...], generator: Any, distribution: str) -> Any:  # noqa: PLR0911  a table
    """One of the named distributions, f32; the caller rounds it to its format."""
    import torch

    x = draw_normal(extent, generator)
    match distribution:
        case "normal":
            return x
        case "scaled":
            return x * 2.0 ** int(torch.randint(-6, 7, (1,), generator=generator, device=find_device()))
        case "uneven":  # rows of very different size
            return x * torch.exp2(2 * draw_normal((*extent[:-1], 1), generator))
        case "offset":
            return x + 3.0
        case "sparse":
            return x * (torch.rand(extent, generator=generator, device=find_device()) < 0.1)
        case "outliers":
            return x * torch.where(torch.rand(extent, generator=generator, device=find_device()) < 0.002, 30.0, 1.0)
        case "level":  # one value throughout, as the gradient of a mean is
            return x.flatten()[0].expand(extent).contiguous() if x.numel() else x
        case "coarse":  # what mixed precision hands over
            return x.bfloat16().float()
        case "spike":  # a single large number, at a place nobody can sample, in every second row or so
            return _add_spikes(x, generator)
        case "padded":
            return _pad(x, generator)
        case "rectified":  # what an activation leaves
            return x.clamp_(min=0)
    raise ValueError(distribution)


def _pad(x: Any, generator: Any) -> Any:
    """Rows, channels or whole samples of zeros, as padding leaves them, between others."""
    import torch

    device = find_device()
    depth = int(torch.randint(1, x.ndim, (1,), generator=generator, device=device)) if x.ndim > 1 else 0
    extent = (*x.shape[:depth], *(1,) * (x.ndim - depth))
    return x * (torch.rand(extent, generator=generator, device=device) >= PADDED)


def _add_spikes(x: Any, generator: Any) -> Any:
    """One element of about half the rows becomes ±SPIKE."""
    import torch

    if x.numel():
        rows = x.view(-1, x.shape[-1])
        device = find_device()
        at = torch.randint(0, rows.shape[1], (rows.shape[0], 1), generator=generator, device=device)
        draws = torch.rand((rows.shape[0], 1), generator=generator, device=device)
        size = torch.where(draws < 0.25, -SPIKE, SPIKE)
        rows.scatter_(1, at, torch.where(draws < 0.5, size, rows.gather(1, at)))
    return x


def draw_integers(extent: tuple[int, ...], generator: Any, limit: int) -> Any:
    """Integers from −limit to limit, f32."""
    import torch

    low, high = -limit, limit + 1
    return torch.randint(low, high, extent, generator=generator, device=find_device()).to(torch.float32)
