from __future__ import annotations

import pytest

from layline.core.period import Cadence
from layline.errors import ConfigError
from layline.periodic.window import build_window, find_unit_start, find_zone, parse_local

SHANGHAI = find_zone("Asia/Shanghai")


@pytest.mark.parametrize(
    ("cadence", "zone", "period", "until", "start", "end"),
    [
        (Cadence.WEEKLY, "Asia/Shanghai", "2026-W19", None, "2026-05-04T00:00:00+08:00", "2026-05-10T23:59:59+08:00"),
        (
            Cadence.WEEKLY,
            "Asia/Shanghai",
            None,
            "2026-05-08T09:01",
            "2026-05-04T00:00:00+08:00",
            "2026-05-08T09:01:00+08:00",
        ),
        (
            Cadence.WEEKLY,
            "Asia/Shanghai",
            None,
            "2026-05-03T17:00Z",
            "2026-05-04T00:00:00+08:00",
            "2026-05-04T01:00:00+08:00",
        ),
        (Cadence.WEEKLY, "UTC", "2026-W53", None, "2026-12-28T00:00:00+00:00", "2027-01-03T23:59:59+00:00"),
        (
            Cadence.WEEKLY,
            "Asia/Shanghai",
            "2026-W19",
            "2026-06-01",
            "2026-05-04T00:00:00+08:00",
            "2026-05-10T23:59:59+08:00",
        ),
        (Cadence.MONTHLY, "Europe/Berlin", "2026-03", None, "2026-03-01T00:00:00+01:00", "2026-03-31T23:59:59+02:00"),
        (Cadence.MONTHLY, "UTC", None, "2026-02-10", "2026-02-01T00:00:00+00:00", "2026-02-10T23:59:59+00:00"),
    ],
)
def test_a_window_is_a_period_in_a_time_zone(
    cadence: Cadence, zone: str, period: str | None, until: str | None, start: str, end: str
) -> None:
    moment = parse_local(until, SHANGHAI, option="--until") if until and zone == "Asia/Shanghai" else None
    moment = moment or (parse_local(until, find_zone(zone), option="--until") if until else None)
    window = build_window(cadence, zone, period=period, until=moment)
    assert (window.start.isoformat(), window.end.isoformat()) == (start, end)


def test_since_begins_where_the_last_report_ended() -> None:
    since = parse_local("2026-06-02T17:53", SHANGHAI, option="--since")
    window = build_window(Cadence.MONTHLY, "Asia/Shanghai", period="2026-08", until=None, since=since)
    assert window.start.isoformat() == "2026-06-02T17:53:00+08:00"
    assert find_unit_start(window).isoformat() == "2026-07-01T00:00:00+08:00"


@pytest.mark.parametrize(("week", "month"), [("2026-W18", "2026-04-01"), ("2026-W19", "2026-05-01")])
def test_a_week_belongs_to_the_month_of_its_monday(week: str, month: str) -> None:
    window = build_window(Cadence.WEEKLY, "Asia/Shanghai", period=week, until=None)
    assert find_unit_start(window).isoformat() == f"{month}T00:00:00+08:00"


@pytest.mark.parametrize("text", ["now", "2026-13-01", "2026-05-08T9:01", "2026-05-08T09:01+8", "-1", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a time"):
        parse_local(text, SHANGHAI, option="--until")


def test_a_moment_before_the_period_is_refused() -> None:
    with pytest.raises(ConfigError, match="Nothing of 2026-W19"):
        build_window(
            Cadence.WEEKLY, "UTC", period="2026-W19", until=parse_local("2026-05-01", SHANGHAI, option="--until")
        )


@pytest.mark.parametrize(("week", "reason"), [("2025-W53", "has no week 53"), ("2026-5", "not an ISO week")])
def test_a_week_that_is_none_is_refused(week: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        build_window(Cadence.WEEKLY, "UTC", period=week, until=None)


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ConfigError, match="no time zone called"):
        find_zone("Mars/Olympus")
