"""What each page says, as plain values for its template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from layline.core.records import GapRecord, PeriodicRecord, RecordStatus, Status, recommendation_label
from layline.dashboard.backend_status import (
    Measurement,
    Standing,
    periodic_page,
    same_commit,
    web_address,
)
from layline.dashboard.commands import audit_command, merged_link, verify_command
from layline.dashboard.contradictions import Contradiction, find_in_gap, find_in_periodic
from layline.dashboard.prose import (
    Addresses,
    Finding,
    brief_words,
    count_words,
    set_finding,
    set_words,
    window_words,
)
from layline.dashboard.verdicts import judge, tone_of
from layline.history.commits import say_count
from layline.workspace.records import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One recommendation as a page shows it."""

    label: str
    text: str
    tone: str

    @property
    def short(self) -> str:
        return f"{self.label}: {recommendation_label(self.text) or self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicView:
    """A weekly or monthly report as a page shows it."""

    id: str
    kind: str
    page: str
    title: str
    date: str
    window: str
    merged: int
    categories: tuple[tuple[str, int], ...]
    advice: tuple[Advice, ...]
    findings: tuple[Finding, ...]
    brief: tuple[Finding, ...]
    """The three that ask most of a maintainer, short enough for the first screen."""
    link: str
    """The Markdown, where the project keeps it."""
    merged_link: str
    """The forge's list of what was merged; the Markdown where there is none."""
    command: str
    """What counts every figure again."""
    contradictions: tuple[Contradiction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    name: str
    value: str
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    label: str
    href: str
    button: bool = False
    here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dive:
    """A gap record as its deep-dive card shows it."""

    record: GapRecord
    headline: Markup
    recommendation: str | None
    tone: str
    newer: Measurement | None
    """A measurement of another report that is younger than this record."""
    stats: tuple[Stat, ...]
    why: tuple[Any, ...]
    features: tuple[Any, ...]
    dependencies: tuple[Any, ...]
    risks: tuple[Any, ...]
    pdfs: tuple[Link, ...]
    pages: tuple[Link, ...]
    command: str | None
    check: str
    """What holds every figure of the card against git."""
    contradictions: tuple[Contradiction, ...]


def find_addresses(standings: Iterable[Standing], repository: str | None) -> Addresses:
    """Every commit the records name, with the page that shows it."""
    known: dict[str, str] = {}
    for standing in standings:
        for item in standing.measurements:
            if item.repo:
                for commit in (item.pin, item.tip):
                    if commit:
                        known[commit] = f"{web_address(item.repo)}/commit/{commit}"
    longest = [commit for commit in known if not any(other != commit and other.startswith(commit) for other in known)]
    return Addresses(
        web_address(repository) if repository else None, tuple((commit, known[commit]) for commit in sorted(longest))
    )


def view_periodic(
    item: Loaded[PeriodicRecord],
    labels: Mapping[str, str],
    addresses: Addresses,
    standings: Mapping[str, Standing] | None = None,
) -> PeriodicView:
    record, window = item.record, item.record.time_window
    return PeriodicView(
        id=record.report_id,
        kind=record.cadence.value,
        page=periodic_page(record),
        title=record.title,
        date=record.generated_at[:10],
        window=window_words(window.start, window.end, window.timezone),
        merged=record.merged_pr_count,
        categories=tuple((name, count) for name, count in record.category_breakdown.items() if count),
        advice=tuple(_advise(record, labels)),
        link=record.report_github_url,
        findings=(findings := tuple(set_finding(text, addresses) for text in record.key_findings)),
        brief=_brief(record, findings, labels, addresses, standings or {}),
        merged_link=merged_link(addresses.repository, window) or record.report_github_url,
        command=audit_command(item.file),
        contradictions=tuple(find_in_periodic(record, labels)),
    )


def _brief(
    record: PeriodicRecord,
    findings: Sequence[Finding],
    labels: Mapping[str, str],
    addresses: Addresses,
    standings: Mapping[str, Standing],
) -> tuple[Finding, ...]:
    """Backends that somebody must act on first, the worst of them first; then the rest as the report orders it."""
    by_label = {
        labels.get(key, key): (status, _find_rule(status, standings.get(key)))
        for key in record.statuses
        if (status := record.status(key)) is not None
    }
    told = []
    for item, text in zip(findings, record.key_findings, strict=True):
        status, (advice, rule) = by_label.get(item.head, (None, (None, None)))
        rank = {"bad": 0, "plan": 1}.get(tone_of(advice), 2) if status is not None else 2
        told.append((rank, _shorten(item, text, status, f"{advice}: {rule}" if rule else None, addresses)))
    return tuple(item for _, item in sorted(told, key=lambda pair: pair[0])[:3])


def _find_rule(status: Status, standing: Standing | None) -> tuple[str | None, str | None]:
    """What a report recommends and why; where a gap report that counted what breaks decides, what that says: one
    verdict on one page.
    """
    rule = status.fields.get("recommendation_rule")
    told = status.recommendation, rule if isinstance(rule, str) else None
    if standing is None or standing.breaks is None or not standing.breaks.count:
        return told
    advice = standing.advice
    if advice.kind != "gap report" or not same_commit(advice.pin, status.pin_commit):
        return told
    places = count_words(standing.breaks.count, "place")
    return advice.recommendation, f"{places} {'breaks' if standing.breaks.count == 1 else 'break'} at the tip"


def _shorten(finding: Finding, text: str, status: Status | None, verdict: str | None, addresses: Addresses) -> Finding:
    """What to do and why, then the distance; as the report words it where it gives no rule apart."""
    if status is None or verdict is None or status.commit_gap is None:
        return replace(finding, shown=set_words(brief_words(text.removeprefix(f"{finding.head}: ")), addresses))
    behind = f"{count_words(status.commit_gap, 'commit')} behind {status.upstream_ref or 'upstream'}"
    return replace(finding, shown=set_words(f"{verdict}. {behind}.", addresses), folded=Markup())


def _advise(record: PeriodicRecord, labels: Mapping[str, str]) -> Iterator[Advice]:
    for key, text in record.recommendations.items():
        status = record.status(key)
        words, tone = judge(text, status.commit_gap, status.fields) if status is not None else (text, tone_of(text))
        yield Advice(label=labels.get(key, key), text=words, tone=tone)


def view_dive(
    item: Loaded[GapRecord], standing: Standing | None, addresses: Addresses, *, with_pdf: bool, proved: bool
) -> Dive:
    """`proved` where an evidence file stands beside the record."""
    record = item.record
    summary = record.dashboard_summary
    known = replace(addresses, upstream=web_address(record.upstream.repo))

    def words(items: Sequence[str]) -> tuple[Any, ...]:
        return tuple(set_words(item, known) for item in items)

    return Dive(
        record=record,
        headline=set_words(summary.headline if summary else record.scope, known),
        recommendation=summary.recommendation if summary else None,
        tone=tone_of(summary.recommendation if summary else None),
        newer=_newer(record, standing),
        stats=tuple(_stats(record)),
        why=words(summary.why_it_matters if summary and summary.why_it_matters else record.highlights),
        features=words(summary.feature_deltas if summary else ()),
        dependencies=words(summary.dependency_deltas if summary else ()),
        risks=words(summary.integration_risks if summary else ()),
        pdfs=tuple(_pdf_links(record)) if with_pdf else (),
        pages=tuple(_page_links(record)),
        command=say_count(record.local.commit, record.upstream.commit),
        check=verify_command(item.file) if proved else audit_command(item.file),
        contradictions=tuple(find_in_gap(record)),
    )


def _newer(record: GapRecord, standing: Standing | None) -> Measurement | None:
    if standing is None or standing.latest.date <= record.generated_at:
        return None
    differs = standing.latest.behind is not None and standing.latest.behind != record.stats.commit_gap
    return standing.latest if differs else None


def _stats(record: GapRecord) -> Iterator[Stat]:
    compare = None
    if record.upstream.repo.startswith("https://"):
        compare = f"{web_address(record.upstream.repo)}/compare/{record.local.commit}...{record.upstream.commit}"
    stats, integration = record.stats, record.integration
    yield Stat(name="commits behind", value=f"{stats.commit_gap:,}", link=compare)
    if stats.diff_files is not None:
        yield Stat(name="files changed", value=f"{stats.diff_files:,}", link=compare)
    if stats.insertions is not None and stats.deletions is not None:
        yield Stat(name="lines", value=f"+{stats.insertions:,} −{stats.deletions:,}", link=compare)
    if record.local.version and record.upstream.version:
        yield Stat(name="version", value=f"{record.local.version} → {record.upstream.version}", link=compare)
    if integration and integration.backend_files is not None:
        yield Stat(name="integration files", value=f"{integration.backend_files:,}")


def _pdf_links(record: GapRecord) -> Iterator[Link]:
    for artifact in sorted(record.artifacts, key=lambda item: not item.primary):
        yield Link(label=artifact.label, href=artifact.path.removeprefix("./"), button=True)


def _page_links(record: GapRecord) -> Iterator[Link]:
    for artifact in sorted(record.artifacts, key=lambda item: not item.primary):
        yield Link(
            label=f"Read the {artifact_words(artifact.kind, artifact.language)}", href=article_page(artifact.path)
        )


def artifact_words(kind: str, language: str) -> str:
    words = {"detail": "detailed report", "summary": "one-page summary"}.get(kind, kind)
    return words if language == "en" else f"{words} ({language})"


def article_page(path: str) -> str:
    return path.removeprefix("./").removesuffix(".pdf") + ".html"


def current_gaps(gaps: Iterable[Loaded[GapRecord]]) -> tuple[Loaded[GapRecord], ...]:
    """The newest report of each backend and compared ref that is not superseded."""
    found: dict[tuple[str, str, str], Loaded[GapRecord]] = {}
    for item in sorted(gaps, key=lambda item: (item.record.generated_at, item.record.id), reverse=True):
        record = item.record
        if record.status is not RecordStatus.SUPERSEDED:
            found.setdefault((record.backend.key, record.upstream.repo, record.upstream.ref), item)
    return tuple(sorted(found.values(), key=lambda item: (item.record.backend.label.lower(), item.record.id)))


def view_facts(standing: Standing) -> tuple[tuple[str, str], ...]:
    """What the newest report says beside the distance: counts and pins of its own, in its own words."""
    known = {
        "pin_commit",
        "pin_date",
        "upstream_repo",
        "upstream_ref",
        "upstream_head",
        "upstream_head_date",
        "commit_gap",
        "commit_gap_change",
        "changed_since",
        "recommendation",
        "places_that_break",
    }
    return tuple(
        (key.replace("_", " "), _fact(value))
        for key, value in standing.newest.fields.items()
        if key not in known and not isinstance(value, Mapping | list)
    )


def _fact(value: Any) -> str:
    match value:
        case None:
            return "not given"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case str() if len(value) == 40 and all(character in "0123456789abcdef" for character in value):
            return value[:12]
        case _:
            return str(value)


def newer_note(record: GapRecord, standing: Standing | None) -> str:
    """One sentence where a younger report says something else than this one."""
    newer = _newer(record, standing)
    if newer is None or newer.behind is None:
        return ""
    moved = "" if same_commit(newer.pin, record.local.commit) else " The pin has moved since."
    return (
        f"This report counts {record.stats.commit_gap:,} commits; {newer.source} ({newer.date}) counts "
        f"{newer.behind:,}.{moved}"
    )
