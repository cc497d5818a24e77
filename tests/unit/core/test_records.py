from __future__ import annotations

from typing import Any

import pytest

from bad_records import BAD_VALUES
from layline.core.checks import Problem
from layline.core.period import Cadence
from layline.core.records import (
    GapRecord,
    PeriodicRecord,
    Record,
    encode_record,
    read_gap_record,
    read_periodic_record,
    recommendation_label,
)
from layline.errors import RecordError
from record_samples import GOOD, REQUIRED, gap_record, monthly_record, spoil, weekly_record


def read(kind: str, plain: Any) -> Record | tuple[Problem, ...]:
    return read_gap_record(plain) if kind == "gap" else read_periodic_record(plain, Cadence(kind), REQUIRED)


@pytest.mark.parametrize("kind", GOOD)
def test_a_good_record_is_read_and_written_unchanged(kind: str) -> None:
    record = read(kind, GOOD[kind]())
    assert isinstance(record, GapRecord | PeriodicRecord)
    assert encode_record(record) == GOOD[kind]()


@pytest.mark.parametrize(("kind", "place", "value", "reason"), BAD_VALUES)
def test_a_bad_value_is_named_with_place_and_reason(kind: str, place: str, value: Any, reason: str) -> None:
    problems = read(kind, spoil(GOOD[kind](), place, value))
    assert isinstance(problems, tuple)
    first = place.split(".", maxsplit=1)[0]
    assert any(problem.place.startswith(first) and reason in problem.reason for problem in problems), problems


def test_every_problem_is_named_at_once() -> None:
    record = spoil(spoil(spoil(weekly_record(), "merged_pr_count", -1), "report_id", "2025-W53"), "key_findings", [])
    problems = read("weekly", record)
    assert isinstance(problems, tuple)
    assert {problem.place for problem in problems} == {"merged_pr_count", "report_id", "key_findings"}


@pytest.mark.parametrize("plain", [None, [], "record", 3])
def test_what_is_no_object_is_one_problem(plain: Any) -> None:
    problems = read_gap_record(plain)
    assert isinstance(problems, tuple)
    assert len(problems) == 1


@pytest.mark.parametrize(
    "place",
    [
        "local.version",
        "local.commit_date",
        "upstream.version",
        "stats.diff_files",
        "integration",
        "dashboard_summary",
        "artifacts.0.primary",
    ],
)
def test_optional_fields_may_be_missing_or_null(place: str) -> None:
    assert isinstance(read_gap_record(spoil(gap_record(), place, None)), GapRecord)


def test_unknown_fields_are_kept() -> None:
    plain = spoil(spoil(gap_record(), "owner", {"team": "harbor"}), "stats.reviewers", 2)
    record = read_gap_record(plain)
    assert isinstance(record, GapRecord)
    assert record.extra == {"owner": {"team": "harbor"}}
    assert record.stats.extra == {"reviewers": 2}


def test_statuses_beyond_the_required_ones_are_kept() -> None:
    record = read_periodic_record(spoil(weekly_record(), "extra_status", {"commit_gap": 3}), Cadence.WEEKLY, REQUIRED)
    assert isinstance(record, PeriodicRecord)
    assert list(record.statuses) == ["engine", "loader", "extra"]
    status = record.status("extra")
    assert status is not None
    assert (status.commit_gap, status.pin_commit, status.recommendation) == (3, None, None)


def test_a_status_reads_its_recommendation_from_the_record_where_it_has_none_itself() -> None:
    record = read_periodic_record(spoil(weekly_record(), "engine_status.recommendation", None), Cadence.WEEKLY)
    assert isinstance(record, PeriodicRecord)
    status = record.status("engine")
    assert status is not None
    assert status.recommendation == "plan sync"


def test_records_sort_by_the_moment_and_not_by_the_text() -> None:
    early = read_periodic_record(spoil(weekly_record(), "generated_at", "2026-05-08T09:01:00+08:00"), Cadence.WEEKLY)
    late = read_periodic_record(spoil(weekly_record(), "generated_at", "2026-05-08T04:00:00Z"), Cadence.WEEKLY)
    assert isinstance(early, PeriodicRecord)
    assert isinstance(late, PeriodicRecord)
    assert early.sort_key < late.sort_key


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("dashboard_summary.headline", "One sentence. Another one.", "more than one sentence"),
        ("dashboard_summary.why_it_matters", ["One."], "3 to 5"),
        ("stats.unheard_of", 1, "not a field"),
    ],
)
def test_writing_is_stricter_than_reading(place: str, value: Any, reason: str) -> None:
    record = read_gap_record(spoil(gap_record(), place, value))
    assert isinstance(record, GapRecord)
    with pytest.raises(RecordError, match=reason):
        encode_record(record)


def test_categories_written_must_add_up() -> None:
    record = read_periodic_record(spoil(monthly_record(), "merged_pr_count", 9), Cadence.MONTHLY)
    assert isinstance(record, PeriodicRecord)
    with pytest.raises(RecordError, match="adds up to 3, but merged_pr_count is 9"):
        encode_record(record)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("monitor", "monitor"),
        ("monitor (new pin landed)", "monitor"),
        ("plan sync: after 26.4", "plan sync"),
        ("urgent sync", "urgent sync"),
        ("monitoring", None),
        ("sync", None),
        (None, None),
    ],
)
def test_a_recommendation_begins_with_its_label(text: str | None, label: str | None) -> None:
    assert recommendation_label(text) == label
