from __future__ import annotations

from datetime import date

import pytest

from layline.core.period import Cadence, parse_date, parse_moment, parse_period, period_of


@pytest.mark.parametrize(
    ("text", "cadence", "first", "after"),
    [
        ("2026-W19", Cadence.WEEKLY, date(2026, 5, 4), date(2026, 5, 11)),
        ("2026-W01", Cadence.WEEKLY, date(2025, 12, 29), date(2026, 1, 5)),
        ("2026-W53", Cadence.WEEKLY, date(2026, 12, 28), date(2027, 1, 4)),
        ("2020-W53", Cadence.WEEKLY, date(2020, 12, 28), date(2021, 1, 4)),
        ("2026-06", Cadence.MONTHLY, date(2026, 6, 1), date(2026, 7, 1)),
        ("2026-12", Cadence.MONTHLY, date(2026, 12, 1), date(2027, 1, 1)),
        ("2024-02", Cadence.MONTHLY, date(2024, 2, 1), date(2024, 3, 1)),
    ],
)
def test_a_period_is_its_days(text: str, cadence: Cadence, first: date, after: date) -> None:
    period = parse_period(text, cadence)
    assert (period.first, period.after) == (first, after)
    assert period_of(first, cadence) == period


@pytest.mark.parametrize(
    ("text", "cadence"),
    [
        ("2025-W53", Cadence.WEEKLY),
        ("2026-W00", Cadence.WEEKLY),
        ("2026-W54", Cadence.WEEKLY),
        ("2026-w19", Cadence.WEEKLY),
        ("2026W19", Cadence.WEEKLY),
        ("2026-W1", Cadence.WEEKLY),
        ("2026-05", Cadence.WEEKLY),
        ("2026-W19\n", Cadence.WEEKLY),
        ("٢٠٢٦-W19", Cadence.WEEKLY),
        ("2026-13", Cadence.MONTHLY),
        ("2026-00", Cadence.MONTHLY),
        ("2026-6", Cadence.MONTHLY),
        ("0000-01", Cadence.MONTHLY),
    ],
)
def test_what_no_calendar_has_is_no_period(text: str, cadence: Cadence) -> None:
    with pytest.raises(ValueError, match=r"week|month"):
        parse_period(text, cadence)


def test_the_previous_period_crosses_the_year() -> None:
    assert parse_period("2027-W01", Cadence.WEEKLY).previous.id == "2026-W53"
    assert parse_period("2026-01", Cadence.MONTHLY).previous.id == "2025-12"


@pytest.mark.parametrize("text", ["2026-02-30", "2026-5-8", "20260508", "2026-05-08T00:00:00Z", "", "2026-05-08 "])
def test_a_date_is_written_in_one_way(text: str) -> None:
    with pytest.raises(ValueError, match=r"date|day"):
        parse_date(text)


@pytest.mark.parametrize(
    "text", ["2026-05-08", "2026-05-08T09:01:00", "2026-05-08 09:01:00+08:00", "2026-05-08T25:00:00Z"]
)
def test_a_moment_has_date_time_and_offset(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        parse_moment(text)
