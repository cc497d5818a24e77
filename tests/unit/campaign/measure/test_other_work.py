"""A measuring run beside somebody else's work on the device: blocks are timed again, and nothing is judged beside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from types import SimpleNamespace
from typing import Any, cast

import pytest

from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.measure import company, pair
from layline.campaign.measure.company import check_alone, find_spoiler, judge_company
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.pair import PairRun, run_shape
from layline.campaign.measure.processor import Processor
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.measure.stage import Stage
from layline.campaign.operators import load_operator
from layline.campaign.operators.softmax import shape
from layline.campaign.values.company import Look, Other
from layline.campaign.values.measurement import Arm, Status

SOFTMAX = load_operator("softmax")
SHAPE = shape("s", 8, 96)
ALONE = Look(is_listed=True)
BESIDE = Look(is_listed=True, others=(Other(pid=4242, mib=1024, busy=87),))
UNSEEN = Look(is_listed=False, lost=0.5)
NAMED = r"Not judged: other work on this GPU \(pid 4242, 1,024 MiB, busy 87 %\)\."


def on_device(*looks: Look) -> Stage:
    """A stage on whose device these looks are taken, the last one again and again."""
    seen = iter((*looks, *repeat(looks[-1], 50)))
    device = SimpleNamespace(
        look_around=lambda: next(seen), has_events=False, unqueued=set(), read_condition=lambda _where: ""
    )
    return cast("Stage", SimpleNamespace(device=device))


BLOCKS = [
    ([[ALONE, ALONE]], 1, True),
    ([[BESIDE, ALONE], [ALONE, ALONE]], 2, True),
    ([[BESIDE], [BESIDE], [ALONE]], 3, True),
    ([[BESIDE], [BESIDE], [ALONE, BESIDE]], 3, False),
    ([[UNSEEN, UNSEEN], [UNSEEN, UNSEEN], [UNSEEN, UNSEEN]], 3, False),
    ([[UNSEEN, ALONE], [ALONE]], 2, True),
]


@pytest.mark.parametrize(("blocks", "times", "counts"), BLOCKS)
def test_a_block_beside_others_is_thrown_away(
    monkeypatch: pytest.MonkeyPatch, blocks: list[list[Look]], times: int, counts: bool
) -> None:
    made: list[int] = []

    def time_block(_stage: Any, _arms: Any, _shape: Any, run: PairRun, _on_trial: Any) -> int:
        made.append(len(made))
        run.looks += blocks[made[-1]]
        run.times[Arm.BEST, SHAPE.label, "forward"].append((float(len(made)), 1.0))
        return 1

    monkeypatch.setattr(pair, "_time_shape", time_block)
    run = PairRun(number=0)
    if counts:
        run_shape(on_device(ALONE), [], SHAPE, run)
        assert run.times[Arm.BEST, SHAPE.label, "forward"] == [(float(times), 1.0)]
        assert run.looks == blocks[-1]
    else:
        with pytest.raises(Disturbed, match="Not judged: other work on this GPU"):
            run_shape(on_device(ALONE), [], SHAPE, run)
    assert len(made) == times


def test_others_are_waited_for_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(company, "WAIT_S", 0.0)
    check_alone(on_device(BESIDE, BESIDE, ALONE))
    with pytest.raises(Disturbed, match=NAMED):
        check_alone(on_device(BESIDE))


def test_a_last_look_is_taken_and_the_control_says_what_was_seen() -> None:
    with pytest.raises(Disturbed, match=NAMED):
        judge_company(on_device(BESIDE), [ALONE])
    (control,) = judge_company(on_device(ALONE), [ALONE] * 6)
    assert (control.property, control.passed) == ("alone", True)
    assert "in 7 looks" in control.reason
    assert judge_company(cast("Stage", SimpleNamespace(device=Processor("c"))), []) == ()


@pytest.mark.parametrize(
    ("property_", "look", "is_spoilt"),
    [("gain-in-the-mean", BESIDE, True), ("gain-in-the-mean", ALONE, False), ("correct", BESIDE, False)],
)
def test_an_accusation_by_times_does_not_hold_beside_others(property_: str, look: Look, is_spoilt: bool) -> None:
    assert (find_spoiler(on_device(look), Fault(property_, "slow")) is not None) is is_spoilt


def test_a_whole_run_beside_others_ends_without_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: Iterator[Look] = repeat(BESIDE)
    monkeypatch.setattr(Processor, "look_around", lambda _self: next(looks))
    monkeypatch.setattr(company, "WAIT_S", 0.0)
    best = wrap(SOFTMAX, SOFTMAX.start("naive"))
    found = measure_pair(Request(operator=SOFTMAX, shapes=(SHAPE,), best=best, candidate=best))
    assert found.status is Status.CONTROLS_FAILED
    assert found.problem.startswith("Not judged: other work on this GPU (pid 4242, 1,024 MiB, busy 87 %).")
    assert not found.ratios
