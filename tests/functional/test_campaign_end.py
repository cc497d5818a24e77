"""The end of a campaign: report with a head-to-head run, verification, lessons, acceptance."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from campaign_project import MANIFEST, begin, inside, now, propose, read_manifest, start_project
from histories import History
from layline.app.campaign import (
    campaign_baseline,
    campaign_new,
    campaign_note,
    campaign_resume,
    campaign_round,
    campaign_stop,
)
from layline.app.campaign_brief import campaign_brief
from layline.app.campaign_end import campaign_accept, campaign_log, campaign_report, campaign_verify, render_report
from layline.app.lessons import lessons_list
from layline.campaign.bench import Measured, Trial
from layline.campaign.command.run import CommandBench
from layline.campaign.loop.finish import choose_suite
from layline.campaign.session.open import read_campaign
from layline.campaign.values.measurement import GateResult
from layline.errors import ConfigError

FOLDER = "agent/workspace/demo"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Baseline, one accepted round, one rolled back, stopped and reported."""
    history = start_project(tmp_path_factory.mktemp("finished") / "project")
    begin(history.path)
    kernel = history.path / "kernel.sh"
    with inside(history.path):
        campaign_baseline(now=now)
        kernel.write_text("COST=0.80\n")
        campaign_round(propose("cheaper"), now=now)
        campaign_note(2, [("attribution", "less work"), ("next", "even less")], now=now)
        kernel.write_text("COST=0.90\n")
        campaign_round(propose("dearer"), now=now)
        notes = [("diagnosis", "more work"), ("lesson", "Do not add work"), ("next", "vectorise")]
        campaign_note(3, notes, now=now)
        campaign_stop("enough", now=now)
        campaign_report(now=now)
    return history


def test_the_headline_is_measured_head_to_head(finished: History) -> None:
    with inside(finished.path):
        data = campaign_report(now=now).data
    assert data["head_to_head"]["interval"]["estimate"] == pytest.approx(0.25, abs=0.01)
    assert data["attribution"]["S_real"] == 0  # a command's figures are not called real
    assert data["attribution"]["verdict"].startswith("unshown — no training step was simulated for 1 accepted round")
    text = (finished.path / FOLDER / "report.md").read_text()
    for said in ("Baseline against best", "Ineffective directions", "dearer", "vectorise", "Inflation gap"):
        assert said in text
    assert "## Final Report" in (finished.path / FOLDER / "logs/optimize.md").read_text()


def test_the_report_has_pictures_as_page_and_on_paper(finished: History) -> None:
    drawn = sorted(path.name for path in (finished.path / FOLDER / "pictures").iterdir())
    assert drawn == ["shapes.svg", "trend.svg"]
    assert "](pictures/trend.svg)" in (finished.path / FOLDER / "report.md").read_text()
    with inside(finished.path):
        answer = campaign_report(now=now)
        page = render_report(answer, None, "html").decode()
        assert page.count("<svg") == 3  # each drawing once: trend, lineage and shapes; a command's campaign has no roof
        assert render_report(answer, None, "pdf").startswith(b"%PDF")


def test_everything_is_as_the_ledger_says(finished: History) -> None:
    with inside(finished.path):
        assert campaign_verify().data["deviations"] == []
        assert [entry["kind"] for entry in campaign_log().data["entries"]][-2:] == ["compared", "reported"]


def test_a_brief_tells_what_was_tried(finished: History) -> None:
    with inside(finished.path):
        data = campaign_brief().data
    assert [item["change"] for item in data["effective"]] == ["cheaper"]
    assert [(item["change"], item["reason"]) for item in data["ineffective"]] == [("dearer", "more work")]
    assert (data["kernel"], data["lessons"]) == ({"kernel.sh": "COST=0.80\n"}, ["Do not add work"])
    assert "seed" not in str(data)


def test_a_noted_lesson_reaches_the_lessons_once(finished: History) -> None:
    with inside(finished.path):
        campaign_resume(now=now)
        listed = lessons_list().data["lessons"]
    assert [(item["takeaway"], item["origin"]) for item in listed] == [
        ("Do not add work", "round-3 — ROLLED BACK (campaign demo)")
    ]


@pytest.mark.parametrize(
    "name", ["rounds/round-2/summary.md", "logs/performance_trend.md", "rounds/round-2/artifacts/benchmark.csv"]
)
def test_a_changed_file_is_found_and_written_again(finished: History, name: str) -> None:
    place = finished.path / FOLDER / name
    whole = place.read_bytes()
    place.write_bytes(whole.replace(b"ACCEPTED", b"PERFECT").replace(b"large", b"huge"))
    with inside(finished.path):
        answer = campaign_verify()
        assert answer.needs_person
        assert [item.split(":")[0] for item in answer.data["deviations"]] == [name]
        campaign_resume(now=now)
        assert not campaign_verify().needs_person
    assert place.read_bytes() == whole


