from __future__ import annotations

import pytest

from layline.core.period import Cadence
from layline.core.records import GapRecord, PeriodicRecord, read_gap_record, read_periodic_record
from layline.dashboard.contradictions import find_in_gap, find_in_periodic
from record_samples import gap_record, spoil, weekly_record


def told(text: str, figure: int) -> list[int]:
    record = read_gap_record(spoil(spoil(gap_record(), "stats.commit_gap", figure), "highlights", [text]))
    assert isinstance(record, GapRecord)
    return [item.said for item in find_in_gap(record) if item.clause in text]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The pin is 458 commits behind upstream HEAD.", [458]),
        ("A 1,458-commit gap remains.", [1458]),
        ("The gap is 458 commits.", [458]),
        ("It lags upstream main by 458 commits.", [458]),
        ("Commit gap: 458 commits, and growing.", [458]),
        ("It is 403 commits behind.", []),  # the figure itself
        ("413 commits behind last week; now 403 commits behind.", [413]),  # two clauses: the first stands alone
        ("From 413 commits behind to 403.", []),  # one clause with the right figure tells a history
        ("+45 commits since last week.", []),  # a change, not a distance
        ("PR #458 adds commits behind a flag.", []),
        ("458 commits were merged upstream.", []),  # not a distance of the pin
        ("version 0.458 commits behind", []),
    ],
)
def test_distance_in_prose_is_held_against_the_figure(text: str, said: list[int]) -> None:
    assert told(text, 403) == said


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        ("Engine upstream drift: the pin is 12 commits behind.", [("engine", 12)]),
        ("Engine upstream drift: the pin is 7 commits behind.", []),
        ("Engine and loader: 12 commits behind.", []),  # whose?
        ("Something is 12 commits behind.", []),  # nobody's
    ],
)
def test_finding_counts_for_the_one_target_it_names(finding: str, said: list[tuple[str, int]]) -> None:
    plain = spoil(weekly_record("2026-W19", "2026-05-04", "2026-05-08"), "key_findings", [finding])
    record = read_periodic_record(spoil(plain, "engine_status.commit_gap", 7), Cadence.WEEKLY)
    assert isinstance(record, PeriodicRecord)
    assert [(item.label, item.said) for item in find_in_periodic(record, {})] == said
