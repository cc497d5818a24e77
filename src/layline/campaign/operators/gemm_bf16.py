"""GEMM bf16 on an accelerator, as a linear layer: out = a bᵀ, da = dout b, db = doutᵀ a; sums in f32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layline.campaign.operators import read_kernel
from layline.campaign.operators.gemm_shapes import axes, count_flops, find_neighbours, shape
from layline.campaign.operators.tensors import DISTRIBUTIONS, draw_floats, draw_integers, start_generator
from layline.campaign.values.operator import Buffer, Operator, Pass, Shape, Tolerance

if TYPE_CHECKING:
    import numpy as np

FP64_BELOW = 1 << 33
"""Products of this many multiplications and fewer have an fp64 reference: about 2048³."""


def _draw(shape: Shape, rng: np.random.Generator, distribution: str) -> dict[str, Any]:
    import torch

    m, n, k = (size for _name, size in shape.sizes)
    generator = start_generator(rng)
    extents = {"a": (m, k), "b": (n, k), "dout": (m, n)}
    if distribution == "integers":  # exact in f32 while max(M, N, K) × 16 × 16 < 2²⁴, wrong in anything narrower
        drawn = {name: draw_integers(extent, generator, 16) for name, extent in extents.items()}
    else:
        drawn = {name: draw_floats(extent, generator, distribution) for name, extent in extents.items()}
    return {name: value.to(torch.bfloat16) for name, value in drawn.items()}


def _multiply(x: Any, y: Any) -> Any:
    """X y with f32 results: in fp64 where that is quick, else bf16 products (exact in f32) summed in f32.

    The sums' rounding is some 60 dB below that of a bf16 output. Every element is compared, whatever the size.
    """
    import torch

    if x.device.type == "cpu" or x.shape[0] * x.shape[1] * y.shape[1] <= FP64_BELOW:
        return (x.double() @ y.double()).to(torch.float32)
    return torch.mm(x, y, out_dtype=torch.float32)


def _oracle(step: str, _shape: Shape, inputs: Any) -> dict[str, Any]:
    a, b = inputs["a"], inputs["b"]
    if step == "forward":
        return {"out": _multiply(a, b.T)}
    dout = inputs["dout"]
    return {"da": _multiply(dout, b), "db": _multiply(dout.T, a)}


def _bytes(step: str) -> Any:
    def bytes_moved(shape: Shape) -> float:
        m, n, k = (size for _name, size in shape.sizes)
        forward = m * k + n * k + m * n
        return 2.0 * (forward if step == "forward" else forward + m * k + n * k)

    return bytes_moved


_EXTENTS = {"a": ("M", "K"), "b": ("N", "K"), "dout": ("M", "N"), "out": ("M", "N"), "da": ("M", "K"), "db": ("N", "K")}

OPERATOR = Operator(
    name="gemm_bf16",
    title="GEMM bf16 on an accelerator, forward and backward (linear layer)",
    language="triton",
    buffers=tuple(Buffer(name=name, dtype="bfloat16", extent=axes(*over)) for name, over in _EXTENTS.items()),
    passes=(
        Pass(
            name="forward",
            symbol="forward",
            inputs=("a", "b"),
            outputs=("out",),
            flops=count_flops(2),
            bytes_moved=_bytes("forward"),
        ),
        Pass(
            name="backward",
            symbol="backward",
            inputs=("a", "b", "dout"),
            outputs=("da", "db"),
            flops=count_flops(4),
            bytes_moved=_bytes("backward"),
        ),
    ),
    shapes=(
        shape("square-4096", 4096, 4096, 4096),
        shape("square-8192", 8192, 8192, 8192),
        shape("llama8b-qkv", 8192, 6144, 4096),
        shape("llama8b-mlp", 8192, 14336, 4096),
    ),
    tolerance=Tolerance(rtol=1.6e-2, atol=1e-2, snr_db=40.0),
    metric="Combined Step TFLOPS",
    draw=_draw,
    distributions=(*DISTRIBUTIONS, "integers"),
    oracle=_oracle,
    neighbours=find_neighbours,
    starts=(("naive", read_kernel("gemm_bf16_naive.py")),),
    variants=(
        ("grouped", read_kernel("gemm_bf16_grouped.py")),
        ("descriptors", read_kernel("gemm_bf16_descriptors.py")),
    ),
    wrong=read_kernel("gemm_bf16_wrong.py"),
    weights=("b",),
    exact="integers",
    by_rows=("forward", "M", ("a",)),
)
