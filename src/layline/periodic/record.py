"""The record of a periodic report, in the published shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from layline.core.records import PeriodicRecord, TimeWindow
from layline.periodic.findings import build_findings, count_categories
from layline.periodic.model import Activity, Drift, RepoDrift

GENERATOR = "layline.periodic/1"
"""Marks records that Layline may update in place."""
UNMEASURED = "monitor (not measured)"


def build_record(
    activity: Activity, *, project: str, path: str, link: str, categories: tuple[str, ...]
) -> PeriodicRecord:
    """The report as the dashboard shows it; `path` and `link` are where its Markdown stands."""
    window = activity.window
    cadence = window.period.cadence
    statuses = {drift.key: build_status(drift) for drift in activity.drifts}
    statuses |= {drift.key: build_repo_status(drift) for drift in activity.repo_drifts}
    statuses |= {
        item.what: {"commit_gap": None, "unmeasured": item.why, "recommendation": UNMEASURED}
        for item in activity.unmeasured
    }
    told: list[Drift | RepoDrift] = [*activity.drifts, *activity.repo_drifts]
    recommendations = {drift.key: str(drift.recommendation) for drift in told}
    recommendations |= {item.what: UNMEASURED for item in activity.unmeasured}
    return PeriodicRecord(
        report_id=window.period.id,
        content_type=cadence.content_type,
        title=f"{project} {cadence.value.capitalize()} Engineering Report — {window.period.id}",
        report_path=path,
        report_github_url=link,
        time_window=TimeWindow(timezone=window.timezone, start=window.start.isoformat(), end=window.end.isoformat()),
        generated_at=window.end.isoformat(),
        merged_pr_count=len(activity.pulls),
        category_breakdown=count_categories(activity, categories),
        statuses=statuses,
        recommendations=recommendations,
        key_findings=build_findings(activity, categories),
        extra={"generator": GENERATOR},
    )


def build_status(drift: Drift) -> dict[str, Any]:
    """Pin against tip, in the published names first."""
    status: dict[str, Any] = {"pin_commit": drift.pin.hash, "pin_date": drift.pin.date}
    if drift.repo.startswith("https://"):
        status["upstream_repo"] = drift.repo
    status |= {
        "upstream_ref": drift.ref,
        "upstream_head": drift.tip.hash,
        "upstream_head_date": drift.tip.date,
        "commit_gap": drift.distance.behind,
        "recommendation": str(drift.recommendation),
        "recommendation_rule": drift.recommendation.rule,
        "commits_ahead": drift.distance.ahead,
        "pin_changed_in_window": drift.old_pin is not None,
    }
    if drift.recommendation.inputs.will_break is not None:
        status["places_that_break"] = drift.recommendation.inputs.will_break
        status["places_to_fix"] = drift.recommendation.inputs.to_fix
    if drift.old_pin is not None:
        status["previous_pin_commit"] = drift.old_pin
    if drift.bump is not None:
        status |= {"pin_bump_pr": drift.bump.pull_request, "pin_bump_date": drift.bump.date}
    if drift.previous is not None:
        status |= {"commit_gap_change": drift.change, "changed_since": drift.previous.since}
    return status


def build_repo_status(drift: RepoDrift) -> dict[str, Any]:
    """Commit variables now and at the beginning of the month or quarter, in the published names first."""
    status: dict[str, Any] = {"drift_type": f"{drift.unit}ly_in_repo", f"{drift.unit}_start_ts": drift.base.isoformat()}
    for pin in drift.pins:
        status[f"current_{pin.name}_commit"] = pin.current
        status[f"{drift.unit}_start_{pin.name}_commit"] = pin.base
    status |= _count_moves(drift)
    status["recommendation"] = str(drift.recommendation)
    status["recommendation_rule"] = drift.recommendation.rule
    if drift.upstream is not None:
        status |= _pick(build_status(drift.upstream), "pin_commit", "pin_date", "upstream_repo", "upstream_ref")
        status |= _pick(build_status(drift.upstream), "upstream_head", "upstream_head_date", "commit_gap")
    return status


def _count_moves(drift: RepoDrift) -> dict[str, int]:
    """The first counted variable has the plain name in weekly records, every one its own in monthly ones."""
    counted = [pin for pin in drift.pins if pin.counted and pin.distance is not None]
    named: dict[str, int] = {}
    for index, pin in enumerate(counted):
        if pin.distance is None:
            continue
        if drift.unit == "quarter":
            named[f"{pin.name}_drift_commits_since_quarter_start"] = pin.distance.behind
        else:
            named["drift_commits" if index == 0 else f"{pin.name}_drift_commits"] = pin.distance.behind
    first = next((pin.window_distance for pin in counted if pin.window_distance is not None), None)
    if first is not None:
        named["month_window_drift_commits" if drift.unit == "quarter" else "week_window_drift_commits"] = first.behind
    return named


def _pick(status: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: status[name] for name in names if name in status}
