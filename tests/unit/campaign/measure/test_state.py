"""Which repeated inputs a speed-up belongs to."""

from __future__ import annotations

import pytest

from layline.campaign.measure.probes.state import name_helpful

CASES = [
    ({"a": 1.02, "b": 1.28, "dout": 1.0}, 1.31, ["b"]),  # all together just beyond the limit, the weight alone below it
    ({"a": 1.0, "b": 1.0, "dout": 1.01}, 1.4, []),  # a memory of whole calls
    ({"a": 1.1, "b": 1.3, "dout": 1.0}, 9.0, []),
    ({"a": 1.5, "b": 1.6, "dout": 1.0}, 2.2, ["a", "b"]),
    ({"a": 1.0, "b": 3.1, "dout": 1.0}, 3.0, ["b"]),
]


@pytest.mark.parametrize(("alone", "together", "found"), CASES)
def test_an_input_that_explains_half_of_the_speed_up_is_named(
    alone: dict[str, float], together: float, found: list[str]
) -> None:
    assert name_helpful(alone, together) == found
