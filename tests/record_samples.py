"""Small good records of our own, and how to spoil them: the corpus of bad records is made from these."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

REQUIRED = ("engine", "loader")
GAP_ID = "engine-upstream-main"
DROP = object()
"""`spoil(record, "a.b", DROP)` removes the field."""


def gap_record() -> dict[str, Any]:
    return {
        "id": GAP_ID,
        "title": "Harbor Engine vs upstream main",
        "backend": {"key": "engine", "label": "Engine"},
        "generated_at": "2026-05-08",
        "status": "verified",
        "scope": "The engine bundled in Harbor vs upstream main.",
        "local": {
            "source_path": "third_party/engine",
            "version": "1.2.0",
            "commit": "a" * 40,
            "commit_date": "2026-03-06",
        },
        "upstream": {
            "repo": "https://github.com/example/engine",
            "ref": "main",
            "version": "1.4.0",
            "commit": "b" * 40,
            "commit_date": "2026-05-07",
        },
        "stats": {"commit_gap": 7, "diff_files": 3, "insertions": 40, "deletions": 2},
        "integration": {"backend_files": 4, "tracked_files": 9, "integration_model": "submodule + patches"},
        "highlights": ["Upstream renamed its scheduler."],
        "dashboard_summary": {
            "headline": "Engine is 7 commits behind upstream main.",
            "recommendation": "plan sync",
            "why_it_matters": ["One reason.", "Another reason.", "A third reason."],
            "feature_deltas": ["New scheduler"],
            "dependency_deltas": ["numpy >=2"],
            "integration_risks": ["Two patches break."],
        },
        "artifacts": [
            {
                "label": "Detailed Report (PDF)",
                "path": "./reports/engine/upstream-main/report.pdf",
                "format": "pdf",
                "language": "en",
                "kind": "detail",
                "primary": True,
            },
            {
                "label": "One-Page Summary (PDF)",
                "path": "./reports/engine/upstream-main/summary.pdf",
                "format": "pdf",
                "language": "en",
                "kind": "summary",
            },
        ],
    }


def weekly_record(report_id: str = "2026-W19", start: str = "2026-05-04", end: str = "2026-05-08") -> dict[str, Any]:
    return {
        "report_id": report_id,
        "content_type": "weekly-report",
        "title": f"Harbor Weekly Engineering Report — {report_id}",
        "report_path": f"docs/weekly_reports/{report_id}-harbor-weekly.md",
        "report_github_url": f"https://github.com/example/harbor/blob/main/docs/weekly_reports/{report_id}-harbor-weekly.md",
        "time_window": {
            "timezone": "Asia/Shanghai",
            "start": f"{start}T00:00:00+08:00",
            "end": f"{end}T09:01:00+08:00",
        },
        "generated_at": f"{end}T09:01:00+08:00",
        "merged_pr_count": 3,
        "category_breakdown": {"Bug Fix": 2, "Docs": 0, "Other": 1},
        "engine_status": {
            "pin_commit": "a" * 40,
            "pin_date": "2026-03-06",
            "upstream_repo": "https://github.com/example/engine",
            "upstream_ref": "main",
            "upstream_head": "b" * 40,
            "upstream_head_date": "2026-05-07",
            "commit_gap": 7,
            "recommendation": "plan sync",
        },
        "loader_status": {
            "drift_type": "in_repo",
            "month_start_ts": "2026-05-01T00:00:00+08:00",
            "current_ci_commit": "c" * 40,
            "month_start_ci_commit": None,
            "drift_commits": 4,
            "recommendation": "monitor (new pin landed)",
        },
        "recommendations": {"engine": "plan sync", "loader": "monitor (new pin landed)"},
        "key_findings": ["3 PRs merged."],
    }


def monthly_record() -> dict[str, Any]:
    return weekly_record("2026-05", "2026-05-01", "2026-05-29") | {
        "content_type": "monthly-report",
        "title": "Harbor Monthly Engineering Report — 2026-05",
        "report_path": "docs/monthly_reports/2026-05-harbor-monthly.md",
        "report_github_url": "https://github.com/example/harbor/blob/main/docs/monthly_reports/2026-05-harbor-monthly.md",
    }


GOOD: dict[str, Callable[[], dict[str, Any]]] = {"gap": gap_record, "weekly": weekly_record, "monthly": monthly_record}
FOLDERS = {"gap": "backend-gap", "weekly": "weekly_reports", "monthly": "monthly_reports"}


def spoil(record: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """A copy of `record` with the field at `place` (`artifacts.0.path`) replaced, added or dropped."""
    spoiled = copy.deepcopy(record)
    *parents, last = place.split(".")
    holder: Any = spoiled
    for part in parents:
        holder = holder[int(part) if isinstance(holder, list) else part]
    key: Any = int(last) if isinstance(holder, list) else last
    if value is DROP:
        del holder[key]
    else:
        holder[key] = value
    return spoiled


def write_project(root: Path, records: dict[str, list[dict[str, Any]]] | None = None) -> Path:
    """A project's `docs` with good records of each kind and the Markdown they name; `records` replaces a kind."""
    chosen = {kind: [make()] for kind, make in GOOD.items()} | (records or {})
    for kind, items in chosen.items():
        for item in items:
            write_record(root, kind, json.dumps(item), name=item.get("id") or item.get("report_id"))
    for name in ("report", "summary"):
        write(root / f"docs/backend-gap/reports/engine/upstream-main/{name}.md", f"# The {name}\n")
    for kind in ("weekly", "monthly"):
        for item in chosen[kind]:
            write(root / item["report_path"], f"# {item['title']}\n")
    return root


def write_record(root: Path, kind: str, text: str | bytes, name: str | None = None) -> Path:
    folder = root / "docs" / FOLDERS[kind] / "dashboard-data" / "reports"
    default = {"gap": GAP_ID, "weekly": "2026-W19", "monthly": "2026-05"}[kind]
    return write(folder / f"{name or default}.json", text)


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return path
