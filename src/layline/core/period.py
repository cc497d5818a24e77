"""Cadences and the periods they name: ISO weeks and months, with no clock and no time zone data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

_WEEK = re.compile(r"([0-9]{4})-W([0-9]{2})\Z")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})\Z"
)


class Cadence(StrEnum):
    """How often a periodic report appears."""

    WEEKLY = "weekly"
    MONTHLY = "monthly"

    @property
    def content_type(self) -> str:
        return f"{self.value}-report"

    @property
    def folder(self) -> str:
        """Its folder under the project's `docs`."""
        return f"{self.value}_reports"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """One ISO week or one month: the days from `first` up to, not including, `after`."""

    id: str
    cadence: Cadence
    first: date
    after: date

    @property
    def previous(self) -> Period:
        return period_of(self.first - timedelta(days=1), self.cadence)


def parse_period(text: str, cadence: Cadence) -> Period:
    """The period that `2026-W19` or `2026-06` names; ValueError says why there is none."""
    match cadence:
        case Cadence.WEEKLY:
            found = _WEEK.match(text)
            if found is None:
                raise ValueError("is not an ISO week such as 2026-W19")
            year, week = int(found[1]), int(found[2])
            if not 1 <= week <= 53 or not 1 <= year <= 9998:
                raise ValueError(f"names a week that does not exist: {found[2]}")
            try:
                monday = date.fromisocalendar(year, week, 1)
            except ValueError:
                raise ValueError(f"names a week that does not exist: the ISO year {year} has no week 53") from None
            return Period(id=text, cadence=cadence, first=monday, after=monday + timedelta(days=7))
        case Cadence.MONTHLY:
            found = _MONTH.match(text)
            if found is None:
                raise ValueError("is not a month such as 2026-06")
            year, month = int(found[1]), int(found[2])
            if not 1 <= month <= 12 or not 1 <= year <= 9998:
                raise ValueError(f"names a month that does not exist: {found[2]}")
            after = date(year + month // 12, month % 12 + 1, 1)
            return Period(id=text, cadence=cadence, first=date(year, month, 1), after=after)


def period_of(day: date, cadence: Cadence) -> Period:
    """The week or month that `day` lies in."""
    if cadence is Cadence.MONTHLY:
        return parse_period(f"{day.year:04}-{day.month:02}", cadence)
    year, week, _ = day.isocalendar()
    return parse_period(f"{year:04}-W{week:02}", cadence)


def find_month_start(day: date) -> date:
    return day.replace(day=1)


def find_quarter_start(day: date) -> date:
    return day.replace(month=day.month - (day.month - 1) % 3, day=1)


def parse_date(text: str) -> date:
    """A day written YYYY-MM-DD and in no other way."""
    if not _DATE.match(text):
        raise ValueError("is not a date written YYYY-MM-DD")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError("is a date that does not exist") from None


def parse_moment(text: str) -> datetime:
    """An instant written in ISO 8601 with its offset, such as 2026-05-08T09:01:00+08:00."""
    if not _MOMENT.match(text):
        raise ValueError("is not a time written YYYY-MM-DDTHH:MM:SS±HH:MM")
    try:
        return datetime.fromisoformat(text.removesuffix("Z") + ("+00:00" if text.endswith("Z") else ""))
    except ValueError:
        raise ValueError("is a date or time that does not exist") from None
