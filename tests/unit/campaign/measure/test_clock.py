"""A clock that counts by ticks gives no verdict; an exact one is recognised as such."""

from __future__ import annotations

import subprocess
import time

import pytest

from layline.campaign.measure import clock
from layline.campaign.measure.build import workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.clock import check_clock, measure_step, tell_clock
from layline.campaign.measure.controls import build_own, wrap
from layline.campaign.measure.crew import open_arm
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_baseline
from layline.campaign.operators import load_operator
from layline.campaign.values.measurement import Arm, Plan, Status


def ticks(step_ns: int) -> int:
    return time.process_time_ns() // step_ns * step_ns


@pytest.mark.parametrize(
    ("step_ns", "passes"),
    [(1, True), (1_000, True), (1_000_000, False), (4_000_000, False)],
)
def test_steps_are_seen(step_ns: int, passes: bool) -> None:
    found = check_clock(measure_step(lambda: ticks(step_ns)))
    assert found.passed is passes, found.reason


def test_a_clock_that_stands_still_is_named() -> None:
    found = check_clock(measure_step(lambda: 7, spin_s=0.01))
    assert not found.passed
    assert "did not advance" in found.reason


def test_a_run_on_such_a_machine_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "STEP_LIMIT_NS", 0)  # no clock is that fine
    softmax = load_operator("softmax")
    found = measure_baseline(
        Request(operator=softmax, shapes=softmax.shapes[:1], best=wrap(softmax, softmax.start("naive")))
    )
    assert found.status is Status.CONTROLS_FAILED
    assert found.problem.startswith("The clock of processor time advances in steps of ")
    assert not found.samples


def test_a_call_that_took_no_processor_time_is_charged_by_the_wall_clock() -> None:
    softmax = load_operator("softmax")
    shape = softmax.shapes[0]
    with workshop() as shop, subprocess.Popen(["sleep", "60"]) as idle:
        stage = set_stage(softmax, (shape,), Plan(), shop, b"3")
        try:
            with open_arm(stage, Arm.BEST, build_own(stage, softmax.start("naive"))).loaded() as arm:
                arm.worker._clock = (~idle.pid << 3) | 2  # the clock of a process that does nothing
                arm.worker._charged_ns = time.clock_gettime_ns(arm.worker._clock)
                ran = arm.run(softmax.passes[0], draw(stage, shape))
                assert arm.worker.stood_still == 1
                assert ran.own_ns == ran.wall_ns > 0
        finally:
            idle.kill()


STOOD = [
    (0, True, "advanced during each of 200"),
    (3, True, "charged by the wall clock"),
    (9, False, "cannot be used now"),
]


@pytest.mark.parametrize(("stood", "passes", "says"), STOOD)
def test_which_clock_counted_is_said(stood: int, passes: bool, says: str) -> None:
    found = tell_clock(check_clock(100), stood, 200)
    assert found.passed is passes
    assert says in " ".join((found.reason, *found.evidence))
