"""What is changed in an input stays a number, so that nobody is refused for an infinity of ours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layline.campaign.measure.inputs import _move

LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("value", [0.0, 1.5, -2.0, 1e38, -3e38, LARGEST, -LARGEST])
@pytest.mark.parametrize("step", [8.0, -8.0, 8e37, -8e37, 8 * LARGEST, -8 * LARGEST])
def test_a_changed_element_is_another_finite_one(value: float, step: float) -> None:
    moved = _move(value, step)
    assert math.isfinite(float(np.float32(moved)))
    assert moved != value or value == 0 or abs(step) < abs(value) * 1e-7
