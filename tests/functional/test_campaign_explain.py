"""`campaign explain`: a round's candidate is measured again and nothing is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign_project import begin, inside, now, propose, start_project
from layline.app.campaign import campaign_baseline, campaign_note, campaign_round
from layline.app.campaign_explain import campaign_explain
from layline.errors import BenchError
from layline.render.text import render_text


def test_a_rolled_back_round_is_explained_without_a_trace(tmp_path: Path) -> None:
    history = start_project(tmp_path / "project")
    begin(history.path)
    ledger = history.path / "agent/workspace/demo/ledger.jsonl"
    with inside(history.path):
        campaign_baseline(now=now)
        (history.path / "kernel.sh").write_text("COST=1.30\n")
        campaign_round(propose("dearer loop"), now=now)
        campaign_note(2, [("diagnosis", "it does more")], now=now)
        before = ledger.read_bytes()
        answer = campaign_explain(2)
        with pytest.raises(BenchError, match="baseline"):
            campaign_explain(1)
    assert ledger.read_bytes() == before
    assert answer.data["recorded"]["outcome"] == "ROLLBACK"
    assert answer.data["verdict"]["outcome"] == "ROLLBACK"
    told = render_text(answer.report)
    assert "Measured again: ROLLBACK" in told
    assert "The candidate: agent/workspace/demo/rounds/round-2/kernel_snapshot" in told
