"""Which settings are looked at for longer."""

from __future__ import annotations

import math

from layline.campaign.proposers.screen_gpu import _keep, _summarise
from layline.campaign.proposers.screened import TODAY, Screened


def _seen(name: str, forward: float, backward: float) -> Screened:
    times = {("forward", "s"): [forward, 2 * forward], ("backward", "s"): [backward, 2 * backward]}
    return _summarise(name, times)


def test_a_low_quantile_of_each_pass_is_kept_and_the_step_scored() -> None:
    one = _seen("a", 1.0, 3.0)
    assert one.times == (("forward", "s", 1.25), ("backward", "s", 3.75))
    assert one.score == math.log(5.0)


def test_the_fastest_as_a_whole_and_in_each_pass_go_on() -> None:
    ranked = [
        _seen(TODAY, 9.0, 9.0),
        _seen("whole", 2.0, 2.0),
        _seen("second", 2.1, 2.1),
        _seen("forward", 1.0, 8.0),
        _seen("backward", 8.0, 1.0),
        _seen("neither", 3.0, 3.0),
        _seen("slow", 5.0, 5.0),
    ]
    assert set(_keep(ranked)) == {TODAY, "whole", "second", "forward", "backward"}
