"""Where each backend stands, from every report that measured it; sources that differ are listed, never summed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from layline.core.records import GapRecord, PeriodicRecord, Status
from layline.dashboard.breakage import Breakage
from layline.dashboard.prose import days_between, is_day
from layline.dashboard.verdicts import UNMEASURED, judge
from layline.history.commits import say_count

STALE_DAYS = 31
"""A figure that much older than the newest report on the site is shown as stale."""
_ORDER = {"bad": 0, "plan": 1, "none": 2, "good": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one report says about one backend."""

    source: str
    """The id of the report."""
    kind: str
    """weekly, monthly or gap report."""
    page: str
    """Where the report stands on the site."""
    date: str
    behind: int | None
    pin: str | None
    pin_date: str | None
    tip: str | None
    tip_date: str | None
    repo: str | None
    ref: str | None
    recommendation: str | None
    fields: Mapping[str, Any]
    """Everything else the report says about the backend, as it stands there."""

    @property
    def verdict(self) -> str:
        """The recommendation as pages show it."""
        return judge(self.recommendation, self.behind, self.fields)[0]

    @property
    def tone(self) -> str:
        return judge(self.recommendation, self.behind, self.fields)[1]

    def compares(self, pin: str | None, tip: str | None) -> bool:
        """It is about these two commits."""
        return same_commit(self.pin, pin) and same_commit(self.tip, tip)

    def is_near(self, newer: Measurement) -> bool:
        """It is about the same pin, and not stale beside it."""
        return same_commit(self.pin, newer.pin) and days_between(self.date, newer.date) <= STALE_DAYS

    @property
    def breaks(self) -> int | None:
        """Places of ours that break at the tip, where the report counted them; older reports have another word."""
        found = self.fields.get("places_that_break", self.fields.get("couplings_that_break"))
        return found if type(found) is int and found >= 0 else None

    @property
    def moved_on(self) -> str | None:
        """The day the pin was moved, where the report gives it."""
        found = self.fields.get("pin_bump_date")
        return found[:10] if isinstance(found, str) and is_day(found[:10]) else None

    @property
    def compare_link(self) -> str | None:
        """The page that shows the commits between pin and tip."""
        if not (self.repo and self.pin and self.tip):
            return None
        return f"{web_address(self.repo)}/compare/{self.pin}...{self.tip}"

    @property
    def command(self) -> str | None:
        """What prints the figure inside a clone of the upstream."""
        return say_count(self.pin, self.tip) if self.pin and self.tip else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One count on one day, for one pin."""

    date: str
    count: int
    pin: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Reports that compare the same two commits and give different distances."""

    pin: str
    tip: str
    values: tuple[tuple[int, Measurement, int], ...]
    """Each distance, the newest report that gives it, and how many do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A backend on the day of the newest report."""

    key: str
    label: str
    measurements: tuple[Measurement, ...]
    """Newest first."""
    stale_days: int
    """Days between the figure shown and the newest report on the site."""
    broken: tuple[Point, ...] = ()
    """Every count of places that break, oldest first."""

    @property
    def latest(self) -> Measurement:
        """The newest measurement with a distance; where none has one, the newest."""
        return next((item for item in self.measurements if item.behind is not None), self.measurements[0])

    @property
    def newest(self) -> Measurement:
        return self.measurements[0]

    @property
    def advice(self) -> Measurement:
        """Whose recommendation counts: the newest report's that measured something. Where it did not count what breaks,
        that of a gap report of the same commits; of the same pin alone, where it is near and worse.
        """
        newest = self.newest if self.newest.verdict != UNMEASURED else self.latest
        if newest.breaks is not None or newest.pin is None or newest.tip is None:
            return newest
        counted = [item for item in self.measurements if item.kind == "gap report" and item.recommendation]
        same = next((item for item in counted if item.compares(newest.pin, newest.tip)), None)
        near = [item for item in counted if item.is_near(newest)]
        return same or min([newest, *near], key=lambda item: _ORDER.get(item.tone, 2))

    @property
    def previous(self) -> Measurement | None:
        """The last distance that was measured between other commits: two reports on the same ones tell no change."""
        latest = self.latest
        return next(
            (
                item
                for item in self.measurements
                if item.behind is not None and item.date <= latest.date and not item.compares(latest.pin, latest.tip)
            ),
            None,
        )

    @property
    def change(self) -> int | None:
        previous = self.previous
        if previous is None or previous.behind is None or self.latest.behind is None:
            return None
        return self.latest.behind - previous.behind

    @property
    def step(self) -> tuple[int, str] | None:
        """The change and since when: as the report itself tells it, else against the last other measurement."""
        told, since = self.latest.fields.get("commit_gap_change"), self.latest.fields.get("changed_since")
        if type(told) is int and isinstance(since, str) and since:
            return told, since.partition("T")[0]
        if self.change is None or self.previous is None:
            return None
        return self.change, self.previous.source

    @property
    def pin_moved(self) -> bool:
        """True if the change is counted from another pin: then it is not upstream's doing alone."""
        before = next((item for item in self.measurements if self.step and item.source == self.step[1]), self.previous)
        return before is not None and not same_commit(self.latest.pin, before.pin)

    @property
    def urgency(self) -> tuple[int, int, int, str]:
        """Sort key: the worst backend first."""
        behind = self.latest.behind
        breaks = self.breaks.count if self.breaks is not None else 0
        return _ORDER.get(self.advice.tone, 2), -breaks, -(behind or 0), self.label.lower()

    @property
    def breaks(self) -> Point | None:
        """The newest count of places that break."""
        return self.broken[-1] if self.broken else None

    @property
    def breaks_change(self) -> int | None:
        """What the count was before, taken from it; only where both are about the same pin."""
        if len(self.broken) < 2:
            return None
        last, before = self.broken[-1], self.broken[-2]
        return last.count - before.count if same_commit(last.pin, before.pin) else None

    @property
    def runs(self) -> tuple[tuple[tuple[str, float], ...], ...]:
        """Date and distance in stretches of one pin each, oldest first: between two of them the pin moved."""
        return _runs(
            [
                Point(date=item.date, count=item.behind, pin=item.pin)
                for item in reversed(self.measurements)
                if item.behind is not None
            ]
        )

    @property
    def break_runs(self) -> tuple[tuple[tuple[str, float], ...], ...]:
        """The same for places that break."""
        return _runs(list(self.broken))

    @property
    def is_stale(self) -> bool:
        return self.stale_days > STALE_DAYS

    @property
    def points(self) -> tuple[tuple[str, float], ...]:
        """Date and distance, oldest first, for the charts."""
        return tuple((item.date, float(item.behind)) for item in reversed(self.measurements) if item.behind is not None)

    @property
    def moves(self) -> tuple[tuple[str, str], ...]:
        """Date and hash of every new pin that the reports show, oldest first; the day it was moved where a report tells
        it.
        """
        ordered = [item for item in reversed(self.measurements) if item.pin]
        return tuple(
            (after.moved_on or after.date, after.pin or "")
            for before, after in pairwise(ordered)
            if not same_commit(before.pin, after.pin)
        )

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """One for each pair of commits that reports disagree about, however many reports there are."""
        groups: dict[tuple[str, str], list[Measurement]] = {}
        for item in self.measurements:
            if item.behind is not None and item.pin and item.tip:
                groups.setdefault((item.pin[:12], item.tip[:12]), []).append(item)
        return tuple(
            Conflict(pin=pin, tip=tip, values=tuple(_tally(items)))
            for (pin, tip), items in groups.items()
            if len({item.behind for item in items}) > 1
        )


