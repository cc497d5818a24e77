"""Special values: held against the starting kernel, and where that loses them against the right answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.numpy_values import NumpyValues
from layline.campaign.measure.probes.against_start import compare_special

NAN, INF = float("nan"), float("inf")


def _row(*values: float, kind: type[np.floating] = np.float32) -> dict[str, Any]:
    return {"y": np.array(values, kind)}


@pytest.mark.parametrize(
    ("ours", "start", "right", "passes"),
    [
        ((1, NAN), (1, NAN), (1, NAN), True),
        ((1, 0), (1, NAN), (1, NAN), False),  # it hides what the start shows
        ((1, NAN), (1, 0), (1, NAN), True),  # the start hides it, and the right answer has it
        ((1, NAN), (1, 0), (1, 0), False),
        ((NAN, NAN), (1, 0), (1, NAN), False),  # it has more of them than the right answer
        ((1, INF), (1, -INF), (1, INF), True),
        ((1, 3), (1, INF), (1, 3), True),
        ((1, 3.4e38), (1, INF), (1, 1e39), False),  # it saturates where there is no room for the right answer
    ],
)
def test_special_values(
    ours: tuple[float, ...], start: tuple[float, ...], right: tuple[float, ...], passes: bool
) -> None:
    def ask() -> None:
        compare_special(NumpyValues(), "forward", (_row(*ours), _row(*start)), lambda: _row(*right, kind=np.float64))

    if passes:
        ask()
        return
    with pytest.raises(Fault) as caught:
        ask()
    assert caught.value.property == "special-values"


def test_the_right_answer_is_asked_only_where_the_two_differ() -> None:
    def ask() -> dict[str, object]:
        raise AssertionError("nobody needs it here")

    compare_special(NumpyValues(), "forward", (_row(1, NAN), _row(1, NAN)), ask)
