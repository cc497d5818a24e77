"""The published dashboard records, gap and periodic, as values; plain data in, values or every problem out.

Reading is lenient: unknown fields are kept in `extra` and pass on unchanged, statuses beyond the required ones are
welcome. Writing is strict: `encode_*` refuses what Layline itself should never write.

    match read_gap_record(plain):                 # plain: what codec.parse_json gave
        case GapRecord() as record: ...
        case problems: ...                        # tuple[Problem, ...], all of them
    plain = encode_record(GapRecord(id=…, …))     # raises RecordError naming every problem; then codec.to_json(plain)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from layline.core.checks import Problem
from layline.core.period import Cadence, parse_date, parse_moment
from layline.core.shapes import find_gap_problems, find_periodic_problems, leading_label
from layline.errors import RecordError

Value = TypeVar("Value")
Extra: TypeAlias = Mapping[str, Any]


class RecordStatus(StrEnum):
    """How far a gap report can be relied on."""

    VERIFIED = "verified"
    DRAFT = "draft"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendName:
    key: str
    label: str
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSide:
    """The pin."""

    source_path: str
    version: str | None = None
    commit: str
    commit_date: str | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSide:
    """The tip."""

    repo: str
    ref: str
    version: str | None = None
    commit: str
    commit_date: str | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    commit_gap: int
    diff_files: int | None = None
    insertions: int | None = None
    deletions: int | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    backend_files: int | None = None
    tracked_files: int | None = None
    integration_model: str | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the backend's card shows."""

    headline: str
    recommendation: str
    """Free text whose leading label is one of `LABELS`."""
    why_it_matters: tuple[str, ...] = ()
    feature_deltas: tuple[str, ...] = ()
    dependency_deltas: tuple[str, ...] = ()
    integration_risks: tuple[str, ...] = ()
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A PDF made at publish time from the Markdown of the same basename."""

    label: str
    path: str
    """Relative to the published site, as `./reports/megatron/upstream-main/report.pdf`."""
    format: str = "pdf"
    language: str
    kind: str
    primary: bool | None = None
    extra: Extra = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The Markdown it is made from, relative to `docs/backend-gap`."""
        return self.path.removeprefix("./").removesuffix(".pdf") + ".md"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRecord:
    """One gap report as the dashboard shows it."""

    id: str
    title: str
    backend: BackendName
    generated_at: str
    """YYYY-MM-DD."""
    status: RecordStatus
    scope: str
    local: LocalSide
    upstream: UpstreamSide
    stats: Stats
    integration: Integration | None = None
    highlights: tuple[str, ...]
    dashboard_summary: Summary | None = None
    artifacts: tuple[Artifact, ...]
    extra: Extra = field(default_factory=dict)

    @property
    def date(self) -> date:
        return parse_date(self.generated_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeWindow:
    timezone: str
    start: str
    end: str
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where one tracked target stands, read from a `<key>_status` object; None means unmeasured."""

    key: str
    pin_commit: str | None
    pin_date: str | None
    upstream_repo: str | None
    upstream_ref: str | None
    upstream_head: str | None
    upstream_head_date: str | None
    commit_gap: int | None
    recommendation: str | None
    fields: Mapping[str, Any]
    """The object as it stands in the record, every field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicRecord:
    """One weekly or monthly engineering report as the dashboard shows it."""

    report_id: str
    content_type: str
    title: str
    report_path: str
    report_github_url: str
    time_window: TimeWindow
    generated_at: str
    """ISO 8601 with offset."""
    merged_pr_count: int
    category_breakdown: Mapping[str, int]
    statuses: Mapping[str, Mapping[str, Any]]
    """By key, `megatron` for the field `megatron_status`."""
    recommendations: Mapping[str, str]
    key_findings: tuple[str, ...]
    extra: Extra = field(default_factory=dict)

    @property
    def cadence(self) -> Cadence:
        return Cadence(self.content_type.removesuffix("-report"))

    @property
    def moment(self) -> datetime:
        return parse_moment(self.generated_at)

    @property
    def sort_key(self) -> tuple[datetime, str]:
        """Sorts oldest first; ties by id."""
        return self.moment, self.report_id

    def status(self, key: str) -> Status | None:
        """A typed view of one status object; None where the record has none."""
        plain = self.statuses.get(key)
        if plain is None:
            return None
        named = {item.name: plain.get(item.name) for item in fields(Status) if item.name not in ("key", "fields")}
        if named["recommendation"] is None:
            named["recommendation"] = self.recommendations.get(key)
        return Status(key=key, fields=plain, **named)


Record: TypeAlias = GapRecord | PeriodicRecord


def read_gap_record(plain: Any) -> GapRecord | tuple[Problem, ...]:
    """The record that `plain` tells, or everything that is wrong with it."""
    problems = tuple(find_gap_problems(plain))
    return problems or _build_gap(plain)


def read_periodic_record(
    plain: Any, cadence: Cadence, required: tuple[str, ...] = ()
) -> PeriodicRecord | tuple[Problem, ...]:
    """The record that `plain` tells, or everything that is wrong with it; `required` are the configured status keys."""
    problems = tuple(find_periodic_problems(plain, cadence, required))
    return problems or _build_periodic(plain)


def encode_record(record: Record) -> dict[str, Any]:
    """The record as plain data, checked by the rules for writing."""
    plain: dict[str, Any] = _encode(record)
    match record:
        case GapRecord():
            problems = tuple(find_gap_problems(plain, strict=True, extra=record.extra))
            name = record.id
        case PeriodicRecord():
            plain = _spread_statuses(plain)
            problems = tuple(
                find_periodic_problems(plain, record.cadence, tuple(record.statuses), strict=True, extra=record.extra)
            )
            name = record.report_id
    if problems:
        raise RecordError(f"the record {name}", tuple(map(str, problems)))
    return plain


def recommendation_label(text: str | None) -> str | None:
    """The leading label of a recommendation: `monitor` of `monitor (new pin landed)`."""
    return None if text is None else leading_label(text)


def _build_gap(plain: Mapping[str, Any]) -> GapRecord:
    summary, integration = plain.get("dashboard_summary"), plain.get("integration")
    return _build(
        GapRecord,
        plain,
        backend=_build(BackendName, plain["backend"]),
        status=RecordStatus(plain["status"]),
        local=_build(LocalSide, plain["local"]),
        upstream=_build(UpstreamSide, plain["upstream"]),
        stats=_build(Stats, plain["stats"]),
        integration=None if integration is None else _build(Integration, integration),
        dashboard_summary=None if summary is None else _build(Summary, summary),
        artifacts=tuple(_build(Artifact, item) for item in plain["artifacts"]),
    )


def _build_periodic(plain: Mapping[str, Any]) -> PeriodicRecord:
    statuses = {key.removesuffix("_status"): value for key, value in plain.items() if key.endswith("_status")}
    rest = {key: value for key, value in plain.items() if not key.endswith("_status")}
    return _build(PeriodicRecord, rest, time_window=_build(TimeWindow, plain["time_window"]), statuses=statuses)


def _build(kind: Callable[..., Value], plain: Mapping[str, Any], **built: Any) -> Value:
    """A value from checked data: lists become tuples, nulls take the default, unknown fields go to `extra`."""
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]  # every kind here is a dataclass
    told = {key: tuple(value) if isinstance(value, list) else value for key, value in plain.items() if key in known}
    extra = {key: value for key, value in plain.items() if key not in known}
    return kind(**{key: value for key, value in told.items() if value is not None} | built, extra=extra)


def _encode(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        named = ((item.name, getattr(value, item.name)) for item in fields(value) if item.name != "extra")
        told = {name: _encode(inner) for name, inner in named if inner is not None}
        return told | dict(getattr(value, "extra", {}))
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _encode(inner) for key, inner in value.items()}
    return [_encode(inner) for inner in value] if isinstance(value, list | tuple) else value


def _spread_statuses(plain: Mapping[str, Any]) -> dict[str, Any]:
    """`statuses` as the `<key>_status` fields that the published shape has, in the same place."""

    def spread() -> Iterator[tuple[str, Any]]:
        for key, value in plain.items():
            if key == "statuses":
                yield from ((f"{name}_status", status) for name, status in value.items())
            else:
                yield key, value

    return dict(spread())
