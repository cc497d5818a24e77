"""What a campaign says while it is measured can be read from elsewhere, and is gone with whoever said it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from layline.campaign.session.live import GAIN, describe_live, find_place, read_live, tell_live


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


def test_what_a_killed_process_left_is_not_believed(tmp_path: Path) -> None:
    place = find_place(tmp_path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"pid": 2**22 + 1, "since": 1.0, "said": "x", "gain": ""}))
    assert read_live(tmp_path) is None
    place.write_text("{}")
    assert read_live(tmp_path) is None
