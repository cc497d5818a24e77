"""Whatever a record holds, reading answers with a value or with reasons, and what passes can be written as JSON."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from layline.core.checks import check_characters, clean_line
from layline.core.period import Cadence, parse_period, period_of
from layline.core.records import GapRecord, PeriodicRecord, read_gap_record, read_periodic_record
from record_samples import gap_record, spoil, weekly_record

texts = st.text(st.characters(codec=None), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def places(plain: Any, place: str = "") -> list[str]:
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    found = [place] if place else []
    for key, value in items:
        found += places(value, f"{place}.{key}" if place else str(key))
    return found


@settings(max_examples=200)
@given(st.sampled_from(places(gap_record())), values)
def test_any_value_anywhere_in_a_gap_record(place: str, value: Any) -> None:
    plain = spoil(gap_record(), place, value)
    match read_gap_record(plain):
        case GapRecord():
            json.dumps(plain, ensure_ascii=False, allow_nan=False).encode("utf-8")
        case problems:
            assert problems
            assert all(problem.reason and str(problem).encode("utf-8") for problem in problems)


@settings(max_examples=200)
@given(st.sampled_from(places(weekly_record())), values)
def test_any_value_anywhere_in_a_weekly_record(place: str, value: Any) -> None:
    plain = spoil(weekly_record(), place, value)
    match read_periodic_record(plain, Cadence.WEEKLY, ("engine",)):
        case PeriodicRecord() as record:
            json.dumps(plain, ensure_ascii=False, allow_nan=False).encode("utf-8")
            assert record.cadence is Cadence.WEEKLY
        case problems:
            assert problems
            assert all(problem.reason and str(problem).encode("utf-8") for problem in problems)


@given(st.text(st.characters(codec=None)), st.integers(2, 50))
def test_a_cleaned_line_may_stand_in_any_record(text: str, limit: int) -> None:
    cleaned = clean_line(text, limit)
    assert check_characters(cleaned) is None
    assert len(cleaned) <= limit
    assert "\n" not in cleaned


@given(
    st.dates(min_value=date(1, 1, 8), max_value=date(9998, 12, 20)),
    st.sampled_from(Cadence),
)
def test_every_day_lies_in_exactly_one_period(day: date, cadence: Cadence) -> None:
    period = period_of(day, cadence)
    assert period.first <= day < period.after
    assert parse_period(period.id, cadence) == period
    assert period.previous.after == period.first