def test_acceptance_wants_a_clean_diff_and_a_green_suite_or_shows_that_none_was_asked_for(finished: History) -> None:
    with inside(finished.path):
        assert campaign_accept("exit 1", now=now).needs_person
        (finished.path / "extra").write_text("x")
        assert "diff is not clean" in str(campaign_accept("true", now=now).data["problems"])
        (finished.path / "extra").unlink()
        state = read_campaign(None).state
        untested = replace(state, manifest=replace(state.manifest, test_command=None))
        with pytest.raises(ConfigError, match="No test suite is named"):
            choose_suite(None, untested, no_suite=False)
        assert campaign_accept(None, no_suite=True, now=now).data["accepted"]
        assert "no suite was run" in (finished.path / FOLDER / "report.md").read_text()
        with pytest.raises(ConfigError, match="in ACCEPTED"):
            campaign_accept(None, no_suite=True, now=now)
        assert campaign_accept("true", now=now).data["suite"] == "true"
        assert "no suite was run" not in (finished.path / FOLDER / "report.md").read_text()
        with pytest.raises(ConfigError, match="in ACCEPTED"):
            campaign_accept("true", now=now)


def test_a_campaign_without_a_gain_reports_so(tmp_path: Path) -> None:
    history = start_project(tmp_path / "project")
    begin(history.path)
    with inside(history.path):
        campaign_baseline(now=now)
        campaign_stop("no idea", now=now)
        assert campaign_report(now=now).data["head_to_head"] is None


def test_the_projects_whole_benchmark_is_run_before_acceptance(tmp_path: Path) -> None:
    history = start_project(tmp_path / "project")
    command = "test -e allowed || { echo no memory >&2; exit 3; }"
    draft = MANIFEST.replace("benchmark_command: null", f"benchmark_command: '{command}'")
    assert draft != MANIFEST
    with inside(history.path):
        campaign_new(read_manifest(draft), now=now)
        campaign_baseline(now=now)
        campaign_stop("enough", now=now)
        campaign_report(now=now)
        refused = campaign_accept("true", now=now)
        assert refused.data["problems"] == ["the project's benchmark failed (3): no memory"]
        (history.path / ".git" / "info" / "exclude").write_text("allowed\n")
        (history.path / "allowed").touch()
        assert campaign_accept("true", now=now).data["accepted"]
    log = (history.path / FOLDER / "logs" / "optimize.md").read_text()
    assert f"- Full benchmark: ran to its end: `{command}`" in log


def test_a_best_that_is_refused_at_the_end_is_told_and_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = start_project(tmp_path / "project")
    begin(history.path)
    measure = CommandBench.measure
    gate = GateResult(property="held-out-shape", passed=False, reason="1 of 50 elements is wrong.", evidence=("R=50",))

    def refuse(bench: CommandBench, trial: Trial) -> Measured:
        measured = measure(bench, trial)
        return replace(measured, measurement=replace(measured.measurement, gates=(gate,)))

    with inside(history.path):
        campaign_baseline(now=now)
        (history.path / "kernel.sh").write_text("COST=0.80\n")
        campaign_round(propose("cheaper"), now=now)
        campaign_note(2, [("attribution", "less work"), ("next", "even less")], now=now)
        campaign_stop("enough", now=now)
        monkeypatch.setattr(CommandBench, "measure", refuse)
        answer = campaign_report(now=now)
        text = (history.path / FOLDER / "report.md").read_text()
        assert "fails “held-out-shape”: 1 of 50 elements is wrong." in answer.report.alerts[0].message
        assert "| held-out-shape | 1 of 50 elements is wrong. | R=50 |" in text
        assert "measures the two again, on other values" in text
        assert "+0.00%" not in text
        assert "see above" not in text
        log = (history.path / FOLDER / "logs" / "optimize.md").read_text()
        assert "head-to-head in one run: no figure, because the best was refused against the baseline on" in log
        assert "+0.00%" not in log.partition("## Final Report")[2]
        assert "Real-training" not in log
        assert "was refused against the baseline" in campaign_accept("true", now=now).data["problems"][0]
        monkeypatch.setattr(CommandBench, "measure", measure)
        again = campaign_report(now=now)
        assert again.data["head_to_head"]["interval"]["estimate"] == pytest.approx(0.25, abs=0.01)
        assert (
            "An earlier run, on 2026-11-15 02:20, gave no figure: fails"
            in (history.path / FOLDER / "report.md").read_text()
        )
        assert not [alert for alert in again.report.alerts if "was refused" in alert.message]
        assert "head-to-head in one run: +2" in (history.path / FOLDER / "logs" / "optimize.md").read_text()
        assert campaign_accept("true", now=now).data["accepted"]


def test_a_summary_names_only_artifacts_that_exist(finished: History) -> None:
    for folder in (finished.path / FOLDER / "rounds").iterdir():
        named = re.findall(r"`(artifacts/[a-z]+\.csv)`", (folder / "summary.md").read_text())
        assert named
        assert all((folder / path).is_file() for path in named)
