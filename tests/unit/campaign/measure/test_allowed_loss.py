"""How much slower than the best a kernel may be on values other than the timed ones."""

from __future__ import annotations

import pytest

from layline.campaign.measure.probes.time import find_allowed_loss


@pytest.mark.parametrize(
    ("claimed", "on_others", "is_refused"),
    [
        (1.12, 0.80, False),  # as far off as noise may be
        (1.12, 0.70, True),
        (2.50, 0.76, True),  # rows that rise made it a third slower, give or take: it was accepted once in three
        (2.50, 0.95, False),
        (1.50, 0.85, True),
    ],
)
def test_who_promises_much_may_lose_little_elsewhere(claimed: float, on_others: float, is_refused: bool) -> None:
    assert (on_others <= 1 / find_allowed_loss(claimed)) is is_refused
