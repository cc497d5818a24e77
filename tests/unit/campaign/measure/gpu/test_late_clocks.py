"""Whose fault two clocks that disagree are."""

from __future__ import annotations

import pytest

from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.measure.pair import PairRun, find_late, refuse_late
from layline.campaign.values.measurement import Arm

FINE, LATE = (1.0, 1.1), (1.0, 9.0)


def _timed(**by_leg: tuple[float, float]) -> PairRun:
    run = PairRun(number=0)
    for leg, times in by_leg.items():
        run.times[Arm[leg.upper()], "square", "forward"] += [times] * 6
        run.times[Arm[leg.upper()], "other", "forward"] += [FINE] * 6
    return run


def test_clocks_that_agree_are_not_looked_at_again() -> None:
    assert find_late(_timed(best=FINE, candidate=FINE), "square", 1, 0.1) == ()


@pytest.mark.parametrize(
    ("times", "property_"), [({"best": FINE, "candidate": LATE}, "clocks-agree"), ({"best": LATE}, "clocks-agree")]
)
def test_the_kernel_on_trial_is_refused(times: dict[str, tuple[float, float]], property_: str) -> None:
    late = find_late(_timed(**times), "square", 1, 0.1)
    with pytest.raises(Fault) as caught:
        refuse_late(late, Arm.CANDIDATE if "candidate" in times else Arm.BEST)
    assert caught.value.property == property_


@pytest.mark.parametrize("candidate", [FINE, LATE])
def test_another_arm_being_late_is_no_verdict(candidate: tuple[float, float]) -> None:
    late = find_late(_timed(best=LATE, candidate=candidate), "square", 1, 0.1)
    with pytest.raises(Disturbed):
        refuse_late(late, Arm.CANDIDATE)


def test_the_baseline_beside_itself_is_one_kernel() -> None:
    late = find_late(_timed(best=LATE, again=LATE), "square", 1, 0.1)
    with pytest.raises(Fault):
        refuse_late(late, Arm.BEST)


def test_a_shape_is_forgotten_for_every_arm() -> None:
    run = _timed(best=LATE, candidate=FINE)
    run.forget("square")
    assert {shape for _leg, shape, _step in run.times} == {"other"}
