"""What a campaign says while it is measured can be read from elsewhere, and is gone with whoever said it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from layline.campaign.session.live import (
    GAIN,
    Allowed,
    describe_left,
    describe_live,
    find_place,
    read_allowed,
    read_live,
    tell_allowed,
    tell_live,
)


def test_what_is_said_can_be_read_until_the_work_is_over(tmp_path: Path) -> None:
    heard: list[str] = []
    with tell_live(tmp_path, heard.append, clock=lambda: 100.0) as tell:
        assert read_live(tmp_path) is None
        tell("process pair 2: square-96")
        tell(f"{GAIN}+3.1% (-1.0% to +7.4%) over 2 process pairs; no verdict yet")
        tell("gates: held-out shapes")
        live = read_live(tmp_path)
        assert live is not None
        assert describe_live("gemm", 4, live, 142.0) == (
            f"Campaign gemm: round 4, 42 s (process {os.getpid()})\n"
            "now: gates: held-out shapes\n"
            "gain: +3.1% (-1.0% to +7.4%) over 2 process pairs; no verdict yet"
        )
    assert read_live(tmp_path) is None
    assert len(heard) == 3


@pytest.mark.parametrize(
    ("allowed", "told"),
    [
        (Allowed(pid=1), ""),
        (Allowed(pid=1, until=340.0), "left: 240 s of the budget"),
        (Allowed(pid=1, until=90.0, last_round=5), "left: 0 s of the budget, 1 round after this one"),
        (Allowed(pid=1, last_round=7), "left: 3 rounds after this one"),
    ],
)
def test_what_is_left_is_told(allowed: Allowed, told: str) -> None:
    assert describe_left(4, allowed, 100.0) == told


def test_limits_of_a_run_can_be_read_until_it_is_over(tmp_path: Path) -> None:
    with tell_allowed(tmp_path, budget_s=60.0, last_round=3), tell_live(tmp_path, lambda _said: None) as tell:
        tell("gates: inputs")
        live, allowed = read_live(tmp_path), read_allowed(tmp_path)
        assert live is not None
        assert allowed is not None
        assert allowed.until is not None
        told = describe_live("gemm", 2, live, allowed.until - 60.0, allowed)
        assert told.endswith("left: 60 s of the budget, 1 round after this one")
    assert read_allowed(tmp_path) is None


def test_what_a_killed_process_left_is_not_believed(tmp_path: Path) -> None:
    place = find_place(tmp_path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"pid": 2**22 + 1, "since": 1.0, "said": "x", "gain": ""}))
    assert read_live(tmp_path) is None
    place.write_text("{}")
    assert read_live(tmp_path) is None
