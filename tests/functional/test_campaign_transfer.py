"""Command-measured campaigns with a transfer simulation: what counts as real, what is rolled back."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign_project import MANIFEST, inside, now, propose, read_manifest, start_project
from histories import History
from layline.app.campaign import campaign_baseline, campaign_new, campaign_note, campaign_round, campaign_stop
from layline.app.campaign_end import campaign_report
from layline.errors import BenchError

SIMULATION = """\
# Eight training steps; STEP_COST is what a step costs with fresh tensors, HITS what a cache of activations served.
. ./kernel.sh
while [ $# -gt 0 ]; do case "$1" in --summary-csv) out="$2"; shift 2;; *) shift;; esac; done
[ -n "$BROKEN" ] && exit 3
awk -v cost="${STEP_COST:-$COST}" -v hits="${HITS:-0}" -v out="$out" 'BEGIN {
  while ((getline line < ENVIRON["LAYLINE_SHAPES"]) > 0) text = text line;
  rows = "label,step,ms,activation_hits,weight_hits\\n";
  while (match(text, /"label": "[a-z]+"/)) {
    label = substr(text, RSTART + 10, RLENGTH - 11); text = substr(text, RSTART + RLENGTH);
    for (step = 1; step <= 8; step++) rows = rows sprintf("%s,%d,%.9g,%d,1\\n", label, step, cost * (1 + 0.001 * sin(step)), hits) }
  printf "%s", rows > out }'
"""


@pytest.fixture
def project(tmp_path: Path) -> History:
    history = start_project(tmp_path / "project", **{"simulate.sh": SIMULATION})
    text = MANIFEST.replace("measuring: command\n", "measuring: command\ntransfer_command: sh simulate.sh\n")
    with inside(history.path):
        campaign_new(read_manifest(text), now=now)
        campaign_baseline(now=now)
    return history


ROUNDS = [
    # kernel, what becomes of the round, the word for its transfer, what the summary says
    ("COST=0.80\n", "ACCEPTED", "ACCEPT-as-real", "0/120 passes served from memory"),
    ("COST=0.80\nSTEP_COST=1.00\n", "ROLLED BACK", "REJECT-as-overfit", "does not survive training steps"),
    ("COST=0.80\nHITS=1\n", "ROLLED BACK", "REJECT-as-overfit", "A cache of activations or gradients was hit"),
    ("COST=0.80\nBROKEN=1\n", "ROLLED BACK", "not accepted", "transfer command ended with 3"),
]


@pytest.mark.parametrize(("kernel", "settled", "word", "says"), ROUNDS)
def test_only_what_training_steps_show_is_called_real(
    project: History, kernel: str, settled: str, word: str, says: str
) -> None:
    (project.path / "kernel.sh").write_text(kernel)
    with inside(project.path):
        answer = campaign_round(propose(), now=now)
    summary = (project.path / "agent/workspace/demo/rounds/round-2/summary.md").read_text()
    assert answer.data["settled"] == settled
    assert f"- Decision: {word}" in summary
    assert says in summary


def test_a_simulated_campaign_has_a_real_headline(project: History) -> None:
    (project.path / "kernel.sh").write_text("COST=0.80\n")
    with inside(project.path):
        campaign_round(propose(), now=now)
        campaign_note(2, [("attribution", "less work"), ("next", "even less")], now=now)
        campaign_stop("enough", now=now)
        data = campaign_report(now=now).data
    assert data["attribution"]["S_real"] == pytest.approx(0.25, abs=0.01)
    assert "clean" in data["attribution"]["verdict"]


def test_a_changed_simulation_is_refused(project: History) -> None:
    (project.path / "simulate.sh").write_text(SIMULATION + "\n# easier\n")
    with inside(project.path), pytest.raises(BenchError, match=r"simulate\.sh changed since"):
        campaign_round(propose(), now=now)
