"""The archive of reports and the feed's entries, newest first, as plain values for templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from layline.core.records import GapRecord, RecordStatus, recommendation_label
from layline.dashboard.backend_status import gap_page
from layline.dashboard.prose import count_words
from layline.dashboard.verdicts import tone_of
from layline.dashboard.views import Advice, PeriodicView

FEW = 6
"""With no more entries than this a filter would only get in the way."""
MANY = 24
"""With more entries than this the search looks at titles and recommendations only: the page must stay light."""
OPEN = 8
"""Entries of the archive that stand open; older ones are folded by year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the archive."""

    date: str
    kind: str
    page: str
    title: str
    note: str
    advice: tuple[Advice, ...]
    labels: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Entries that stand together; without a title they stand open."""

    title: str
    count: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    label: str
    name: str
    options: tuple[str, ...]


def view_archive(views: Sequence[PeriodicView], gaps: Sequence[GapRecord]) -> tuple[Group, ...]:
    """Everything newest first; the first few stand open, the rest is folded by year."""
    entries = [_periodic_entry(view) for view in views] + [_gap_entry(record) for record in gaps]
    if len(entries) > MANY:
        entries = [replace(entry, text=f"{entry.page} {entry.title} {entry.labels}") for entry in entries]
    entries.sort(key=lambda entry: (entry.date, entry.kind != "gap report", entry.page), reverse=True)
    if len(entries) <= OPEN + 3:
        return (Group(title="", count="", entries=tuple(entries)),) if entries else ()
    groups = [Group(title="", count="", entries=tuple(entries[:OPEN]))]
    years: dict[str, list[Entry]] = {}
    for entry in entries[OPEN:]:
        years.setdefault(entry.date[:4], []).append(entry)
    groups += [
        Group(title=year, count=count_words(len(items), "report"), entries=tuple(items))
        for year, items in years.items()
    ]
    return tuple(groups)


def _periodic_entry(view: PeriodicView) -> Entry:
    return Entry(
        date=view.date,
        kind=view.kind,
        page=view.page,
        title=view.title,
        advice=view.advice,
        note=f"{count_words(view.merged, 'merged pull request')}, {view.window}",
        labels="|".join(sorted({recommendation_label(item.text) or "" for item in view.advice} - {""})),
        text=" ".join(
            [
                view.id,
                view.title,
                *(f"{item.head} {item.shown.striptags()}"[:160] for item in view.findings),
                *(item.short for item in view.advice),
            ]
        ),
    )


def _gap_entry(record: GapRecord) -> Entry:
    summary = record.dashboard_summary
    advice: tuple[Advice, ...] = ()
    if summary:
        advice = (
            Advice(label=record.backend.label, text=summary.recommendation, tone=tone_of(summary.recommendation)),
        )
    state = "" if record.status is RecordStatus.VERIFIED else f", {record.status.value}"
    return Entry(
        date=record.generated_at,
        kind="gap report",
        page=gap_page(record),
        title=record.title,
        advice=advice,
        note=f"{count_words(record.stats.commit_gap, 'commit')} behind on that day{state}",
        labels=(recommendation_label(summary.recommendation) or "") if summary else "",
        text=" ".join([record.id, record.title, record.backend.label, record.scope, *record.highlights]),
    )


def view_filters(groups: Sequence[Group]) -> tuple[Filter, ...]:
    """Only what varies and would filter more than a few entries; none at all where nothing does."""
    entries = [entry for group in groups for entry in group.entries]
    if len(entries) <= FEW:
        return ()
    kinds = tuple(sorted({entry.kind for entry in entries}))
    labels = tuple(sorted({label for entry in entries for label in entry.labels.split("|") if label}))
    found = (
        Filter(label="Cadence", name="cadence", options=kinds),
        Filter(label="Recommendation", name="recommendation", options=labels),
    )
    return tuple(item for item in found if len(item.options) > 1)
