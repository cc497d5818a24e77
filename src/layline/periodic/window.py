"""Windows: a week or month in a stated time zone, whole or up to a moment."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

from layline.core.period import Cadence, Period, find_month_start, find_quarter_start, parse_period, period_of
from layline.errors import ConfigError
from layline.periodic.model import Window

if TYPE_CHECKING:
    from datetime import tzinfo

_LOCAL = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?(?:Z|[+-]\d{2}:\d{2})?\Z")


def find_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ConfigError(
            f"periodic.timezone: there is no time zone called {name!r}.",
            hint="Use an IANA name such as Europe/Berlin; a machine without time zone data needs the package tzdata.",
        ) from None


def parse_local(text: str, zone: tzinfo, *, option: str) -> datetime:
    """`2026-05-08 09:01` in the window's time zone, or any time with its own offset."""
    try:
        told = datetime.fromisoformat(text) if _LOCAL.match(text) else None
    except ValueError:
        told = None
    if told is None:
        raise ConfigError(f"{option} {text!r} is not a time.", hint="Write 2026-05-08T09:01; an offset is optional.")
    if option == "--until" and len(text) == 10:
        told = datetime.combine(told.date(), time(23, 59, 59))  # a day alone means its end
    return (told if told.tzinfo else told.replace(tzinfo=zone)).astimezone(zone)


def build_window(
    cadence: Cadence, name: str, *, period: str | None, until: datetime | None, since: datetime | None = None
) -> Window:
    """The window of `period` (default: the one `until` lies in), from its first or `since` to its last second or
    `until`.
    """
    zone = find_zone(name)
    if period is not None:
        chosen = _parse(period, cadence)
    elif until is not None:
        chosen = period_of(until.astimezone(zone), cadence)
    else:
        raise ConfigError("No period is named.")
    start = datetime.combine(chosen.first, time(), zone) if since is None else since.astimezone(zone)
    last = datetime.combine(chosen.after, time(), zone) - timedelta(seconds=1)
    # a report may be made late, but it never tells what happened after its period
    end = last if until is None else min(until.astimezone(zone), last)
    if end < start or end.date() < chosen.first:
        raise ConfigError(
            f"Nothing of {chosen.id} lies between {start.isoformat()} and {end.isoformat()}.",
            hint=f"{chosen.id} is {chosen.first} up to {chosen.after} in {name}.",
        )
    return Window(period=chosen, timezone=name, start=start, end=end)


def find_unit(window: Window) -> Literal["month", "quarter"]:
    """What the drift inside the downstream is told for: a weekly report looks back over its month."""
    return "month" if window.period.cadence is Cadence.WEEKLY else "quarter"


def find_unit_start(window: Window) -> datetime:
    """When the month or quarter began that the first day of the window's period lies in."""
    first = window.period.first
    day = find_month_start(first) if find_unit(window) == "month" else find_quarter_start(first)
    return datetime.combine(day, time(), window.start.tzinfo)


def _parse(text: str, cadence: Cadence) -> Period:
    try:
        return parse_period(text, cadence)
    except ValueError as error:
        raise ConfigError(f"{text!r} {error}.") from None
