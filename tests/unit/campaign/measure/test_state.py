"""Which repeated inputs a speed-up belongs to."""

from __future__ import annotations

import pytest

from layline.campaign.measure.probes.state import name_helpful

NAMES = ("a", "b", "dout")
CASES = [
    # what each input repeated alone does, what all but it do, what all do together, whose it is
    ((1.02, 1.28, 1.0), (1.3, 1.0, 1.29), 1.31, ["b"]),  # just beyond the limit together, just below it alone
    ((1.16, 1.2, 1.0), (1.3, 1.05, 1.3), 1.31, ["b"]),  # a is noise: without it nothing is lost
    ((1.0, 1.12, 1.0), (1.3, 1.05, 1.3), 1.31, ["b"]),  # b alone was noise's victim: without it all is lost
    ((1.0, 1.0, 1.01), (1.0, 1.02, 1.0), 1.4, []),  # a memory of whole calls
    ((1.1, 1.3, 1.0), (1.0, 1.0, 1.2), 9.0, []),
    ((1.0, 1.0, 1.0), (1.0, 1.0, 4.9), 5.0, ["a", "b"]),  # a memory of products: both are needed
    ((1.5, 1.6, 1.0), (1.45, 1.4, 2.2), 2.2, ["a", "b"]),
    ((3.0, 1.0, 1.0), (1.0, 3.0, 3.0), 3.0, ["a"]),
]


@pytest.mark.parametrize(("alone", "without", "together", "found"), CASES)
def test_an_input_that_explains_half_of_the_speed_up_is_named(
    alone: tuple[float, ...], without: tuple[float, ...], together: float, found: list[str]
) -> None:
    first, second = (dict(zip(NAMES, one, strict=True)) for one in (alone, without))
    assert name_helpful(first, second, together) == found