def _tally(items: list[Measurement]) -> Iterator[tuple[int, Measurement, int]]:
    for value in dict.fromkeys(item.behind for item in items):
        found = [item for item in items if item.behind == value]
        yield value or 0, found[0], len(found)


def _runs(points: list[Point]) -> tuple[tuple[tuple[str, float], ...], ...]:
    found: list[list[Point]] = []
    for point in points:
        if found and same_commit(found[-1][-1].pin, point.pin):
            found[-1].append(point)
        else:
            found.append([point])
    return tuple(tuple((point.date, float(point.count)) for point in run) for run in found)


def find_standings(
    gaps: Iterable[GapRecord],
    periodic: Iterable[PeriodicRecord],
    labels: Mapping[str, str],
    breakages: Mapping[str, Breakage] | None = None,
) -> tuple[Standing, ...]:
    """One per backend that any report measured, the worst first; superseded and draft reports count too.

    `breakages` are what evidence files tell, by the id of their gap record.
    """
    gaps, periodic = tuple(gaps), tuple(periodic)
    named = {
        record.backend.key: record.backend.label for record in sorted(gaps, key=lambda record: record.generated_at)
    }
    found: dict[str, list[Measurement]] = {}
    for key, measurement in (*_from_gaps(gaps), *_from_periodic(periodic)):
        found.setdefault(key, []).append(measurement)
    newest = newest_date(gaps, periodic)
    standings = (
        _stand(key, labels.get(key) or named.get(key) or _words(key), items, newest, breakages or {})
        for key, items in found.items()
    )
    return tuple(sorted(standings, key=lambda standing: standing.urgency))


