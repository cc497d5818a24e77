"""Grouped GEMM bf16 on an accelerator: rows sorted by group, a weight per group, group sizes known only at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from layline.campaign.operators import read_kernel
from layline.campaign.operators.gemm_shapes import axes
from layline.campaign.operators.tensors import DISTRIBUTIONS, draw_floats, draw_integers, start_generator
from layline.campaign.values.operator import Buffer, Operator, Pass, Shape, Tolerance

FP64_BELOW = 1 << 31
"""Groups of this many multiplications and fewer have an fp64 reference."""


def shape(label: str, groups: tuple[int, ...], n: int, k: int) -> Shape:
    """G groups of given sizes, M rows in all."""
    sizes = (("G", len(groups)), ("M", sum(groups)), ("N", n), ("K", k))
    return Shape(label=label, sizes=sizes, groups=groups)


def _draw(shape: Shape, rng: np.random.Generator, distribution: str) -> dict[str, Any]:
    import torch

    g, m, n, k = (size for _name, size in shape.sizes)
    generator = start_generator(rng)
    # which group is the large one changes from call to call, as it does from batch to batch in training
    sizes = torch.from_numpy(rng.permutation(np.array(shape.groups, dtype=np.int64))).to(generator.device)
    extents = {"a": (m, k), "b": (g, n, k)}
    if distribution == "integers":  # exact in f32 while K × 16 × 16 < 2²⁴
        drawn = {name: draw_integers(extent, generator, 16) for name, extent in extents.items()}
    else:
        drawn = {name: draw_floats(extent, generator, distribution) for name, extent in extents.items()}
    return {**{name: value.to(torch.bfloat16) for name, value in drawn.items()}, "sizes": sizes}


def _oracle(_step: str, shape: Shape, inputs: Any) -> dict[str, Any]:
    import torch

    a, b = inputs["a"], inputs["b"]
    out = torch.zeros(shape.size("M"), shape.size("N"), dtype=torch.float32, device=a.device)
    begin = 0
    for group, size in enumerate(inputs["sizes"].tolist()):
        if size:
            out[begin : begin + size] = _multiply(a[begin : begin + size], b[group].T)
        begin += size
    return {"out": out}


def _multiply(x: Any, y: Any) -> Any:
    """In fp64 where that is quick, else bf16 products (exact in f32) summed in f32."""
    import torch

    if x.device.type == "cpu" or x.shape[0] * x.shape[1] * y.shape[1] <= FP64_BELOW:
        return (x.double() @ y.double()).to(torch.float32)
    return torch.mm(x, y, out_dtype=torch.float32)


def _neighbours(near: Shape, rng: np.random.Generator) -> tuple[Shape, ...]:
    """First equally aligned sizes of about the same work, then ragged, odd, lone and empty groups."""
    n, k, rows, count = near.size("N"), near.size("K"), near.size("M"), len(near.groups)
    label = near.label
    aligned = tuple(max(0, size + 64 * int(rng.integers(-1, 2))) for size in near.groups)
    ragged = tuple(int(part) for part in rng.multinomial(rows // 4, rng.dirichlet(np.full(count, 0.4))))
    odd = tuple(int(size) for size in rng.integers(0, 70, size=count))
    lone = tuple(513 if group == count // 2 else 0 for group in range(count))
    return (
        shape(
            f"{label}~aligned",
            aligned if sum(aligned) else near.groups,
            max(128, n + 128 * int(rng.choice((-1, 1)))),
            k,
        ),
        shape(f"{label}~ragged", ragged, n, k),
        shape(f"{label}~odd", odd if sum(odd) else (1,) * count, 129, 97),
        shape(f"{label}~lone", lone, 256, 136),
        shape(f"{label}~empty", (0,) * count, 128, 128),
    )


def _bytes(shape: Shape) -> float:
    g, m, n, k = (size for _name, size in shape.sizes)
    return 2.0 * (m * (k + n) + g * n * k)


OPERATOR = Operator(
    name="grouped_gemm_bf16",
    title="Grouped GEMM bf16 on an accelerator, forward, run-time group sizes",
    language="triton",
    buffers=(
        Buffer(name="a", dtype="bfloat16", extent=axes("M", "K")),
        Buffer(name="b", dtype="bfloat16", extent=axes("G", "N", "K")),
        Buffer(name="sizes", dtype="int64", extent=axes("G")),
        Buffer(name="out", dtype="bfloat16", extent=axes("M", "N")),
    ),
    passes=(
        Pass(
            name="forward",
            symbol="forward",
            inputs=("a", "b", "sizes"),
            outputs=("out",),
            flops=lambda shape: 2.0 * shape.size("M") * shape.size("N") * shape.size("K"),
            bytes_moved=_bytes,
        ),
    ),
    shapes=(
        shape("uniform-8x2048", (2048,) * 8, 4096, 4096),
        shape("skewed-8", (6144, 3904, 2560, 1728, 1024, 576, 320, 128), 4096, 4096),
        shape("empty-8", (4480, 0, 4224, 0, 0, 3712, 3968, 0), 4096, 4096),
        shape("many-64", tuple(64 + 12 * group for group in range(64)), 1408, 2048),
    ),
    tolerance=Tolerance(rtol=1.6e-2, atol=1e-2, snr_db=40.0),
    metric="Forward TFLOPS",
    draw=_draw,
    distributions=(*DISTRIBUTIONS, "integers"),
    oracle=_oracle,
    neighbours=_neighbours,
    starts=(("naive", read_kernel("grouped_gemm_bf16_naive.py")),),
    variants=(("descriptors", read_kernel("grouped_gemm_bf16_descriptors.py")),),
    wrong=read_kernel("grouped_gemm_bf16_wrong.py"),
    weights=("b",),
    exact="integers",
)
