"""RMSNorm bf16 on an accelerator: y = x / rms(x) · w along each row, and its backward. Bound by memory: GB/s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layline.campaign.operators import read_kernel
from layline.campaign.operators.gemm_shapes import axes
from layline.campaign.operators.tensors import DISTRIBUTIONS, draw_floats, draw_normal, start_generator
from layline.campaign.values.operator import Buffer, Operator, Pass, Shape, Tolerance

if TYPE_CHECKING:
    import numpy as np

EPSILON = 1e-6
"""Part of the operator: every kernel of it uses this one."""


def shape(label: str, rows: int, columns: int) -> Shape:
    """R rows of C columns."""
    return Shape(label=label, sizes=(("R", rows), ("C", columns)))


def _draw(shape: Shape, rng: np.random.Generator, distribution: str) -> dict[str, Any]:
    import torch

    generator = start_generator(rng)
    extent = (shape.size("R"), shape.size("C"))
    drawn = {
        "x": draw_floats(extent, generator, distribution),
        "w": 1 + 0.2 * draw_normal((shape.size("C"),), generator),
        "dy": draw_normal(extent, generator),
    }
    return {name: value.to(torch.bfloat16) for name, value in drawn.items()}


def _oracle(step: str, _shape: Shape, inputs: Any) -> dict[str, Any]:
    import torch

    x, w = inputs["x"].double(), inputs["w"].double()
    rstd = torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + EPSILON)
    normed = x * rstd
    if step == "forward":
        return {"y": (normed * w).to(torch.float32)}
    dy = inputs["dy"].double()
    weighted = dy * w
    dx = rstd * (weighted - normed * (weighted * normed).mean(dim=-1, keepdim=True))
    return {"dx": dx.to(torch.float32), "dw": (dy * normed).sum(dim=0).to(torch.float32)}


def _neighbours(near: Shape, rng: np.random.Generator) -> tuple[Shape, ...]:
    rows, columns = near.size("R"), near.size("C")
    sign = int(rng.choice((-1, 1)))
    label = near.label
    return (
        shape(f"{label}~aligned", rows + 64 * sign, columns + 128 * int(rng.choice((-2, -1, 1, 2)))),
        shape(f"{label}~odd", 257, columns + sign),
        shape(f"{label}~prime", int(rng.choice((3, 7, 31))), int(rng.choice((5, 17, 97, 127)))),
        shape(f"{label}~one", 1, 64),  # with one column dx is all cancellation: no tolerance has a meaning there
        shape(f"{label}~empty", 0, columns),
    )


def _bytes(matrices: int) -> Any:
    return lambda shape: 2.0 * matrices * shape.size("R") * shape.size("C")


OPERATOR = Operator(
    name="rmsnorm_bf16",
    title="RMSNorm bf16 on an accelerator, forward and backward",
    language="triton",
    buffers=(
        *(Buffer(name=name, dtype="bfloat16", extent=axes("R", "C")) for name in ("x", "dy", "y", "dx")),
        Buffer(name="w", dtype="bfloat16", extent=axes("C")),
        Buffer(name="dw", dtype="float32", extent=axes("C")),
    ),
    passes=(
        Pass(
            name="forward",
            symbol="forward",
            inputs=("x", "w"),
            outputs=("y",),
            flops=lambda shape: 4.0 * shape.size("R") * shape.size("C"),
            bytes_moved=_bytes(2),
        ),
        Pass(
            name="backward",
            symbol="backward",
            inputs=("x", "w", "dy"),
            outputs=("dx", "dw"),
            flops=lambda shape: 11.0 * shape.size("R") * shape.size("C"),
            bytes_moved=_bytes(3),
        ),
    ),
    shapes=(
        shape("llama8b-32768x4096", 32768, 4096),
        shape("llama13b-32768x5120", 32768, 5120),
        shape("llama70b-16384x8192", 16384, 8192),
    ),
    tolerance=Tolerance(rtol=1.6e-2, atol=1e-2, snr_db=40.0),
    metric="GB/s",
    draw=_draw,
    distributions=DISTRIBUTIONS,
    oracle=_oracle,
    neighbours=_neighbours,
    starts=(("naive", read_kernel("rmsnorm_bf16_naive.py")),),
    variants=(("streamed", read_kernel("rmsnorm_bf16_streamed.py")),),
    wrong=read_kernel("rmsnorm_bf16_wrong.py"),
    weights=("w",),
    by_rows=("forward", "R", ("x",)),
)
