from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from bad_records import BAD_TEXTS, BAD_VALUES
from broken_projects import BREAKAGES, GAP_REPORTS
from conftest import real_repository
from layline.core.checks import Problem
from layline.core.period import Cadence
from layline.errors import RecordError
from layline.workspace.records import Loaded, Records, load_records, require_valid
from record_samples import GAP_ID, GOOD, REQUIRED, spoil, weekly_record, write, write_project, write_record


def load(root: Path) -> Records:
    return load_records(root, required=REQUIRED)


def reasons(records: Records) -> list[str]:
    return [problem.reason for problem in records.problems]


def test_good_records_load_newest_first(tmp_path: Path) -> None:
    later = weekly_record("2026-W20", "2026-05-11", "2026-05-15")
    records = load(write_project(tmp_path, {"weekly": [weekly_record(), later]}))
    assert records.problems == ()
    assert [item.record.id for item in records.gap] == [GAP_ID]
    assert [item.record.report_id for item in records.periodic] == ["2026-05", "2026-W20", "2026-W19"]
    assert [item.record.report_id for item in records.of(Cadence.WEEKLY)] == ["2026-W20", "2026-W19"]
    assert records.periodic[2].plain == weekly_record()


def test_a_cadence_without_a_folder_has_no_reports(tmp_path: Path) -> None:
    shutil.rmtree(write_project(tmp_path) / "docs" / "monthly_reports")
    records = load(tmp_path)
    assert records.problems == ()
    assert records.of(Cadence.MONTHLY) == ()
    assert load_records(tmp_path / "nowhere") == Records()


@pytest.mark.parametrize(("kind", "place", "value", "reason"), BAD_VALUES)
def test_no_bad_value_passes(tmp_path: Path, kind: str, place: str, value: Any, reason: str) -> None:
    write_project(tmp_path)
    file = write_record(tmp_path, kind, json.dumps(spoil(GOOD[kind](), place, value)))
    records = load(tmp_path)
    relative = str(file.relative_to(tmp_path))
    assert any(problem.file == relative and reason in problem.reason for problem in records.problems)


@pytest.mark.parametrize(("kind", "what", "text", "reason"), BAD_TEXTS)
def test_no_bad_file_passes(tmp_path: Path, kind: str, what: str, text: str | bytes, reason: str) -> None:
    write_project(tmp_path)
    write_record(tmp_path, kind, text)
    assert any(reason in found for found in reasons(load(tmp_path))), what


@pytest.mark.parametrize(("break_project", "reason"), BREAKAGES)
def test_no_broken_project_passes(tmp_path: Path, break_project: Any, reason: str) -> None:
    break_project(write_project(tmp_path))
    assert any(reason in found for found in reasons(load(tmp_path)))


def test_every_file_is_named_in_one_error(tmp_path: Path) -> None:
    write_project(tmp_path)
    write_record(tmp_path, "gap", "{", name="broken")
    write_record(tmp_path, "weekly", json.dumps(spoil(weekly_record(), "merged_pr_count", -1)))
    with pytest.raises(RecordError) as caught:
        require_valid(load(tmp_path))
    assert f"{GAP_REPORTS}/broken.json: line 1 is not JSON" in caught.value.message
    assert "2026-W19.json: merged_pr_count: is -1; a count is 0 or more" in caught.value.message


def test_what_is_no_record_is_told_or_known(tmp_path: Path) -> None:
    write_project(tmp_path)
    write(tmp_path / GAP_REPORTS / "notes.txt", "x")
    write(tmp_path / GAP_REPORTS / f"{GAP_ID}.evidence.json", "[]")
    records = load(tmp_path)
    assert records.problems == ()
    assert [item.what for item in records.skipped] == [f"{GAP_REPORTS}/notes.txt"]


def test_a_problem_reads_as_file_place_reason() -> None:
    assert str(Problem("stats.commit_gap", "is -1", file="a.json")) == "a.json: stats.commit_gap: is -1"


@pytest.mark.real
def test_published_records_load_unchanged(tmp_path: Path) -> None:
    """LAYLINE_REAL_COMPAT names a folder with `docs` as the users published it."""
    published = real_repository("LAYLINE_REAL_COMPAT")
    shutil.copytree(published / "docs", tmp_path / "docs")
    os.system(f"chmod -R u+w {tmp_path}")
    problems = load_records(tmp_path).problems
    assert all("does not exist" in problem.reason for problem in problems)
    for problem in problems:
        source = problem.reason.removesuffix(" does not exist").rsplit(" ", 1)[-1]
        write(tmp_path / source, "# A source of our own\n")
    records = load_records(tmp_path, required=("megatron", "torchtitan", "primus_turbo"))
    assert records.problems == ()
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("reports/*.json"))
    loaded: list[Loaded[Any]] = [*records.gap, *records.periodic]
    assert sorted(item.file for item in loaded) == files
    for item in loaded:
        assert item.plain == json.loads((tmp_path / item.file).read_text())
