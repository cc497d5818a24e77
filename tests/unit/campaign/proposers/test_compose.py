"""Each pass as in the setting that was fastest there."""

from __future__ import annotations

import math

import pytest

from layline.campaign.proposers.compose import compose
from layline.campaign.proposers.knobs import find_knobs, set_knobs
from layline.campaign.proposers.screened import TODAY, Screened

TEXT = "WARPS = 4  # knob: 2 4 8 (forward)\nDEEP = 1  # knob: 1 2 3 (backward)\n"
SHARED = "WARPS = 4  # knob: 2 4 8\nDEEP = 1  # knob: 1 2 3 (backward)\n"


def _seen(name: str, forward: float, backward: float, *, is_out: bool = False) -> Screened:
    times = (("forward", "s", forward), ("backward", "s", backward))
    return Screened(name=name, score=math.log(forward + backward), times=times, is_out=is_out)


def test_a_knob_may_name_the_pass_that_depends_on_it() -> None:
    assert [(knob.name, knob.values, knob.step) for knob in find_knobs(SHARED)] == [
        ("WARPS", (2, 4, 8), ""),
        ("DEEP", (1, 2, 3), "backward"),
    ]


def test_the_fastest_of_each_pass_are_put_together() -> None:
    texts = {"v one": set_knobs(TEXT, {"WARPS": 8}), "v two": set_knobs(TEXT, {"DEEP": 3})}
    (made,) = compose([_seen("v one", 1.0, 5.0), _seen("v two", 3.0, 2.0)], texts)
    assert (made.name, made.text) == ("v WARPS=8 DEEP=3", set_knobs(TEXT, {"WARPS": 8, "DEEP": 3}))
    assert made.score == pytest.approx(math.log(3.0))


@pytest.mark.parametrize(
    ("looked", "text"),
    [
        ([_seen("v one", 1.0, 5.0)], SHARED),
        ([Screened(name="v one", score=1.0)], TEXT),
        ([_seen("v one", 1.0, 5.0, is_out=True)], TEXT),
        ([Screened(name="v one", score=None, reason="refused")], TEXT),
    ],
    ids=["a knob of both passes", "no times by pass", "left behind", "failed"],
)
def test_what_cannot_be_taken_apart_is_not_put_together(looked: list[Screened], text: str) -> None:
    assert list(compose(looked, {"v one": text})) == []


def test_structures_are_not_mixed() -> None:
    other = "BLOCK = 4  # knob: 2 4 (forward)\nDEEP = 1  # knob: 1 2 3 (backward)\n"
    found = list(compose([_seen("v x", 1.0, 5.0), _seen(TODAY, 3.0, 2.0)], {"v x": TEXT, TODAY: other}))
    assert [made.text for made in found] == [TEXT, other]
