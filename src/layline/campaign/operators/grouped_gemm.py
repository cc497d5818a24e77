"""Grouped GEMM f32: rows sorted by group, a weight per group, group sizes known only at run time (mixture of
experts).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from layline.campaign.operators import read_kernel
from layline.campaign.operators.draws import draw_f32, draw_integers
from layline.campaign.values.operator import Arrays, Buffer, Operator, Pass, Shape, Tolerance, find_alignment

Array = np.ndarray[Any, Any]


def shape(label: str, groups: tuple[int, ...], n: int, k: int) -> Shape:
    """A grouped shape: G groups of given sizes, M rows in all."""
    sizes = (("G", len(groups)), ("M", sum(groups)), ("N", n), ("K", k))
    return Shape(label=label, sizes=sizes, groups=groups)


def _draw(shape: Shape, rng: np.random.Generator, distribution: str) -> dict[str, Array]:
    g, m, n, k = (size for _name, size in shape.sizes)
    # Which group is the large one changes from call to call, as it does from batch to batch in training.
    sizes = rng.permutation(np.array(shape.groups, dtype=np.int64))
    if distribution == "integers":
        wide = bool(rng.integers(0, 2))
        a, b = draw_integers((m, k), rng, 4095 if wide else 1), draw_integers((g, n, k), rng, 1 if wide else 4095)
        return {"a": a, "b": b, "sizes": sizes}
    return {"a": draw_f32((m, k), rng, distribution), "b": draw_f32((g, n, k), rng, distribution), "sizes": sizes}


def _oracle(_step: str, shape: Shape, inputs: Arrays) -> dict[str, Array]:
    out = np.zeros((shape.size("M"), shape.size("N")))
    a, b = inputs["a"].astype(np.float64), inputs["b"].astype(np.float64)
    ends = np.cumsum(inputs["sizes"])
    for group, end in enumerate(ends):
        rows = slice(int(end - inputs["sizes"][group]), int(end))
        out[rows] = a[rows] @ b[group].T
    return {"out": out}


def _misuse(_shape: Shape, inputs: Arrays) -> dict[str, Array]:
    """Sizes that add up to less than M: some rows belong to no group."""
    sizes = inputs["sizes"].copy()
    sizes[int(np.argmax(sizes))] -= 1
    return {**inputs, "sizes": sizes}


def _neighbours(near: Shape, rng: np.random.Generator) -> tuple[Shape, ...]:
    n, k, rows, count = near.size("N"), near.size("K"), near.size("M"), len(near.groups)
    label = near.label
    aligned = tuple(max(0, size + 8 * int(rng.integers(-1, 2))) for size in near.groups)
    ragged = tuple(int(part) for part in rng.multinomial(rows, rng.dirichlet(np.full(count, 0.4))))
    lone = tuple(rows if group == count // 2 else 0 for group in range(count))
    few = min(1, rows // (20 * count))  # nearly all rows in one group, as a router gives them before it has learned
    crowded = tuple(rows - few * (count - 1) if group == count // 3 else few for group in range(count))
    return (
        shape(
            f"{label}~aligned",
            aligned if sum(aligned) else near.groups,
            n + find_alignment(n) * int(rng.choice((-1, 1))),
            k,
        ),
        shape(f"{label}~ragged", ragged, n, k),
        shape(f"{label}~odd", tuple(size + 1 for size in near.groups), n + 1, max(1, k - 1)),
        shape(f"{label}~lone", lone, n, k),
        shape(f"{label}~crowded", crowded, n, k),
        shape(f"{label}~empty", (0,) * count, n, k),
    )


OPERATOR = Operator(
    name="grouped_gemm",
    title="Grouped GEMM f32, forward, run-time group sizes",
    language="c",
    buffers=(
        Buffer(name="a", dtype="float32", extent=lambda shape: (shape.size("M"), shape.size("K"))),
        Buffer(name="b", dtype="float32", extent=lambda shape: (shape.size("G"), shape.size("N"), shape.size("K"))),
        Buffer(name="sizes", dtype="int64", extent=lambda shape: (shape.size("G"),)),
        Buffer(name="out", dtype="float32", extent=lambda shape: (shape.size("M"), shape.size("N"))),
    ),
    passes=(
        Pass(
            name="forward",
            symbol="forward",
            inputs=("a", "b", "sizes"),
            outputs=("out",),
            flops=lambda shape: 2.0 * shape.size("M") * shape.size("N") * shape.size("K"),
            bytes_moved=lambda shape: (
                4.0
                * (
                    shape.size("M") * (shape.size("K") + shape.size("N"))
                    + shape.size("G") * shape.size("N") * shape.size("K")
                )
            ),
        ),
    ),
    shapes=(
        shape("uniform-8x32", (32,) * 8, 96, 96),
        shape("skewed-8", (96, 61, 40, 27, 16, 9, 5, 2), 96, 96),
        shape("empty-8", (70, 0, 66, 0, 0, 58, 62, 0), 96, 96),
        shape("half-8", (144, 17, 19, 11, 23, 13, 15, 14), 96, 96),
    ),
    tolerance=Tolerance(rtol=1e-4, atol=1e-4),
    metric="Forward TFLOPS",
    draw=_draw,
    distributions=(
        "normal",
        "scaled",
        "uneven",
        "offset",
        "sparse",
        "outliers",
        "spike",
        "coarse",
        "padded",
        "integers",
    ),
    oracle=_oracle,
    neighbours=_neighbours,
    starts=(("naive", read_kernel("grouped_gemm_naive.c")),),
    wrong=read_kernel("grouped_gemm_wrong.c"),
    weights=("b",),
    exact="integers",
    misuse=_misuse,
)
