"""Blockwise FP8 GEMM on an accelerator: out = (a·sa) (b·sb)ᵀ with E4M3 operands, scales per 1×128 of a and 128×128 of
b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layline.campaign.operators import read_kernel
from layline.campaign.operators.gemm_shapes import axes, count_flops, find_neighbours, shape
from layline.campaign.operators.tensors import DISTRIBUTIONS, draw_floats, start_generator
from layline.campaign.values.operator import Buffer, Operator, Pass, Shape, Tolerance

if TYPE_CHECKING:
    import numpy as np

BLOCK = 128
LARGEST = 448.0
"""Of E4M3."""


def _blocks(size: int) -> int:
    return -(-size // BLOCK)


def _quantize(x: Any, rows: int) -> tuple[Any, Any]:
    """E4M3 with one scale per `rows` × 128 block."""
    import torch

    m, k = x.shape
    if not x.numel():
        return x.to(torch.float8_e4m3fn), x.new_zeros(-(-m // rows), _blocks(k))
    padded = torch.nn.functional.pad(x, (0, _blocks(k) * BLOCK - k, 0, -(-m // rows) * rows - m))
    tiles = padded.view(-(-m // rows), rows, _blocks(k), BLOCK)
    scale = (tiles.abs().amax(dim=(1, 3)) / LARGEST).clamp(min=1e-12)
    codes = (tiles / scale[:, None, :, None]).reshape(padded.shape)[:m, :k]
    return codes.to(torch.float8_e4m3fn).contiguous(), scale.contiguous()


def _draw(shape: Shape, rng: np.random.Generator, distribution: str) -> dict[str, Any]:
    m, n, k = (size for _name, size in shape.sizes)
    generator = start_generator(rng)
    a, sa = _quantize(draw_floats((m, k), generator, distribution), 1)
    b, sb = _quantize(draw_floats((n, k), generator, distribution), BLOCK)
    return {"a": a, "b": b, "sa": sa, "sb": sb}


def _oracle(_step: str, shape: Shape, inputs: Any) -> dict[str, Any]:
    import torch

    m, n, k = (size for _name, size in shape.sizes)
    sa = inputs["sa"].double().repeat_interleave(BLOCK, dim=1)[:, :k]
    sb = inputs["sb"].double().repeat_interleave(BLOCK, dim=1).repeat_interleave(BLOCK, dim=0)[:n, :k]
    a, b = inputs["a"].to(torch.float32).double() * sa, inputs["b"].to(torch.float32).double() * sb
    return {"out": (a @ b.T).to(torch.float32).view(m, n)}


def _bytes(shape: Shape) -> float:
    m, n, k = (size for _name, size in shape.sizes)
    return float(m * k + n * k + 2 * m * n + 4 * m * _blocks(k))


OPERATOR = Operator(
    name="gemm_fp8",
    title="Blockwise FP8 (E4M3) GEMM on an accelerator, forward",
    language="triton",
    buffers=(
        Buffer(name="a", dtype="float8_e4m3fn", extent=axes("M", "K")),
        Buffer(name="b", dtype="float8_e4m3fn", extent=axes("N", "K")),
        Buffer(name="sa", dtype="float32", extent=lambda shape: (shape.size("M"), _blocks(shape.size("K")))),
        Buffer(name="sb", dtype="float32", extent=lambda shape: (_blocks(shape.size("N")), _blocks(shape.size("K")))),
        Buffer(name="out", dtype="bfloat16", extent=axes("M", "N")),
    ),
    passes=(
        Pass(
            name="forward",
            symbol="forward",
            inputs=("a", "b", "sa", "sb"),
            outputs=("out",),
            flops=count_flops(2),
            bytes_moved=_bytes,
        ),
    ),
    shapes=(
        shape("square-4096", 4096, 4096, 4096),
        shape("square-8192", 8192, 8192, 8192),
        shape("llama8b-mlp", 8192, 14336, 4096),
    ),
    # matrix units add E4M3 products with some 14 bits: where large ones cancel, single elements are off by more than
    # rounding
    tolerance=Tolerance(rtol=2e-2, atol=5e-2, snr_db=25.0),
    metric="Forward TFLOPS",
    draw=_draw,
    distributions=DISTRIBUTIONS,
    oracle=_oracle,
    neighbours=find_neighbours,
    starts=(("naive", read_kernel("gemm_fp8_naive.py")),),
    variants=(("grouped", read_kernel("gemm_fp8_grouped.py")), ("descriptors", read_kernel("gemm_fp8_descriptors.py"))),
    wrong=read_kernel("gemm_fp8_wrong.py"),
    weights=("b", "sb"),
)
