"""Over which elements the size of an output is taken, and when a gain between the listed sizes is believed."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from layline.campaign.measure.oracle import Close, Wrong, check_output, find_row_axes, take_together
from layline.campaign.measure.probes import between
from layline.campaign.operators import load_operator


@pytest.mark.parametrize(
    ("extent", "axes"),
    [
        ((7,), (-1,)),
        ((100, 64), (-1,)),
        ((100, 1), (-1,)),  # never along the first axis: rows may differ there
        ((97, 32, 125, 1), (-1, -2)),
        ((97, 32, 3, 5), (-1, -2, -3)),
        ((8, 4, 128), (-1,)),
        ((8, 2, 2), (-1, -2)),
    ],
)
def test_short_rows_are_taken_together(extent: tuple[int, ...], axes: tuple[int, ...]) -> None:
    assert find_row_axes(extent) == axes


@pytest.mark.parametrize(("wide", "is_right"), [(1, True), (8, True), (64, False)])
def test_rows_that_are_alike_and_short_are_taken_together(wide: int, is_right: bool) -> None:
    """An honest window sum was refused in 3 of 13 measurements, where a row was one element that came out near zero."""
    operator = load_operator("gemm")
    want = np.full((50, wide), 4.0)
    want[7] = 1e-6
    got = want.astype(np.float32)
    got[7] += np.float32(1e-6)
    assert isinstance(check_output(operator, "out", got, want, is_exact=False, poison=0), Wrong)
    together = take_together(operator, "out", want.shape)
    found = check_output(together, "out", got, want, is_exact=False, poison=0)
    assert isinstance(found, Close) is is_right


def test_an_element_near_zero_in_a_row_of_one_has_room_for_rounding() -> None:
    """An honest convolution was refused for 13 of 1.5 million elements, where the width was 1."""
    operator = load_operator("gemm")
    want = np.ones((2, 3, 50, 1))
    want[0, 0, 7, 0] = 1e-9
    got = want.astype(np.float32)
    got[0, 0, 7, 0] += np.float32(1e-8)
    assert isinstance(check_output(operator, "out", got, want, is_exact=False, poison=0), Close)
    got[0, 0, 7, 0] += np.float32(1e-2)
    assert isinstance(check_output(operator, "out", got, want, is_exact=False, poison=0), Wrong)


def test_a_tolerance_that_a_problem_states_is_one_measure_for_all_rows() -> None:
    """Published kernels were refused for 7 of 2 million elements, in rows that are small beside the others."""
    operator = load_operator("gemm")
    want = np.ones((4, 64))
    want[0] = 1e-3
    got = want.astype(np.float32)
    got[0, 0] += np.float32(1e-2)
    stated = replace(operator.tolerance, rtol=0.05, atol=0.15, absolute=True)
    for tolerance, found in ((replace(stated, absolute=False), Wrong), (stated, Close)):
        judged = check_output(replace(operator, tolerance=tolerance), "out", got, want, is_exact=False, poison=0)
        assert isinstance(judged, found)
    nothing = check_output(replace(operator, tolerance=stated), "out", 0 * got, want, is_exact=False, poison=0)
    assert isinstance(nothing, Wrong)


@pytest.mark.parametrize(
    ("row", "off", "found"), [(0, 10.0, Close), (0, 20.0, Wrong), (1, 0.7, Close), (1, 0.8, Wrong)]
)
def test_a_row_that_is_large_beside_the_others_keeps_its_own_room(row: int, off: float, found: type) -> None:
    """Gradients of a few tokens are many times the others': rounding in such a row is of its size, not of theirs."""
    operator = load_operator("gemm")
    want = np.ones((400, 64))
    want[0] = 100.0
    want[:, 0] = 0.0  # where the parts of a sum cancel, only the rest of the row says how large they were
    got = want.astype(np.float32)
    got[row, 0] += np.float32(off)
    stated = replace(operator.tolerance, rtol=0.0, atol=0.15, absolute=True)
    judged = check_output(replace(operator, tolerance=stated), "out", got, want, is_exact=False, poison=0)
    assert isinstance(judged, found)


@pytest.mark.parametrize(
    ("series", "gain", "made"),
    [
        (((0.5,) * 7,), 0.5, 1),  # clear at once
        (((0.25,) * 7, (0.08,) * 7, (0.1,) * 7), 0.1, 3),  # enough by chance in the first series alone
        (((0.3,) * 7, (0.3,) * 7, (0.3,) * 7), 0.3, 3),
    ],
)
def test_a_gain_that_is_just_enough_is_looked_at_three_times(
    monkeypatch: pytest.MonkeyPatch, series: tuple[tuple[float, ...], ...], gain: float, made: int
) -> None:
    taken = iter(series)
    counted = itertools.count(1)
    seen: list[int] = []

    def compare(*_asked: Any) -> list[float]:
        seen.append(next(counted))
        return list(next(taken))

    monkeypatch.setattr(between, "compare", compare)
    assert between.find_gain(0.2, *cast("tuple[Any, Any, Any]", (None, None, None))) == pytest.approx(gain)
    assert len(seen) == made
