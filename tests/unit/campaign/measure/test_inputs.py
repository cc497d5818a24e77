"""What is changed in an input stays a number, so that nobody is refused for an infinity of ours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layline.campaign.measure.build import workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.inputs import _move, draw, lift, nudge, permute, put, twin
from layline.campaign.operators import load_operator
from layline.campaign.values.measurement import Plan

GEMM = load_operator("gemm")
LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("value", [0.0, 1.5, -2.0, 1e38, -3e38, LARGEST, -LARGEST])
@pytest.mark.parametrize("step", [8.0, -8.0, 8e37, -8e37, 8 * LARGEST, -8 * LARGEST])
def test_a_changed_element_is_another_finite_one(value: float, step: float) -> None:
    moved = _move(value, step)
    assert math.isfinite(float(np.float32(moved)))
    assert moved != value or value == 0 or abs(step) < abs(value) * 1e-7


def test_answers_are_worked_out_for_the_passes_that_are_called() -> None:
    forward, *others = GEMM.passes
    shape = GEMM.shapes[0]
    with workshop() as shop:
        stage = set_stage(GEMM, (shape,), Plan(), shop, b"7")
        given = draw(stage, shape, step=forward)
        changed = [change(stage, given, "a") for change in (nudge, permute, lift, twin)]
        assert {tuple(dict(one.right)) for one in (given, *changed)} == {(forward.name,)}
        assert list(dict(draw(stage, shape).right)) == [step.name for step in (forward, *others)]
        special = put(stage, shape, "a", math.nan)
        assert special is not None
        assert not special.right
