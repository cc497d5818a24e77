"""`gap audit` of records made by hand: right, wrong and unverifiable claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audited import audit, gap_record, make_project, verdicts
from commands import layline
from histories import History


def test_a_right_record_is_confirmed_and_a_wrong_footprint_contradicted(tmp_path: Path) -> None:
    pin, tip = make_project(tmp_path)
    answer = audit(tmp_path, gap_record(pin, tip))
    found = verdicts(answer)
    assert [field for field, verdict in found.items() if verdict != "confirmed"] == ["integration.tracked_files"]
    assert answer.needs_person


@pytest.mark.parametrize(
    ("field", "wrong", "computed"),
    [
        ("commit_gap", 3, 2),
        ("diff_files", 1, 2),
        ("insertions", 4, 3),
        ("deletions", 0, 2),
    ],
)
def test_a_wrong_figure_comes_with_the_right_one(tmp_path: Path, field: str, wrong: int, computed: int) -> None:
    pin, tip = make_project(tmp_path)
    stats = gap_record(pin, tip)["stats"] | {field: wrong}
    fields = audit(tmp_path, gap_record(pin, tip, stats=stats)).data["records"][0]["fields"]
    found = next(one for one in fields if one["field"] == f"stats.{field}")
    assert (found["verdict"], found["computed"]) == ("contradicted", computed)


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("Upstream main is 2 commits ahead.", "confirmed"),
        ("Upstream main is 12 commits ahead.", "contradicted"),
        ("The gap spans 2 changed files.", "confirmed"),
        ("We pin version 1.0.0 while upstream declares 1.1.0.", "confirmed"),
        ("We pin version 1.0.0 while upstream declares 1.2.0.", "contradicted"),
        ("pyproject.toml project dependencies are unchanged in the compared range.", "contradicted"),
        ("requirements.txt remains einops.", "confirmed"),
        ("torch lower bound moved from >=2 to >=3.", "confirmed"),
        ("torch lower bound moved from >=1 to >=3.", "contradicted"),
        ("av was added.", "confirmed"),
        ("av and einops were added.", "contradicted"),
        ("einops is not present in the bundled version.", "contradicted"),
        ("Our trainer imports keel.run.run.", "confirmed"),
        ("Our trainer imports keel.engine.start.", "contradicted"),
        ("A broad movement of capabilities.", "not-checkable"),
    ],
)
def test_sentences(tmp_path: Path, sentence: str, verdict: str) -> None:
    pin, tip = make_project(tmp_path)
    assert verdicts(audit(tmp_path, gap_record(pin, tip, highlights=[sentence])))["highlights[0]"] == verdict


def test_a_periodic_record_is_held_against_the_history_of_its_time(tmp_path: Path) -> None:
    pin, tip = make_project(tmp_path)
    record = {
        "report_id": "2026-W01",
        "content_type": "weekly-report",
        "title": "Week",
        "report_path": "docs/weekly_reports/x.md",
        "report_github_url": "https://example.org/x",
        "generated_at": "2026-01-04T00:00:00+00:00",
        "merged_pr_count": 1,
        "time_window": {"timezone": "UTC", "start": "2025-12-29T00:00:00+00:00", "end": "2026-01-04T00:00:00+00:00"},
        "category_breakdown": {"Other": 2},
        "keel_status": {
            "pin_commit": pin,
            "pin_date": "2026-01-01",
            "upstream_repo": "https://example.org/keel",
            "upstream_ref": "main",
            "upstream_head": tip,
            "upstream_head_date": "2026-01-04",
            "commit_gap": 2,
            "recommendation": "monitor",
        },
        "recommendations": {"keel": "monitor"},
        "key_findings": [
            "1 PR merged to main.",
            f"Keel: pin {pin[:8]} is now 5 commits behind upstream HEAD {tip[:8]}.",
        ],
    }
    found = verdicts(audit(tmp_path, record))
    assert found == {
        "merged_pr_count": "confirmed",
        "category_breakdown (sum)": "contradicted",
        "keel_status.pin_commit": "confirmed",
        "keel_status.pin_date": "confirmed",
        "keel_status.upstream_head": "confirmed",
        "keel_status.upstream_head_date": "contradicted",
        "keel_status.commit_gap": "confirmed",
        "keel_status.recommendation": "not-checkable",
        "key_findings[0]": "confirmed",
        "key_findings[1]": "contradicted",
    }


def test_the_parts_of_a_finding_that_can_be_computed(tmp_path: Path) -> None:
    pin, tip = make_project(tmp_path)
    record = {
        "report_id": "2026-W01",
        "content_type": "weekly-report",
        "title": "Week",
        "report_path": "docs/weekly_reports/x.md",
        "report_github_url": "https://example.org/x",
        "generated_at": "2026-01-04T00:00:00+00:00",
        "merged_pr_count": 1,
        "time_window": {"timezone": "UTC", "start": "2026-01-01T00:00:00+00:00", "end": "2026-01-04T00:00:00+00:00"},
        "category_breakdown": {"Other": 1},
        "keel_status": {"month_start_ts": "2026-01-01T00:00:00+00:00"},
        "recommendations": {"keel": "monitor"},
        "key_findings": [
            f"Pin advanced +2 commits ({pin[:8]} -> {tip[:8]}) and not ({pin[:8]} → {tip[:8]}, +7).",
            "PR #7 layers; PR #999 does not.",
            "No news: no submodule SHA changed.",
            "All went well.",
        ],
    }
    found = verdicts(audit(tmp_path, record))
    assert {field: verdict for field, verdict in found.items() if field.startswith(("key", "keel"))} == {
        "keel_status.month_start_ts": "contradicted",
        f"key_findings[0] ({pin[:8]} → {tip[:8]})": "contradicted",  # the second of two fields of this name
        "key_findings[1] (PR #7)": "confirmed",
        "key_findings[1] (PR #999)": "not-checkable",
        "key_findings[2] (submodules)": "confirmed",
        "key_findings[3]": "not-checkable",
    }


def test_dependency_tables_of_the_published_report_are_held_against_the_trees(tmp_path: Path) -> None:
    pin, tip = make_project(tmp_path)
    table = (
        "| Dependency | Ours | Upstream |\n| --- | --- | --- |\n| `einops` | Not present | Added |\n| `torch` "
        "| `>=2` | `>=4` |\n"
    )
    history = History(tmp_path / "downstream", commits=["x"])
    history.commit("Publish (#8)", {"docs/backend-gap/reports/keel/upstream-main/report.md": table})
    found = verdicts(audit(tmp_path, gap_record(pin, tip)))
    assert {field: verdict for field, verdict in found.items() if field.startswith("report.md")} == {
        "report.md: einops at the pin": "contradicted",
        "report.md: einops added": "contradicted",
        "report.md: torch at the pin": "confirmed",
        "report.md: torch at the tip": "contradicted",
    }


def test_the_command_exits_with_1_and_an_invalid_record_with_2(tmp_path: Path) -> None:
    pin, tip = make_project(tmp_path)
    (tmp_path / "record.json").write_text(json.dumps(gap_record(pin, tip)))
    assert layline("gap", "audit", "record.json", cwd=tmp_path).code == 1
    (tmp_path / "record.json").write_text("{}")
    assert layline("gap", "audit", "record.json", cwd=tmp_path).code == 2
