"""Step times before and after, as an interval and as the last section of a report."""

from __future__ import annotations

import pytest

from layline import codec
from layline.campaign.folder.training_report import find_training_section
from layline.campaign.values.training import Trained, Training, compare_steps, find_loss_distance
from layline.core.report import Report
from layline.render.markdown import render_markdown

LOSSES = (9.7, 9.6, 9.5)


def _set(start: float, best: float, *, loss: float = 0.0) -> tuple[Trained, ...]:
    times = {"start": start, "best": best, "again": best, "torch": 80.0}
    return tuple(
        Trained(
            leg=leg,
            step_ms=(ms, ms + 1, ms + 2),
            losses=LOSSES if leg == "torch" else tuple(one * (1 + loss) for one in LOSSES),
        )
        for leg, ms in times.items()
    )


def test_the_speed_up_has_bounds_over_sets_of_processes() -> None:
    training = Training(model="A loop", sets=(_set(200, 100), _set(210, 100), _set(190, 100)))
    found = compare_steps(training, "start", "best")
    assert found is not None
    assert found.pairs == 3
    assert 0.7 < found.lower < found.estimate < found.upper < 1.3


def test_one_set_gives_no_interval() -> None:
    assert compare_steps(Training(model="A loop", sets=(_set(200, 100),)), "start", "best") is None


@pytest.mark.parametrize(("loss", "said"), [(0.0, "within 0.00%"), (0.2, "off by 20.00%")])
def test_the_section_tells_times_and_losses(loss: float, said: str) -> None:
    training = Training(model="A loop", sets=(_set(200, 100, loss=loss), _set(201, 100, loss=loss)))
    text = render_markdown(Report(title="x", sections=tuple(find_training_section(training))))
    assert said in text
    assert "best over start: +99.5%" in text
    assert find_loss_distance(training, "best") == pytest.approx(loss)


def test_a_loop_that_failed_is_told_and_no_loop_has_no_section() -> None:
    failed = Training(model="A loop", problem="The training step failed: no memory")
    text = render_markdown(Report(title="x", sections=tuple(find_training_section(failed))))
    assert "no memory" in text
    assert not list(find_training_section(None))


def test_it_survives_the_ledger() -> None:
    training = Training(model="A loop", sets=(_set(200, 100),))
    assert codec.decode(Training, codec.encode(training), where="test") == training
