"""A candidate's error beside the starting kernel's."""

from __future__ import annotations

import math

import pytest

from layline.campaign.measure.oracle import Error, compare_errors

CASES = [
    (2.0, 1e-3, 1e-3, []),
    (2.0, 1e-2, 1e-3, ["error-not-worse"]),
    (2.0, 1e-3, 0.0, ["error-not-worse"]),
    (math.inf, 1e-3, 0.0, []),  # a start that is the oracle itself sets no measure
]


@pytest.mark.parametrize(("ratio", "ours", "start", "found"), CASES)
def test_an_error_is_held_against_the_start(ratio: float, ours: float, start: float, found: list[str]) -> None:
    mine, its = (Error(output="y", rms=one, worst=one, ulp=1.0) for one in (ours, start))
    assert [wrong.property for wrong in compare_errors(ratio, [mine], [its])] == found
