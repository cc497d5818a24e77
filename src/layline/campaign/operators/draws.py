"""Ways to draw an f32 array, each aimed at something a kernel may get wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float32]]
LIKE_CALLERS = ("coarse", "padded", "level", "rectified", "chosen")
PADDED = 0.3
"""Share of what a padded input leaves empty."""
UNEVEN = 16
"""Rows differ by up to 2^32: none of them is small enough to be left out."""


def draw_f32(extent: tuple[int, ...], rng: np.random.Generator, distribution: str) -> Array:  # noqa: PLR0911  a table
    """An array from a named distribution."""
    normal = rng.standard_normal(extent, dtype=np.float32)
    if distribution in LIKE_CALLERS:
        return _draw_like_callers(normal, rng, distribution)
    match distribution:
        case "normal":
            return normal
        case "scaled":  # another magnitude each time: absolute tolerances and low-precision ranges show
            return normal * np.float32(2.0 ** rng.integers(-12, 13))
        case "uneven":  # each row its own magnitude: an error in a small row cannot hide behind a large one
            rows = (2.0 ** rng.integers(-UNEVEN, UNEVEN + 1, size=(*extent[:-1], 1))).astype(np.float32)
            return normal * rows
        case (
            "striped"
        ):  # each column its own magnitude: the columns of a gradient by the weight are as small as its own
            columns = (2.0 ** rng.integers(-UNEVEN, UNEVEN + 1, size=extent[-1])).astype(np.float32)
            return normal * columns
        case "offset":  # far from zero: no mean that happens to vanish
            return normal * np.float32(0.25) + np.float32(rng.choice((-3.0, 3.0)))
        case "sparse":  # nine tenths zeros
            return np.where(rng.random(extent) < 0.9, np.float32(0), normal)
        case "outliers":  # a few values a thousand times the others
            return np.where(rng.random(extent) < 0.002, normal * np.float32(1000), normal)
        case "clustered":  # few distinct values, many ties
            return rng.choice(rng.standard_normal(5).astype(np.float32), size=extent)
        case (
            "spike"
        ):  # ordinary numbers and, at a place nobody can sample, a single large one in every second row or so
            return add_spikes(normal, rng, 100.0)
    raise ValueError(distribution)


def _draw_like_callers(normal: Array, rng: np.random.Generator, distribution: str) -> Array:
    """The regularities of real calls, which no draw by chance has."""
    match distribution:
        case "padded":  # rows, channels or whole samples of zeros, as padding leaves them, between others
            depth = int(rng.integers(1, normal.ndim)) if normal.ndim > 1 else 0
            extent = (*normal.shape[:depth], *(1,) * (normal.ndim - depth))
            return np.where(rng.random(extent) < PADDED, np.float32(0), normal)
        case "level":  # one value throughout, as the gradient of a mean is
            return np.full(normal.shape, normal.flat[0], np.float32) if normal.size else normal
        case "rectified":  # what an activation leaves: nothing negative, half of it zero
            return np.maximum(normal, np.float32(0))
        case "chosen":  # a single 1 in every row, as labels, routing and permutations have it
            return _choose(normal.shape, rng)
        case "coarse":  # what mixed precision hands over: every value is one of bf16
            return (normal.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    raise ValueError(distribution)


def _choose(extent: tuple[int, ...], rng: np.random.Generator) -> Array:
    chosen = np.zeros(extent, np.float32)
    rows = chosen.reshape(-1, extent[-1])
    if rows.size:
        rows[np.arange(len(rows)), rng.integers(0, extent[-1], size=len(rows))] = 1
    return chosen


def add_spikes(x: Array, rng: np.random.Generator, size: float) -> Array:
    """One element of about half the rows becomes ±`size`; one row at least has one."""
    if x.size:
        rows = x.reshape(-1, x.shape[-1])
        chosen = np.flatnonzero(rng.random(len(rows)) < 0.5)
        chosen = chosen if chosen.size else np.array([int(rng.integers(0, len(rows)))])
        at = rng.integers(0, rows.shape[1], size=chosen.size)
        rows[chosen, at] = rng.choice((-size, size), size=chosen.size)
    return x


def draw_integers(extent: tuple[int, ...], rng: np.random.Generator, limit: int) -> Array:
    """Whole numbers up to a limit: sums of their products are exact in f32, so every bit must be right."""
    return rng.integers(-limit, limit + 1, size=extent).astype(np.float32)
