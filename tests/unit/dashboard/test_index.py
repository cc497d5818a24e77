from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from layline.core.period import Cadence
from layline.dashboard.index import build_cadence_index, build_combined_index, build_gap_index, find_contradictions
from layline.workspace.records import Records, load_records
from record_samples import REQUIRED, gap_record, monthly_record, spoil, weekly_record, write, write_project

LATER = weekly_record("2026-W20", "2026-05-11", "2026-05-15")


def load(root: Path, **records: list[dict[str, Any]]) -> Records:
    loaded = load_records(write_project(root, records), required=REQUIRED)
    assert loaded.problems == ()
    return loaded


def test_the_gap_index_counts_reports_and_backends(tmp_path: Path) -> None:
    draft = spoil(spoil(gap_record(), "id", "engine-old"), "status", "draft") | {"generated_at": "2026-04-01"}
    for artifact in draft["artifacts"]:
        artifact["path"] = artifact["path"].replace("upstream-main", "old")
        write(tmp_path / f"docs/backend-gap/{artifact['path'].removeprefix('./').replace('.pdf', '.md')}", "# Old\n")
    index = build_gap_index(load(tmp_path, gap=[gap_record(), draft]))
    assert index["generated_at"] == "2026-05-08"
    assert index["summary"] == {
        "total_reports": 2,
        "verified_reports": 1,
        "total_backends": 1,
        "latest_report_date": "2026-05-08",
    }
    assert index["backends"] == [{"key": "engine", "label": "Engine", "count": 2}]
    assert [report["id"] for report in index["reports"]] == ["engine-upstream-main", "engine-old"]


def test_recommendation_counts_are_the_current_state_and_no_sum(tmp_path: Path) -> None:
    calmer = spoil(LATER, "recommendations", {"engine": "monitor", "loader": "monitor (new pin landed)"})
    index = build_cadence_index(load(tmp_path, weekly=[weekly_record(), calmer]), Cadence.WEEKLY)
    assert index["summary"]["recommendation_counts"] == {"monitor": 2}
    assert index["summary"]["latest_report_id"] == "2026-W20"
    assert index["generated_at"] == "2026-05-15T09:01:00+08:00"


def test_the_combined_index_passes_records_on_unchanged(tmp_path: Path) -> None:
    strange = spoil(weekly_record(), "unheard_of", {"kept": [1, None]})
    index = build_combined_index(load(tmp_path, weekly=[strange]))
    assert [report["cadence"] for report in index["reports"]] == ["monthly", "weekly"]
    assert index["reports"][1] == {**strange, "cadence": "weekly"}
    assert index["summary"]["cadence_counts"] == {"weekly": 1, "monthly": 1}


def test_the_same_records_give_the_same_bytes_wherever_they_lie(tmp_path: Path) -> None:
    first = load(tmp_path / "a", weekly=[weekly_record(), LATER])
    second = load(tmp_path / "b", weekly=[LATER, weekly_record()])
    assert json.dumps(build_combined_index(first)) == json.dumps(build_combined_index(second))


def test_no_records_are_an_empty_index() -> None:
    index = build_combined_index(Records())
    assert index["generated_at"] is None
    assert index["summary"]["total_reports"] == 0
    assert build_gap_index(Records())["summary"]["latest_report_date"] is None


def test_sources_that_differ_are_shown_newest_first_and_never_summed(tmp_path: Path) -> None:
    older = spoil(gap_record(), "stats.commit_gap", 4) | {"generated_at": "2026-05-01"}
    records = load(tmp_path, gap=[older], weekly=[weekly_record()], monthly=[])
    assert list(find_contradictions(records)) == [
        {
            "about": "engine.commit_gap",
            "claims": [
                {"value": 7, "source": "2026-W19", "date": "2026-05-08T09:01:00+08:00"},
                {"value": 4, "source": "engine-upstream-main", "date": "2026-05-01"},
            ],
        }
    ]


def test_a_record_that_contradicts_itself_is_told(tmp_path: Path) -> None:
    wrong = spoil(spoil(weekly_record(), "merged_pr_count", 9), "recommendations.engine", "urgent sync")
    found = {item["about"] for item in find_contradictions(load(tmp_path, weekly=[wrong], monthly=[], gap=[]))}
    assert found == {"2026-W19.merged_pr_count", "2026-W19.engine.recommendation"}


def test_older_reports_of_a_series_are_history(tmp_path: Path) -> None:
    grown = spoil(LATER, "engine_status.commit_gap", 30)
    index = build_combined_index(load(tmp_path, gap=[], monthly=[], weekly=[weekly_record(), grown]))
    assert index["contradictions"] == []
    assert [claim["commit_gap"] for claim in index["targets"]["engine"]] == [30, 7]
    assert monthly_record()["report_id"] not in {report["report_id"] for report in index["reports"]}
