"""What the accelerator's GEMM operators share: shapes, neighbours, work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from layline.campaign.values.operator import Shape

if TYPE_CHECKING:
    import numpy as np


def shape(label: str, m: int, n: int, k: int) -> Shape:
    """A GEMM shape: a is M×K, b is N×K, out is M×N."""
    return Shape(label=label, sizes=(("M", m), ("N", n), ("K", k)))


def axes(*names: str) -> Callable[[Shape], tuple[int, ...]]:
    """Extents by the names of the sizes."""
    return lambda shape: tuple(shape.size(name) for name in names)


def count_flops(products: int) -> Callable[[Shape], float]:
    """`products` × M × N × K."""

    def flops(shape: Shape) -> float:
        m, n, k = (size for _name, size in shape.sizes)
        return float(products) * m * n * k

    return flops


def find_neighbours(near: Shape, rng: np.random.Generator) -> tuple[Shape, ...]:
    """First an equally aligned shape of about the same work, then odd, prime, tiny and empty ones."""
    m, n, k = (size for _name, size in near.sizes)
    jitter = [max(128, size + 128 * int(rng.choice((-3, -2, -1, 1, 2, 3)))) for size in (m, n, k)]
    odd = [int(rng.choice((65, 129, 255, 383))) + int(rng.choice((-2, 0, 2))) for _ in range(3)]
    primes = [int(rng.choice((2, 3, 7, 31, 61, 97, 127, 257))) for _ in range(3)]
    label = near.label
    return (
        shape(f"{label}~aligned", *jitter),
        shape(f"{label}~odd", *odd),
        shape(f"{label}~prime", *primes),
        shape(f"{label}~one", 1, 1, 1),
        shape(f"{label}~empty", 0, 256, 128),
    )
