"""The JSON answers of the dashboard commands, and the JSON files of a site."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from layline.core.answers import Skipped


class Problem(TypedDict):
    file: str
    place: str
    reason: str


class CheckedSite(TypedDict):
    pages: int
    links: int
    problems: list[Problem]


class Build(TypedDict):
    """`dashboard build`."""

    schema: Literal["layline.dashboard-build/1"]
    output: str
    files: list[str]
    bytes: int
    rendered: int
    unchanged: int
    checked: CheckedSite
    kept: list[str]
    skipped: list[Skipped]


class Check(TypedDict):
    """`dashboard check`."""

    schema: Literal["layline.dashboard-check/1"]
    files: int
    pages: int
    links: int
    bytes: int
    problems: list[Problem]
    skipped: list[Skipped]


class Contradicted(TypedDict):
    value: Any
    source: str
    date: str


class Contradiction(TypedDict):
    """What sources disagree about."""

    about: str
    claims: list[Contradicted]


class Index(TypedDict):
    """`dashboard index`."""

    schema: Literal["layline.dashboard-index/1"]
    written: NotRequired[dict[str, dict[str, Any]]]
    checked: NotRequired[dict[str, dict[str, Any]]]
    stale: NotRequired[list[str]]
    contradictions: list[Contradiction]
    doubtful: list[Skipped]
    skipped: list[Skipped]


class IndexedBackend(TypedDict):
    key: str
    label: str
    count: int


class GapSummary(TypedDict):
    total_reports: int
    verified_reports: int
    total_backends: int
    latest_report_date: str | None


class GapIndex(TypedDict):
    """`dashboard-data/index.json`: every gap report, its record as it stands."""

    schema: Literal["layline.gap-index/1"]
    generated_at: str | None
    summary: GapSummary
    backends: list[IndexedBackend]
    reports: list[dict[str, Any]]


class PeriodicSummary(TypedDict):
    latest_report_id: str | None
    latest_generated_at: str | None
    latest_merged_pr_count: int
    tracked_drift_targets: list[str]
    recommendation_counts: dict[str, int]


class CadenceSummary(PeriodicSummary):
    total_reports: int


class CadenceIndex(TypedDict):
    """`data/weekly.json` and `data/monthly.json`."""

    schema: Literal["layline.cadence-index/1"]
    generated_at: str | None
    cadence: str
    summary: CadenceSummary
    reports: list[dict[str, Any]]


class CombinedSummary(CadenceSummary):
    cadence_counts: dict[str, int]
    latest_cadence: str | None


class Claim(TypedDict):
    """What one report says about a target."""

    source: str
    kind: str
    date: str
    commit_gap: int | None
    pin_commit: str | None
    upstream_head: str | None
    recommendation: str | None


class ReportsIndex(TypedDict):
    """`reports-data/index.json`: weekly and monthly reports, newest first."""

    schema: Literal["layline.reports-index/1"]
    generated_at: str | None
    summary: CombinedSummary
    targets: dict[str, list[Claim]]
    contradictions: list[Contradiction]
    reports: list[dict[str, Any]]


class Measured(TypedDict):
    date: str
    source: str
    kind: str


class StandingPin(TypedDict):
    commit: str | None
    date: str | None


class StandingTip(StandingPin):
    repo: str | None
    ref: str | None


class StandingEvidence(TypedDict):
    link: str | None
    command: str | None


class OneStanding(TypedDict):
    """Where one backend stands."""

    backend: str
    label: str
    behind: int | None
    change: int | None
    since: str | None
    measured: Measured
    stale: bool
    stale_days: int
    pin: StandingPin
    tip: StandingTip
    recommendation: str | None
    evidence: StandingEvidence


class Standings(TypedDict):
    """`data/standings.json`."""

    schema: Literal["layline.standings/1"]
    standings: list[OneStanding]


class Site(TypedDict):
    """`.layline-site.json`: the mark of a site that Layline built."""

    schema: Literal["layline.site/1"]
    made_by: str
    files: list[str]
