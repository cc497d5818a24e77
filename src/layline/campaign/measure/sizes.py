"""Sizes nobody listed: far beyond every listed one but thin, and a walk that grows and then shrinks by single steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.campaign.values.operator import Operator, Shape, find_alignment

if TYPE_CHECKING:
    import numpy as np

FAR = 4096
"""A thin shape is at least this long, however small the listed ones are."""
THIN = 8
WIDE = 1024
"""Both sides of a matrix at once: work areas of a megabyte's worth of floats are too small."""
LARGE = 512
"""Every extent at once: what is written for large matrices alone must run, too."""
EVEN = (64, 128, 256)
"""Every extent the same power of two: the sizes that callers choose most."""
ODD = 65
BESIDE = 12
"""Thin, but rows of a result long enough that not all of one cancel out by chance."""
ASIDE = 24
"""Every other extent during a walk: none of them changes, so that nothing but the one that does clears a work area."""
GROUPS = 2
RESIDUES = 16
NEAR_GROWTH, NEAR_BYTES = 8, 1 << 26
"""A neighbour moves at most so many times the bytes of the shape it is near, or so many bytes: a problem whose batch of four
became a hundred and twenty-seven took the whole device."""
_AWAY = (0.6, 1.5)
_STEPS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)


def fit_shapes(operator: Operator, shapes: Iterable[Shape], most_bytes: float = math.inf) -> Iterator[Shape]:
    """Each as near as the operator allows, none twice: a head size, a group, a tie between axes rule what may be
    invented.

    Where an operator has a rule it may have any number of axes: a shape that would not fit the memory is made smaller.
    """
    seen: set[tuple[object, ...]] = set()
    for shape in shapes:
        fitted = _fit_memory(operator, shape, most_bytes) if operator.fit else shape
        if fitted is not None and (operator.fit is None or (fitted.sizes, fitted.groups) not in seen):
            seen.add((fitted.sizes, fitted.groups))
            yield fitted


