"""Sizes nobody listed: every one of them passes the operator's own rule."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from layline.campaign.measure.numpy_values import NumpyValues
from layline.campaign.measure.probes.offsets import find_huge_shape
from layline.campaign.measure.sizes import (
    find_edge_shapes,
    find_empty_shapes,
    find_far_shapes,
    find_largest_shape,
    find_near_shapes,
    find_shapes_between,
    fit_shapes,
    spread_residues,
    walk_sizes,
)
from layline.campaign.operators import load_operator
from layline.campaign.values.operator import Shape, find_alignment

GEMM = load_operator("gemm")


def _even(shape: Shape) -> Shape | None:
    """K is 64, N even: what an operator with a fixed head size says."""
    sizes = {**dict(shape.sizes), "K": 64}
    sizes["N"] += sizes["N"] % 2
    return replace(shape, sizes=tuple(sizes.items())) if sizes["N"] else None


def test_every_invented_shape_is_one_the_operator_allows() -> None:
    rng = np.random.default_rng(1)
    operator = replace(GEMM, fit=_even)
    invented = (
        *find_far_shapes(operator.shapes, rng),
        *find_empty_shapes(operator),
        *walk_sizes(operator),
        *find_shapes_between(operator.shapes[0], rng),
    )
    fitted = list(fit_shapes(operator, invented))
    assert len(fitted) > 20
    assert {shape.size("K") for shape in fitted} == {64}
    assert all(shape.size("N") % 2 == 0 for shape in fitted)
    assert len({shape.sizes for shape in fitted}) == len(fitted)
    largest = find_largest_shape(operator, 1e8, 1e9)
    assert largest is not None
    assert largest.size("K") == 64
    assert find_largest_shape(replace(operator, fit=lambda _shape: None), 1e8, 1e9) is None


def test_neighbours_stay_near_in_memory() -> None:
    """A batch of four became 127 of them, and the device was full."""
    listed = Shape(label="thin", sizes=(("M", 4), ("N", 4), ("K", 1 << 21)))
    wild = Shape(label="thin~prime", sizes=(("M", 127), ("N", 127), ("K", 1 << 21)))
    operator = replace(GEMM, fit=lambda shape: shape, neighbours=lambda _near, _rng: (wild,))
    (found,) = find_near_shapes(operator, listed, np.random.default_rng(0))
    moved = [max(step.bytes_moved(shape) for step in operator.passes) for shape in (listed, found)]
    assert moved[1] <= 8 * moved[0]
    assert next(find_near_shapes(replace(operator, fit=None), listed, np.random.default_rng(0))) == wild


@pytest.mark.parametrize(("label", "sizes"), [("a", (64, 64, 64)), ("b", (2048, 61, 384)), ("c", (1, 8, 3))])
def test_shapes_between_lie_well_away_and_are_as_aligned(label: str, sizes: tuple[int, int, int]) -> None:
    near = Shape(label=label, sizes=tuple(zip("MNK", sizes, strict=True)))
    found = list(find_shapes_between(near, np.random.default_rng(3)))
    assert [shape.label.partition("~")[2] for shape in found] == ["smaller", "larger", "both"]
    for shape in found:
        for (_name, size), (_same, listed) in zip(shape.sizes, near.sizes, strict=True):
            assert size >= 1
            assert listed < 16 or not 7 / 8 < size / listed < 9 / 8
            assert listed % 32 or listed < 64 or size % 32 == 0


@pytest.mark.parametrize("name", ["gemm", "grouped_gemm"])
def test_an_equally_aligned_neighbour_is_as_well_aligned(name: str) -> None:
    """A kernel with tiles of 32 is not slower near 64 for being offered 48."""
    operator = load_operator(name)
    for listed in operator.shapes:
        for seed in range(20):
            near = operator.neighbours(listed, np.random.default_rng(seed))[0]
            for axis in ("N", "K"):
                assert near.size(axis) % find_alignment(listed.size(axis)) == 0, (listed, near)


def test_the_spread_of_a_row_of_the_largest_numbers_is_finite() -> None:
    row = np.full((1, 2), 3.4e38, np.float32)
    assert NumpyValues().find_spread(row, 0) == pytest.approx(3.4e38)


@pytest.mark.parametrize("name", ["gemm", "softmax", "grouped_gemm"])
def test_small_shapes_leave_every_pair_of_remainders(name: str) -> None:
    """A path for what is left in two extents at once was met by one shape in 64, and by none of ours."""
    operator = load_operator(name)
    shapes = list(spread_residues(operator, np.random.default_rng(3)))
    axes = [axis for axis, _size in operator.shapes[0].sizes if axis != "G"]
    for first, second in itertools.combinations(axes, 2):
        assert len({(shape.size(first) % 16, shape.size(second) % 16) for shape in shapes}) == 256
    assert all(0 < shape.size(axis) <= 64 for shape in shapes for axis in axes)


def test_shapes_beyond_32_bits_differ_and_fit_into_one_size_of_memory() -> None:
    """Memory that was shared with a worker is kept: another size in every round used all of a device up."""
    operator, rng = load_operator("gemm_bf16"), np.random.default_rng(7)
    drawn = {find_huge_shape(operator, rng).size("M") for _ in range(50)}
    assert len(drawn) > 9
    assert max(drawn) <= find_huge_shape(operator).size("M")


def test_all_extents_are_once_the_same_power_of_two() -> None:
    far = list(find_far_shapes(GEMM.shapes, np.random.default_rng(3)))
    even = [{value for _name, value in shape.sizes} for shape in far if shape.label.startswith("even")]
    assert even == [{64}, {128}, {256}]


def test_extents_go_as_far_as_the_rule_of_an_operator_allows() -> None:
    """A kernel that is wrong where the window is as long as the row was accepted six times of six."""

    def fit(shape: Shape) -> Shape | None:
        return shape if shape.size("K") <= shape.size("M") * 10 else None

    listed = Shape(label="listed", sizes=(("M", 48), ("N", 8), ("K", 32)))
    found = {shape.sizes for shape in find_edge_shapes(replace(GEMM, fit=fit), (listed,))}
    assert found == {(("M", 48), ("N", 8), ("K", 480)), (("M", 4), ("N", 8), ("K", 32))}
    assert not list(find_edge_shapes(GEMM, GEMM.shapes))
