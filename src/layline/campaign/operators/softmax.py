"""Row softmax f32: y = exp(x - max) / sum along each row. Bound by memory, so its metric is GB/s."""

from __future__ import annotations

from typing import Any

import numpy as np

from layline.campaign.operators import read_kernel
from layline.campaign.operators.draws import add_spikes, draw_f32
from layline.campaign.values.operator import Arrays, Buffer, Operator, Pass, Shape, Tolerance

Array = np.ndarray[Any, Any]


def shape(label: str, rows: int, columns: int) -> Shape:
    """A softmax shape: R rows of C columns."""
    return Shape(label=label, sizes=(("R", rows), ("C", columns)))


def _draw(shape: Shape, rng: np.random.Generator, distribution: str) -> dict[str, Array]:  # noqa: PLR0911  a table
    extent = (shape.size("R"), shape.size("C"))
    match distribution:
        case "high":  # exp overflows without the subtraction of the maximum
            return {"x": draw_f32(extent, rng, "normal") * np.float32(4) + np.float32(rng.choice((120.0, 5000.0)))}
        case "low":  # exp underflows to a division by zero without it
            return {"x": draw_f32(extent, rng, "normal") * np.float32(4) - np.float32(rng.choice((130.0, 5000.0)))}
        case "peaked":  # one element far above the others
            x = draw_f32(extent, rng, "normal")
            if x.size:
                x[np.arange(extent[0]), rng.integers(0, extent[1], size=extent[0])] += np.float32(60)
            return {"x": x}
        case "spike":  # ordinary rows but for one element, whose exp alone overflows; the others underflow beside it
            return {"x": add_spikes(draw_f32(extent, rng, "normal"), rng, 100.0)}
        case "masked":  # what attention masks put in: the difference to the maximum is far beyond what exp needs
            x = draw_f32(extent, rng, "normal")
            hidden = rng.random(extent) < 0.3
            hidden[:, :1] = False
            x[hidden] = rng.choice((-1e4, -1e9, -3.4e38, -np.inf), size=int(hidden.sum())).astype(np.float32)
            return {"x": x}
        case "shut":  # rows that a mask hides throughout: every element the same, and far below what exp needs
            x = draw_f32(extent, rng, "normal")
            hidden = rng.random(extent[0]) < 0.3
            x[hidden] = np.float32(rng.choice((-1e4, -1e9, -3.4e38)))
            return {"x": x}
        case "vast":  # near the largest number: a product before the subtraction overflows
            return {"x": np.clip(draw_f32(extent, rng, "normal"), -3.3, 3.3) * np.float32(1e38)}
        case "causal":  # row r of a block sees the first r + 1 columns
            x = draw_f32(extent, rng, "normal")
            hidden = np.arange(extent[1])[None, :] > (np.arange(extent[0]) % max(extent[1], 1))[:, None]
            x[hidden] = np.float32(rng.choice((-1e4, -1e9, -3.4e38, -np.inf)))
            return {"x": x}
        case "deep":  # down to where exp ends in f32: what is small there is not nothing, its logarithm is taken
            return {"x": rng.uniform(-88.0, 0.0, extent).astype(np.float32)}
        case "falling" | "rising":  # a running maximum is updated once or at every element
            x = np.sort(draw_f32(extent, rng, "normal") * np.float32(10), axis=1)
            return {"x": np.ascontiguousarray(x if distribution == "rising" else x[:, ::-1])}
    return {"x": draw_f32(extent, rng, distribution)}


def _oracle(_step: str, shape: Shape, inputs: Arrays) -> dict[str, Array]:
    x = inputs["x"].astype(np.float64)
    if not x.size:
        return {"y": np.zeros((shape.size("R"), shape.size("C")))}
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": powers / powers.sum(axis=1, keepdims=True)}


def _neighbours(near: Shape, rng: np.random.Generator) -> tuple[Shape, ...]:
    rows, columns = near.size("R"), near.size("C")
    label = near.label
    sign = int(rng.choice((-1, 1)))
    return (
        shape(f"{label}~aligned", max(8, rows + 8 * sign), max(32, columns + 32 * int(rng.choice((-2, -1, 1, 2))))),
        shape(f"{label}~odd", rows + 1, max(1, columns + sign)),
        shape(f"{label}~prime", int(rng.choice((3, 7, 31))), int(rng.choice((5, 17, 97, 127)))),
        shape(f"{label}~one", 1, 1),
        shape(f"{label}~empty", 0, columns),
    )


OPERATOR = Operator(
    name="softmax",
    title="Row softmax f32",
    language="c",
    buffers=tuple(
        Buffer(name=name, dtype="float32", extent=lambda shape: (shape.size("R"), shape.size("C")))
        for name in ("x", "y")
    ),
    passes=(
        Pass(
            name="forward",
            symbol="forward",
            inputs=("x",),
            outputs=("y",),
            flops=lambda shape: 5.0 * shape.size("R") * shape.size("C"),
            bytes_moved=lambda shape: 8.0 * shape.size("R") * shape.size("C"),
        ),
    ),
    shapes=(
        shape("short-2048x64", 2048, 64),
        shape("square-384", 384, 384),
        shape("long-64x4096", 64, 4096),
        shape("vocab-8x32000", 8, 32000),
    ),
    tolerance=Tolerance(rtol=1e-4, atol=1e-5),
    metric="GB/s",
    draw=_draw,
    distributions=(
        "normal",
        "high",
        "low",
        "peaked",
        "spike",
        "masked",
        "shut",
        "vast",
        "falling",
        "rising",
        "clustered",
        "uneven",
        "coarse",
        "padded",
        "causal",
        "deep",
    ),
    oracle=_oracle,
    neighbours=_neighbours,
    starts=(("naive", read_kernel("softmax_naive.c")),),
    wrong=read_kernel("softmax_wrong.c"),
)
