"""Draw what is no ordinary number: indices, offsets, masks, permutations, routing. Made with numpy, whatever the
device.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from layline.campaign.values.operator_file import (
    Draw,
    Index,
    Mask,
    Offsets,
    Permutation,
    Routing,
    Uniform,
)

Array = np.ndarray[Any, Any]
STRUCTURES = {
    "skewed": ("uneven", "outliers"),
    "clustered": ("sparse", "spike", "scaled"),
    "ordered": ("coarse",),
    "packed": ("offset",),
}
"""Which structure goes with which distribution of the numbers beside it; balanced with all others."""


def find_structure(kind: str) -> str:
    """`balanced` with the timed distribution."""
    return next((found for found, kinds in STRUCTURES.items() if kind in kinds), "balanced")


def draw_structure(
    draw: Draw, extent: tuple[int, ...], sizes: dict[str, int], rng: np.random.Generator, structure: str
) -> Array:
    """One array; `structure` is how unevenly it may lie."""

    def number(what: str | int) -> int:
        return what if isinstance(what, int) else sizes[what]

    match draw:
        case Index(n):
            return _draw_index(extent, number(n), rng, structure)
        case Offsets(total, parts):
            return draw_offsets(number(total), number(parts), rng, structure)
        case Mask(p):
            return _draw_mask(extent, p, rng, structure)
        case Permutation():
            rows = math.prod(extent[:-1])
            return (
                np.stack([rng.permutation(extent[-1]) for _ in range(rows)]).reshape(extent)
                if rows
                else np.zeros(extent)
            )
        case Routing(experts, k):
            return draw_routing(math.prod(extent[:-1]), number(experts), number(k), rng, structure).reshape(extent)
        case Uniform(low, high):
            return rng.uniform(low, high, extent)


def _draw_mask(extent: tuple[int, ...], p: float, rng: np.random.Generator, structure: str) -> Array:
    """Ones where it is open: element by element, with another share, or with whole rows shut and whole rows open."""
    share = p if structure == "balanced" else float(rng.uniform(p / 2, (1 + p) / 2))
    drawn = (rng.random(extent) < share).astype(np.int64)
    if structure == "clustered" and len(extent) > 1 and drawn.size:
        kind = rng.permutation(np.arange(math.prod(extent[:-1])) % 4).reshape(extent[:-1])
        drawn[kind == 0] = 0
        drawn[kind == 1] = 1
    return drawn


def _draw_index(extent: tuple[int, ...], n: int, rng: np.random.Generator, structure: str) -> Array:
    if n <= 0:
        return np.zeros(extent, np.int64)
    if structure == "clustered":  # neighbours point to the same few, and to both ends
        few = rng.choice((0, n - 1, int(rng.integers(0, n))), size=3)
        return rng.choice(few, size=extent).astype(np.int64)
    if structure in ("ordered", "packed"):  # positions as every model has them, of one sequence or of several in a row
        wide = extent[-1] if extent else 1
        every = max(1, wide // (int(rng.integers(2, 17)) if structure == "packed" else 1))
        return (np.arange(math.prod(extent)) % max(1, wide) % every % n).reshape(extent)
    if structure == "skewed":  # most point to the first ones
        return np.minimum((n * rng.random(extent) ** 4).astype(np.int64), n - 1)
    return rng.integers(0, n, extent)


def draw_offsets(total: int, parts: int, rng: np.random.Generator, structure: str) -> Array:
    """Non-decreasing from 0 to the total: even parts, ragged ones with empty ones among them, or all in one."""
    if parts <= 0:
        return np.zeros(1, np.int64)
    if structure == "balanced":
        cuts = np.sort(rng.integers(0, total + 1, parts - 1))
    elif structure == "skewed":
        cuts = np.full(parts - 1, 0 if rng.random() < 0.5 else total)
    else:
        cuts = np.arange(1, parts) * total // parts
    return np.concatenate(([0], cuts, [total])).astype(np.int64)


def draw_routing(rows: int, experts: int, k: int, rng: np.random.Generator, structure: str) -> Array:
    """Rows of k different experts: each as likely, a few much likelier, or whole stretches of rows to the same ones."""
    if structure == "clustered":
        few = rng.permutation(experts)[: min(experts, max(k, 2))]
        weights = np.where(np.isin(np.arange(experts), few), 1.0, 1e-6)
    elif structure == "skewed":
        weights = 1.0 / (1 + np.arange(experts)) ** 2
    else:
        weights = np.ones(experts)
    keys = rng.exponential(size=(rows, experts)) / weights  # the k smallest of these are k draws without replacement
    found: Array = np.argsort(keys, axis=1)[:, :k].astype(np.int64)
    return found
