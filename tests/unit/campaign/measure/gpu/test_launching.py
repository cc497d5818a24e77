"""Calls are queued until their inputs are brought; what launching takes is told apart and may not pay for a gain."""

from __future__ import annotations

import pytest

from layline.campaign.measure.launching import check_launching
from layline.campaign.measure.pair import PairRun
from layline.campaign.values.measurement import Arm

BEST = (0.040, 0.032)
"""Milliseconds: to launch a call, and on the parent's clock."""


def _timed(best: tuple[float, float], candidate: tuple[float, float]) -> list[PairRun]:
    pairs = [PairRun(number=at) for at in range(2)]
    for pair in pairs:
        for arm, (launch, wall) in ((Arm.BEST, best), (Arm.CANDIDATE, candidate)):
            pair.launches[arm, "square", "forward"] += [launch] * 6
            pair.times[arm, "square", "forward"] += [(wall, wall)] * 6
    return pairs


@pytest.mark.parametrize(
    ("candidate", "passes"),
    [
        ((0.040, 0.028), True),
        ((0.055, 0.028), True),  # a little more of the host, within what is allowed
        ((0.075, 0.028), False),  # calls that follow one another wait for the host
        ((0.500, 0.020), False),
        ((0.500, 0.490), False),
    ],
)
def test_a_gain_is_not_paid_with_time_of_the_host(candidate: tuple[float, float], passes: bool) -> None:
    found = check_launching(_timed(BEST, candidate))
    assert found is not None
    assert found.property == "keeps-pace"
    assert found.passed is passes


def test_long_calls_hide_what_launching_takes() -> None:
    found = check_launching(_timed((0.040, 1.0), (0.700, 0.9)))
    assert found is not None
    assert found.passed


def test_a_shape_whose_calls_were_not_queued_for_both_is_not_compared() -> None:
    pairs = _timed(BEST, BEST)
    for pair in pairs:
        pair.launches[Arm.BEST, "wide", "forward"] += [0.0] * 6
        pair.launches[Arm.CANDIDATE, "wide", "forward"] += [0.5] * 6
        for arm in (Arm.BEST, Arm.CANDIDATE):
            pair.times[arm, "wide", "forward"] += [(0.4, 0.4)] * 6
    found = check_launching(pairs)
    assert found is not None
    assert found.passed
    assert [line.partition(":")[0] for line in found.evidence] == ["square"]


def test_nothing_is_said_where_calls_were_not_queued() -> None:
    assert check_launching(_timed((0.0, 0.032), (0.040, 0.028))) is None
    assert check_launching([PairRun(number=0)]) is None
