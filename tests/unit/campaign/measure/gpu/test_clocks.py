"""Two clocks, one piece of work."""

from __future__ import annotations

import pytest

from layline.campaign.measure.pair import disagrees


@pytest.mark.parametrize(
    ("wall_ms", "device_ms", "expected"),
    [
        (5.3, 5.0, False),  # launching and the answer's way back
        (0.4, 0.02, False),  # a short call is mostly overhead
        (5.0, 0.02, True),  # the work was on another stream
        (5.0, 3.5, True),  # a part of it was
        (4.0, 5.0, True),  # the answer came before the device was done
    ],
)
def test_clocks_must_tell_of_the_same_work(wall_ms: float, device_ms: float, expected: bool) -> None:
    assert disagrees(wall_ms, device_ms, overhead_ms=0.25) is expected
