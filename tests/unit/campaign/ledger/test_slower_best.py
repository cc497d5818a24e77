"""The alarm: the best takes much longer than when it was accepted."""

from __future__ import annotations

import pytest

from layline.campaign.ledger.slower_best import compare_times


@pytest.mark.parametrize(
    ("then", "now", "ratio"),
    [
        ({("a", "f"): 1.0}, {("a", "f"): 4.0}, 4.0),
        ({("a", "f"): 1.0, ("b", "f"): 2.0}, {("a", "f"): 4.0, ("b", "f"): 2.0}, 2.0),
        ({("a", "f"): 1.0}, {("b", "f"): 4.0}, None),
        ({}, {("a", "f"): 4.0}, None),
    ],
)
def test_times_are_compared_where_both_runs_have_them(
    then: dict[tuple[str, str], float], now: dict[tuple[str, str], float], ratio: float | None
) -> None:
    found = compare_times(then, now)
    assert found == pytest.approx(ratio) if ratio is not None else found is None
