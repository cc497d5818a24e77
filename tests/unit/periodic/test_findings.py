"""Findings: whole titles only, within their length."""

from __future__ import annotations

import pytest

from layline.periodic.findings import LONGEST, _tell_notable
from layline.periodic.model import Notable


def _notable(title: str, number: int) -> Notable:
    return Notable(area="core", number=number, title=title, commit="0" * 40)


SHORT, LONG = _notable("Add a loader", 7), _notable("Split " + "the trainer " * 12, 8)


@pytest.mark.parametrize(
    ("notable", "room", "told"),
    [
        ((), LONGEST, ""),
        ((SHORT,), LONGEST, " Since then upstream: Add a loader (#7)."),
        ((SHORT, LONG), 60, " Since then upstream: Add a loader (#7)."),
        ((LONG, SHORT), 60, ""),
        ((SHORT,), 39, ""),
        ((SHORT,), -5, ""),
    ],
)
def test_a_title_is_told_whole_or_not_at_all(notable: tuple[Notable, ...], room: int, told: str) -> None:
    assert _tell_notable(notable, room) == told
