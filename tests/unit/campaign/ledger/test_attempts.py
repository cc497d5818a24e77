"""No free second draw: an attempt is written down before it is measured, and counts even when it is cut short."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from layline.campaign.ledger.state import Level, Round, State
from layline.campaign.rounds import find_alpha
from layline.campaign.values.statistics import spend_campaign

QUICK, FULL = Level.QUICK.value, Level.FULL.value
CASES = [
    # attempts so far (round, level); the round and level that is measured next; how many spent before it
    ((), 2, QUICK, 0),
    (((2, QUICK),), 2, FULL, 0),  # a quick gain measured on all shapes shares its round's budget
    (((2, QUICK),), 2, QUICK, 1),  # cut short, drawn again
    (((2, QUICK), (2, QUICK), (2, FULL)), 3, QUICK, 2),
    (((2, QUICK), (3, QUICK), (3, FULL), (3, FULL)), 4, QUICK, 3),
]


@pytest.mark.parametrize(("attempts", "number", "level", "spent"), CASES)
def test_every_attempt_counts_against_the_error_budget(
    attempts: tuple[tuple[int, str], ...], number: int, level: str, spent: int
) -> None:
    rounds = [SimpleNamespace(number=at + 1, runs=()) for at in range(number)]
    state = cast("State", SimpleNamespace(attempts=attempts, rounds=rounds))
    item: Any = rounds[number - 1]
    assert find_alpha(state, cast("Round", item), Level(level)) == pytest.approx(spend_campaign(spent) / 2)


def test_a_ledger_older_than_attempts_counts_its_measured_rounds() -> None:
    rounds = [SimpleNamespace(number=at + 1, runs=(1,) if at in (1, 2) else ()) for at in range(4)]
    state = cast("State", SimpleNamespace(attempts=(), rounds=rounds))
    assert find_alpha(state, cast("Round", rounds[3]), Level.QUICK) == pytest.approx(spend_campaign(2) / 2)