def _fit_memory(operator: Operator, shape: Shape, most_bytes: float) -> Shape | None:
    assert operator.fit is not None  # noqa: S101  the caller looked
    fitted = operator.fit(shape)
    while fitted is not None and operator.count_bytes(fitted) > most_bytes:
        sizes = dict(fitted.sizes)
        before = fitted.sizes
        for name in sorted(sizes, key=lambda one: -sizes[one]):  # the largest that can be made smaller
            smaller = operator.fit(replace(fitted, sizes=tuple({**sizes, name: sizes[name] // 2}.items())))
            if smaller is not None and smaller.size(name) < sizes[name]:
                fitted = smaller
                break
        if fitted.sizes == before:
            return None
    return fitted


def find_near_shapes(
    operator: Operator, near: Shape, rng: np.random.Generator, most_bytes: float = math.inf
) -> Iterator[Shape]:
    """Neighbours of a listed shape, none so much larger that memory could not take what is computed in between."""
    moved = max(step.bytes_moved(near) for step in operator.passes)
    most = min(most_bytes, max(NEAR_GROWTH * moved, NEAR_BYTES))
    return fit_shapes(operator, operator.neighbours(near, rng), most)


def find_far_shapes(shapes: tuple[Shape, ...], rng: np.random.Generator, thin: int = THIN) -> Iterator[Shape]:
    """One extent at a time beyond twice the largest listed, the others thin; then each two neighbouring ones wide; then
    all large; then all the same.
    """
    names = [name for name, _value in shapes[0].sizes]
    groups = _name_groups(shapes[0])
    for name in names:
        largest = max(shape.size(name) for shape in shapes)
        least = 2 * largest if name == groups else max(2 * largest, FAR)
        yield _build(f"far~{name}", shapes[0], {name: least + 1 + 2 * int(rng.integers(0, 128))}, thin)
    plain = [name for name in names if name != groups]
    if len(plain) > 2:
        for first, second in zip(plain, (*plain[1:], plain[0]), strict=True):
            wide = {name: WIDE + 1 + 2 * int(rng.integers(0, 32)) for name in (first, second)}
            yield _build(f"wide~{first}{second}", shapes[0], wide, BESIDE)
    yield find_large_shape(shapes[0], rng)
    for extent in EVEN:
        yield _build(f"even~{extent}", shapes[0], dict.fromkeys(plain, extent), THIN)


def find_edge_shapes(operator: Operator, shapes: Iterable[Shape]) -> Iterator[Shape]:
    """Each extent in turn as large, and as small, as the operator's own rule allows it beside the others: that far callers go,
    and one step on nobody may.
    """
    for shape in shapes if operator.fit else ():
        for name, value in shape.sizes:
            for end in (max(FAR, 2 * value), 1):
                last = _find_last(operator, shape, name, end)
                if last != value:
                    yield _put(shape, name, last, f"edge~{name}")


def _find_last(operator: Operator, shape: Shape, name: str, end: int) -> int:
    """The farthest extent towards the end that is allowed, where the end itself is not; else that of the shape."""
    near, far = shape.size(name), end
    if _is_allowed(operator, _put(shape, name, end)):
        return near
    while abs(far - near) > 1:
        middle = (near + far) // 2
        if _is_allowed(operator, _put(shape, name, middle)):
            near = middle
        else:
            far = middle
    return near


def _put(shape: Shape, name: str, value: int, label: str = "") -> Shape:
    sizes = tuple((one, value if one == name else size) for one, size in shape.sizes)
    return replace(shape, label=label or shape.label, sizes=sizes)


def _is_allowed(operator: Operator, shape: Shape) -> bool:
    fitted = operator.fit(shape) if operator.fit else shape
    return fitted is not None and fitted.sizes == shape.sizes


def find_large_shape(like: Shape, rng: np.random.Generator) -> Shape:
    """Every extent but the number of groups beyond what is written for small matrices."""
    plain = [name for name, _value in like.sizes if name != _name_groups(like)]
    return _build("large~all", like, {name: LARGE + 1 + 2 * int(rng.integers(0, 32)) for name in plain}, THIN)


def find_odd_shape(like: Shape, rng: np.random.Generator) -> Shape:
    """Every extent but the number of groups odd and small: no vector of any width ends where a row does."""
    plain = [name for name, _value in like.sizes if name != _name_groups(like)]
    return _build("odd~all", like, {name: ODD + 2 * int(rng.integers(0, 32)) for name in plain}, THIN)


def find_empty_shapes(operator: Operator) -> Iterator[Shape]:
    """Each extent nothing, in turn: a sum over nothing is 0, and a result without rows is none."""
    names = [name for name, _value in operator.shapes[0].sizes]
    for name in names:
        if name != _name_groups(operator.shapes[0]):
            yield _build(f"none~{name}", operator.shapes[0], {name: 0}, ASIDE)


def find_largest_shape(operator: Operator, most_bytes: float, most_flops: float) -> Shape | None:
    """Every extent beyond every listed one at once; as much of that as memory and time allow."""
    names = [name for name, _value in operator.shapes[0].sizes]
    largest = {name: max(shape.size(name) for shape in operator.shapes) + 1 for name in names}
    while True:
        built = _build("beyond~all", operator.shapes[0], {name: value | 1 for name, value in largest.items()}, THIN)
        shape = next(fit_shapes(operator, (built,)), None)
        if shape is None:
            return None
        work = max(step.flops(shape) for step in operator.passes)
        if (operator.count_bytes(shape) <= most_bytes and work <= most_flops) or max(largest.values()) < THIN:
            return shape
        name = max((one for one in names if one != _name_groups(operator.shapes[0])), key=lambda one: largest[one])
        largest[name] = max(1, largest[name] * 3 // 4)


def find_shapes_between(near: Shape, rng: np.random.Generator) -> Iterator[Shape]:
    """Smaller, larger, and some of both: every extent three fifths to five thirds of a listed one's, as well aligned."""
    names = [name for name, _value in near.sizes]
    for at, what in enumerate(("smaller", "larger", "both")):
        factors = {
            name: _AWAY[at if at < 2 else int(rng.integers(0, 2))] * (1 + 0.1 * float(rng.random())) for name in names
        }
        yield _scale(f"{near.label}~{what}", near, factors)


def _scale(label: str, near: Shape, factors: dict[str, float]) -> Shape:
    sizes = {name: _round_to(value, factors[name]) for name, value in near.sizes}
    if not near.groups:
        return Shape(label=label, sizes=tuple(sizes.items()))
    groups = tuple(round(rows * factors["M"]) for rows in near.groups)
    return Shape(label=label, sizes=tuple({**sizes, "G": len(groups), "M": sum(groups)}.items()), groups=groups)


def _round_to(value: int, factor: float) -> int:
    """Scaled, and a multiple of as large a power of two as before, up to 32."""
    step = find_alignment(value)
    return max(step, step * round(value * factor / step))


def walk_sizes(operator: Operator, steps: tuple[int, ...] | None = None, aside: int = ASIDE) -> Iterator[Shape]:
    """Each extent in turn through the steps: up and past the usual block sizes, then down again, one less at a time."""
    names = [name for name, _value in operator.shapes[0].sizes]
    for name in names:
        for value in steps or (*_STEPS, *reversed(_STEPS)):
            yield _build(f"walk~{name}{value}", operator.shapes[0], {name: value}, aside)


def spread_residues(operator: Operator, rng: np.random.Generator) -> Iterator[Shape]:
    """Small shapes in any order: each two of the extents leave every pair of remainders by RESIDUES once."""
    names = [name for name, _value in operator.shapes[0].sizes if name != _name_groups(operator.shapes[0])]
    for number in rng.permutation(RESIDUES * RESIDUES):
        first, second = divmod(int(number), RESIDUES)
        left = (first, second, *((first + at * second) % RESIDUES for at in range(1, len(names))))
        sizes = {
            name: rest + RESIDUES * int(rng.integers(0 if rest else 1, 4))
            for name, rest in zip(names, left, strict=False)
        }
        yield _build(f"small~{first}.{second}", operator.shapes[0], sizes, THIN)


def _name_groups(shape: Shape) -> str:
    """The axis that counts groups, where the operator has them."""
    return "G" if shape.groups else ""


def _build(label: str, like: Shape, chosen: dict[str, int], others: int) -> Shape:
    """A shape with some extents chosen; with groups, the rows are most of them in one group."""
    sizes = {name: chosen.get(name, others) for name, _value in like.sizes}
    if not like.groups:
        return Shape(label=label, sizes=tuple(sizes.items()))
    count = chosen.get("G", GROUPS)
    rows = sizes["M"]
    groups = (rows, *(0,) * (count - 1)) if "M" in chosen else tuple(1 + at % 3 for at in range(count))
    return Shape(label=label, sizes=tuple({**sizes, "G": count, "M": sum(groups)}.items()), groups=groups)
