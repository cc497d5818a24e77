"""Findings: whole titles only, within their length."""

from __future__ import annotations

import pytest

from layline.core.policy import Inputs, recommend
from layline.core.revision import Commit
from layline.periodic.findings import LONGEST, _tell_moves, _tell_notable, show_advice
from layline.periodic.model import CountedMove, Notable, PinMove


def _notable(title: str, number: int) -> Notable:
    return Notable(area="core", number=number, title=title, commit="0" * 40)


SHORT, LONG = _notable("Add a loader", 7), _notable("Split " + "the trainer " * 12, 8)


@pytest.mark.parametrize(
    ("notable", "room", "told"),
    [
        ((), LONGEST, ""),
        ((SHORT,), LONGEST, " Upstream since then: Add a loader (#7)."),
        ((SHORT, LONG), 60, " Upstream since then: Add a loader (#7)."),
        ((LONG, SHORT), 60, ""),
        ((SHORT,), 39, ""),
        ((SHORT,), -5, ""),
    ],
)
def test_a_title_is_told_whole_or_not_at_all(notable: tuple[Notable, ...], room: int, told: str) -> None:
    assert _tell_notable(notable, room) == told


def _move(name: str, why: str) -> tuple[CountedMove, ...]:
    commit = Commit(hash="1" * 40, committed="2026-05-01T00:00:00Z", authored="", author="A", subject="Move (#7)")
    move = PinMove(commit=commit, kind="variable", name=name, file="ci.yml", line=1, before="a" * 40, after="b" * 40)
    return (CountedMove(move=move, distance=None, why=why),)


@pytest.mark.parametrize(("length", "shown"), [(4, 3), (90, 2), (200, 1)])
def test_moves_of_pins_are_one_finding_of_whole_moves(length: int, shown: int) -> None:
    groups = tuple(_move(letter * length, "no backend is configured for it") for letter in "ABCDE")
    (told,) = _tell_moves(groups)
    assert len(told) <= LONGEST
    assert told.endswith(f"aaaaaaaa → bbbbbbbb by PR #7; and {5 - shown} more.")
    assert told.count("→") == shown


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        (None, "No recommendation: the distance to the tip was not measured."),
        (0, "Recommendation: monitor: the pin has everything that the tip has."),
    ],
)
def test_nothing_is_recommended_where_nothing_was_measured(behind: int | None, said: str) -> None:
    assert show_advice(recommend(Inputs(behind=behind, age_days=None))) == said
