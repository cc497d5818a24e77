"""GEMM f32 as a linear layer: out = a bᵀ, and both backward products da = dout b, db = doutᵀ a."""

from __future__ import annotations

from typing import Any

import numpy as np

from layline.campaign.operators import read_kernel
from layline.campaign.operators.draws import draw_f32, draw_integers
from layline.campaign.values.operator import Arrays, Buffer, Operator, Pass, Shape, Tolerance, find_alignment

Array = np.ndarray[Any, Any]


def shape(label: str, m: int, n: int, k: int) -> Shape:
    """A GEMM shape: a is M×K, b is N×K, out is M×N."""
    return Shape(label=label, sizes=(("M", m), ("N", n), ("K", k)))


def _draw(shape: Shape, rng: np.random.Generator, distribution: str) -> dict[str, Array]:
    m, n, k = (size for _name, size in shape.sizes)
    extents = {"a": (m, k), "b": (n, k), "dout": (m, n)}
    if distribution == "integers":
        # Twelve bits against one: exact in f32 while max(M, N, K) × 4095 < 2²⁴, wrong in anything narrower than 12
        # bits.
        wide = rng.permutation([True, False])
        limits = {"a": 4095 if wide[0] else 1, "b": 4095 if wide[1] else 1, "dout": 1}
        return {name: draw_integers(extent, rng, limits[name]) for name, extent in extents.items()}
    if distribution == "vast":  # near the ends of f32, no result beyond them: products in a narrower type overflow
        power = int(rng.choice((-100, -60, 60, 100)))
        scales = {"a": 2.0**power, "b": 2.0**-power, "dout": 1.0}
        return {name: draw_f32(extent, rng, "normal") * np.float32(scales[name]) for name, extent in extents.items()}
    alone = {"level": "dout", "rectified": "a", "chosen": "a"}.get(distribution)  # where callers have such values
    if alone is not None:
        return {
            name: draw_f32(extent, rng, distribution if name == alone else "normal") for name, extent in extents.items()
        }
    return {name: draw_f32(extent, rng, distribution) for name, extent in extents.items()}


def _oracle(step: str, _shape: Shape, inputs: Arrays) -> dict[str, Array]:
    a, b = inputs["a"].astype(np.float64), inputs["b"].astype(np.float64)
    if step == "forward":
        return {"out": a @ b.T}
    dout = inputs["dout"].astype(np.float64)
    return {"da": dout @ b, "db": dout.T @ a}


def _neighbours(near: Shape, rng: np.random.Generator) -> tuple[Shape, ...]:
    m, n, k = (size for _name, size in near.sizes)
    steps = [find_alignment(size) for size in (m, n, k)]
    jitter = [max(step, size + step * int(rng.choice((-1, 1, 2)))) for size, step in zip((m, n, k), steps, strict=True)]
    primes = [int(rng.choice((2, 3, 5, 7, 13, 31, 61, 67, 97, 127))) for _ in range(3)]
    label = near.label
    return (
        shape(f"{label}~aligned", *jitter),
        shape(f"{label}~odd", max(1, m + int(rng.choice((-1, 1)))), max(1, n + int(rng.choice((-1, 1)))), k + 1),
        shape(f"{label}~prime", *primes),
        shape(f"{label}~one", 1, 1, 1),
        shape(f"{label}~empty", 0, n, k),
    )


def _words(step: str) -> Any:
    def bytes_moved(shape: Shape) -> float:
        m, n, k = (size for _name, size in shape.sizes)
        forward = m * k + n * k + m * n
        return 4.0 * (forward if step == "forward" else forward + m * k + n * k)

    return bytes_moved


def _flops(count: int) -> Any:
    def flops(shape: Shape) -> float:
        m, n, k = (size for _name, size in shape.sizes)
        return float(count) * m * n * k

    return flops


def _extent(*axes: str) -> Any:
    return lambda shape: tuple(shape.size(axis) for axis in axes)


OPERATOR = Operator(
    name="gemm",
    title="GEMM f32, forward and backward (linear layer)",
    language="c",
    buffers=(
        Buffer(name="a", dtype="float32", extent=_extent("M", "K")),
        Buffer(name="b", dtype="float32", extent=_extent("N", "K")),
        Buffer(name="dout", dtype="float32", extent=_extent("M", "N")),
        Buffer(name="out", dtype="float32", extent=_extent("M", "N")),
        Buffer(name="da", dtype="float32", extent=_extent("M", "K")),
        Buffer(name="db", dtype="float32", extent=_extent("N", "K")),
    ),
    passes=(
        Pass(
            name="forward",
            symbol="forward",
            inputs=("a", "b"),
            outputs=("out",),
            flops=_flops(2),
            bytes_moved=_words("forward"),
        ),
        Pass(
            name="backward",
            symbol="backward",
            inputs=("a", "b", "dout"),
            outputs=("da", "db"),
            flops=_flops(4),
            bytes_moved=_words("backward"),
        ),
    ),
    shapes=(
        shape("tiny-48", 48, 48, 48),
        shape("square-96", 96, 96, 96),
        shape("tall-384x48", 384, 48, 96),
        shape("wide-48x320", 48, 320, 96),
        shape("deep-64x64x480", 64, 64, 480),
        shape("square-176", 176, 176, 176),
        shape("mlp-128x256x192", 128, 256, 192),
    ),
    tolerance=Tolerance(rtol=1e-4, atol=1e-4),
    metric="Combined Step TFLOPS",
    draw=_draw,
    distributions=(
        "normal",
        "scaled",
        "uneven",
        "striped",
        "offset",
        "sparse",
        "outliers",
        "spike",
        "vast",
        "coarse",
        "padded",
        "level",
        "rectified",
        "chosen",
        "integers",
    ),
    oracle=_oracle,
    neighbours=_neighbours,
    starts=(("naive", read_kernel("gemm_naive.c")), ("blocked", read_kernel("gemm_blocked.c"))),
    variants=(("tiled", read_kernel("gemm_tiled.c")), ("direct", read_kernel("gemm_direct.c"))),
    wrong=read_kernel("gemm_wrong.c"),
    weights=("b",),
    exact="integers",
)
