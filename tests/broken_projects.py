"""Projects broken by what lies on disk rather than by what a record says: (how, expected reason)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from layline.workspace.records import LARGEST_FILE
from record_samples import GAP_ID, gap_record, spoil, weekly_record, write, write_record

GAP_REPORTS = "docs/backend-gap/dashboard-data/reports"


def _large(root: Path) -> None:
    write_record(root, "gap", b" " * (LARGEST_FILE + 1))


def _record_is_symlink(root: Path) -> None:
    outside = write(root / "outside.json", json.dumps(spoil(gap_record(), "id", "outside")))
    (root / GAP_REPORTS / "link.json").symlink_to(outside)


def _folder_is_symlink(root: Path) -> None:
    (root / "elsewhere").mkdir()
    shutil.move(root / "docs/weekly_reports", root / "elsewhere/weekly_reports")
    (root / "docs/weekly_reports").symlink_to(root / "elsewhere/weekly_reports")


def _record_is_folder(root: Path) -> None:
    (root / GAP_REPORTS / "folder.json").mkdir()


def _source_is_missing(root: Path) -> None:
    (root / "docs/backend-gap/reports/engine/upstream-main/report.md").unlink()


def _source_is_symlink(root: Path) -> None:
    _source_is_missing(root)
    (root / "docs/backend-gap/reports/engine/upstream-main/report.md").symlink_to("/etc/passwd")


def _source_lies_behind_a_symlink(root: Path) -> None:
    shutil.move(root / "docs/backend-gap/reports/engine", root / "engine")
    (root / "docs/backend-gap/reports/engine").symlink_to(root / "engine")


def _source_is_folder(root: Path) -> None:
    _source_is_missing(root)
    (root / "docs/backend-gap/reports/engine/upstream-main/report.md").mkdir()


def _markdown_is_missing(root: Path) -> None:
    (root / weekly_record()["report_path"]).unlink()


def _same_gap_id_twice(root: Path) -> None:
    write_record(root, "gap", json.dumps(gap_record()), name="other")


def _ids_differ_in_case(root: Path) -> None:
    write_record(root, "gap", json.dumps(spoil(gap_record(), "id", GAP_ID.upper())), name="other")


def _name_is_not_the_id(root: Path) -> None:
    write_record(root, "weekly", json.dumps(weekly_record()), name="2026-W18")


def _no_such_zone(root: Path) -> None:
    write_record(root, "weekly", json.dumps(spoil(weekly_record(), "time_window.timezone", "Mars/Olympus")))


def _wrong_offset(root: Path) -> None:
    write_record(root, "weekly", json.dumps(spoil(weekly_record(), "time_window.timezone", "Europe/Berlin")))


BREAKAGES: list[tuple[Callable[[Path], None], str]] = [
    (_large, "larger than"),
    (_record_is_symlink, "is a symlink"),
    (_folder_is_symlink, "is a symlink"),
    (_record_is_folder, "is not a file"),
    (_source_is_missing, "report.md does not exist"),
    (_source_is_symlink, "report.md is a symlink"),
    (_source_lies_behind_a_symlink, "lies behind one"),
    (_source_is_folder, "report.md is not a file"),
    (_markdown_is_missing, "2026-W19-harbor-weekly.md does not exist"),
    (_same_gap_id_twice, "is also the id of"),
    (_ids_differ_in_case, "is also the id of"),
    (_name_is_not_the_id, "the file is called 2026-W18.json"),
    (_no_such_zone, "no time zone called"),
    (_wrong_offset, "its offset is not that of"),
]
