"""Which shapes an operator of the user's own allows: domains of axes, the file's `legal`, and neighbours that keep to
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING

from layline.campaign.values.describe import MOVED
from layline.campaign.values.operator import Shape
from layline.campaign.values.operator_file import Axis

if TYPE_CHECKING:
    import numpy as np

STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""How far one axis is moved to make a shape legal."""
PRIMES = (2, 3, 5, 7, 13, 31, 61, 67, 97, 127)

Legal = Callable[[SimpleNamespace], bool]


def build_shape(label: str, sizes: Mapping[str, int], axes: Mapping[str, Axis]) -> Shape:
    """Every axis in the file's order, the constant ones filled in."""
    values = ((name, axis.const if axis.const is not None else sizes[name]) for name, axis in axes.items())
    return Shape(label=label, sizes=tuple(values))


def fit(shape: Shape, axes: Mapping[str, Axis], legal: Legal) -> Shape | None:
    """The same shape where it is allowed; else the nearest that is, by rounding and then by moving one axis."""
    sizes = {name: round_axis(axes[name], value) for name, value in shape.sizes}
    for changed in _vary(sizes, axes):
        if legal(SimpleNamespace(**changed)):
            is_it = changed == dict(shape.sizes) or shape.label.endswith(MOVED)
            return Shape(label=shape.label if is_it else f"{shape.label}{MOVED}", sizes=tuple(changed.items()))
    return None


def _vary(sizes: dict[str, int], axes: Mapping[str, Axis]) -> Iterator[dict[str, int]]:
    yield sizes
    for step in STEPS:
        for name, axis in axes.items():
            for sign in (1, -1) if axis.const is None else ():
                moved = sizes[name] + sign * step * axis.multiple
                if moved == round_axis(axis, moved):
                    yield {**sizes, name: moved}


def round_axis(axis: Axis, value: int) -> int:
    """Into the domain: the constant, or a multiple between the bounds."""
    if axis.const is not None:
        return axis.const
    low = -(-axis.low // axis.multiple) * axis.multiple
    found = max(low, value // axis.multiple * axis.multiple)
    return min(found, axis.high // axis.multiple * axis.multiple) if axis.high is not None else found


def find_neighbours(near: Shape, rng: np.random.Generator, axes: Mapping[str, Axis], legal: Legal) -> tuple[Shape, ...]:
    """First an equally aligned one, then odd, prime, single and empty ones, as far as the operator allows them."""
    sizes = dict(near.sizes)

    def jitter(value: int) -> int:
        step = next(one for one in (64, 32, 16, 8, 4, 2, 1) if value % one == 0 and (value >= 4 * one or one == 1))
        return max(step, value + step * int(rng.choice((-2, -1, 1, 2))))

    wanted = (
        ("aligned", {name: jitter(value) for name, value in sizes.items()}),
        ("odd", {name: max(1, value + int(rng.choice((-1, 1)))) for name, value in sizes.items()}),
        ("prime", {name: int(rng.choice(PRIMES)) for name in sizes}),
        ("one", dict.fromkeys(sizes, 1)),
        *((("empty", {**sizes, name: 0}) for name, axis in axes.items() if axis.low == 0 and axis.const is None)),
    )
    found: dict[tuple[tuple[str, int], ...], Shape] = {}
    for what, chosen in wanted:
        shape = fit(Shape(label=f"{near.label}~{what}", sizes=tuple(chosen.items())), axes, legal)
        if shape is not None and shape.sizes != near.sizes:
            found.setdefault(shape.sizes, shape)
    return tuple(found.values())