def newest_date(gaps: Iterable[GapRecord], periodic: Iterable[PeriodicRecord]) -> str | None:
    """The date of the newest report: what the site calls its own date, never the clock's."""
    dates = [record.generated_at for record in gaps] + [record.generated_at[:10] for record in periodic]
    return max(dates, default=None)


def same_commit(one: str | None, other: str | None) -> bool:
    """Hashes of different lengths mean the same commit when the shorter begins the longer."""
    return one is None or other is None or one.startswith(other) or other.startswith(one)


def web_address(repo: str) -> str:
    return repo.removesuffix("/").removesuffix(".git")


def _stand(
    key: str, label: str, items: list[Measurement], newest: str | None, breakages: Mapping[str, Breakage]
) -> Standing:
    # a weekly or monthly report of the same day stands before a gap report: it says when, to the minute
    ordered = tuple(sorted(items, key=lambda item: (item.date, item.kind != "gap report", item.source), reverse=True))
    shown = next((item for item in ordered if item.behind is not None), ordered[0])
    stale = days_between(shown.date, newest) if newest else 0
    return Standing(
        key=key,
        label=label,
        measurements=ordered,
        stale_days=stale,
        broken=tuple(_find_breaks(reversed(ordered), breakages)),
    )


def _find_breaks(oldest_first: Iterable[Measurement], breakages: Mapping[str, Breakage]) -> Iterator[Point]:
    """Every count of places that break; of two on one day about one pin the evidence of a gap report counts."""
    last: Point | None = None
    for item in oldest_first:
        told = breakages[item.source].count if item.source in breakages else item.breaks
        if told is None:
            continue
        point = Point(date=item.date, count=told, pin=item.pin)
        if last is not None and last.date == point.date and same_commit(last.pin, point.pin):
            continue  # the gap report of the day stands before its weekly report
        yield point
        last = point


def _from_gaps(gaps: Iterable[GapRecord]) -> Iterator[tuple[str, Measurement]]:
    for record in gaps:
        summary = record.dashboard_summary
        found = Measurement(
            source=record.id,
            kind="gap report",
            page=gap_page(record),
            date=record.generated_at,
            behind=record.stats.commit_gap,
            pin=record.local.commit,
            pin_date=record.local.commit_date,
            tip=record.upstream.commit,
            tip_date=record.upstream.commit_date,
            repo=_https(record.upstream.repo),
            ref=record.upstream.ref,
            recommendation=summary.recommendation if summary else None,
            fields={},
        )
        yield record.backend.key, found


def _from_periodic(periodic: Iterable[PeriodicRecord]) -> Iterator[tuple[str, Measurement]]:
    for record in periodic:
        for key in record.statuses:
            status = record.status(key)
            if status is not None:
                yield key, _from_status(record, status)


def _from_status(record: PeriodicRecord, status: Status) -> Measurement:
    return Measurement(
        source=record.report_id,
        kind=record.cadence.value,
        page=periodic_page(record),
        date=record.generated_at[:10],
        behind=status.commit_gap,
        pin=status.pin_commit,
        pin_date=status.pin_date,
        tip=status.upstream_head,
        tip_date=status.upstream_head_date,
        repo=_https(status.upstream_repo),
        ref=status.upstream_ref,
        recommendation=status.recommendation,
        fields=status.fields,
    )


def gap_page(record: GapRecord) -> str:
    """The page of the record's main artifact: the primary one, else the first."""
    main = next((item for item in record.artifacts if item.primary), record.artifacts[0])
    return main.path.removeprefix("./").removesuffix(".pdf") + ".html"


def periodic_page(record: PeriodicRecord) -> str:
    return f"{record.cadence.value}/{record.report_id}.html"


def _https(address: str | None) -> str | None:
    return address if address is not None and address.startswith("https://") else None


def _words(key: str) -> str:
    return (words := key.replace("_", " ").replace("-", " ").strip() or key)[0].upper() + words[1:]
