from __future__ import annotations

from typing import Any

import pytest

from layline.core.period import Cadence
from layline.core.records import GapRecord, PeriodicRecord, read_gap_record, read_periodic_record
from layline.dashboard.backend_status import Standing, find_standings
from layline.dashboard.breakage import Breakage, Broken
from layline.dashboard.pages import NavItem
from layline.dashboard.prose import Addresses
from layline.dashboard.rows import view_row
from layline.dashboard.views import view_periodic
from layline.workspace.records import Loaded
from record_samples import gap_record, spoil, weekly_record


def gap(**changes: Any) -> GapRecord:
    plain = gap_record()
    for place, value in changes.items():
        plain = spoil(plain, place.replace("__", "."), value)
    record = read_gap_record(plain)
    assert isinstance(record, GapRecord)
    return record


def weekly(report_id: str, start: str, end: str, **changes: Any) -> PeriodicRecord:
    plain = weekly_record(report_id, start, end)
    for place, value in changes.items():
        plain = spoil(plain, f"engine_status.{place}", value)
    record = read_periodic_record(plain, Cadence.WEEKLY)
    assert isinstance(record, PeriodicRecord)
    return record


W18 = weekly("2026-W18", "2026-04-27", "2026-05-01", commit_gap=5, upstream_head="c" * 40)
W19 = weekly("2026-W19", "2026-05-04", "2026-05-08", commit_gap=9, upstream_head="d" * 40)


def engine(*records: GapRecord | PeriodicRecord) -> Standing:
    gaps = [item for item in records if isinstance(item, GapRecord)]
    periodic = [item for item in records if isinstance(item, PeriodicRecord)]
    return next(item for item in find_standings(gaps, periodic, {}) if item.key == "engine")


def test_newest_figure_is_shown_and_older_ones_are_history() -> None:
    standing = engine(W18, W19, gap(generated_at="2026-04-30", stats__commit_gap=4))
    assert standing.latest.behind == 9
    assert [item.behind for item in standing.measurements] == [9, 5, 4]
    assert standing.change == 4
    assert standing.points == (("2026-04-30", 4.0), ("2026-05-01", 5.0), ("2026-05-08", 9.0))


def test_reports_on_the_same_commits_tell_no_change() -> None:
    standing = engine(W18, W19, gap(stats__commit_gap=9, upstream__commit="d" * 12))
    assert standing.latest.source == "2026-W19"
    assert standing.previous is not None
    assert standing.previous.source == "2026-W18"


def test_different_figures_for_the_same_commits_are_a_conflict() -> None:
    standing = engine(W19, gap(stats__commit_gap=8, upstream__commit="d" * 12))
    assert [[value for value, _, _ in conflict.values] for conflict in standing.conflicts] == [[9, 8]]
    assert engine(W18, W19).conflicts == ()


@pytest.mark.parametrize(
    ("said", "gap", "counted", "shown"),
    [
        ("monitor (not measured)", None, None, ("not measured", "none")),
        (None, None, None, ("not measured", "none")),
        ("monitor", None, 4, ("monitor", "none")),  # the report counted something else: its word stays, without colour
        ("urgent sync", None, None, ("urgent sync", "bad")),
        ("monitor", 0, None, ("monitor", "good")),
    ],
)
def test_what_nobody_measured_does_not_look_good(
    said: str | None, gap: int | None, counted: int | None, shown: tuple[str, str]
) -> None:
    plain = spoil(weekly_record("2026-W19", "2026-05-04", "2026-05-08"), "engine_status", {"commit_gap": gap})
    plain = spoil(plain, "recommendations", {} if said is None else {"engine": said})
    if counted is not None:
        plain = spoil(plain, "engine_status.drift_commits", counted)
    record = read_periodic_record(plain, Cadence.WEEKLY)
    assert isinstance(record, PeriodicRecord)
    assert (engine(record).advice.verdict, engine(record).advice.tone) == shown
    view = view_periodic(Loaded(file="w.json", plain=plain, record=record), {}, Addresses())
    assert [(item.text, item.tone) for item in view.advice] == ([] if said is None else [shown])


def test_a_report_that_measured_nothing_leaves_the_verdict_to_the_last_that_did() -> None:
    blind = spoil(weekly_record("2026-W19", "2026-05-04", "2026-05-08"), "engine_status", {"commit_gap": None})
    blind = spoil(blind, "recommendations.engine", "monitor (not measured)")
    record = read_periodic_record(blind, Cadence.WEEKLY)
    assert isinstance(record, PeriodicRecord)
    told = gap(generated_at="2026-05-01", dashboard_summary__recommendation="urgent sync")
    assert engine(record, told).advice.verdict == "urgent sync"


def test_a_backend_without_distance_is_unmeasured() -> None:
    loader = next(item for item in find_standings([], [W18, W19], {}) if item.key == "loader")
    assert loader.latest.behind is None
    assert loader.change is None
    assert loader.label == "Loader"


@pytest.mark.parametrize(("date", "stale"), [("2026-05-07", False), ("2026-04-08", False), ("2026-04-06", True)])
def test_a_figure_much_older_than_the_newest_report_is_stale(date: str, stale: bool) -> None:
    other = weekly("2026-W19", "2026-05-04", "2026-05-08", commit_gap=None, upstream_head="d" * 40)
    standing = engine(other, gap(generated_at=date))
    assert standing.latest.date == date
    assert standing.is_stale is stale


def test_moved_pins_are_marked() -> None:
    moved = weekly("2026-W19", "2026-05-04", "2026-05-08", pin_commit="e" * 40, upstream_head="d" * 40)
    standing = engine(W18, moved)
    assert standing.pin_moved
    assert standing.moves == (("2026-05-08", "e" * 40),)
    assert [[date for date, _ in run] for run in standing.runs] == [["2026-05-01"], ["2026-05-08"]]
    assert len(engine(W18, weekly("2026-W19", "2026-05-04", "2026-05-08", upstream_head="d" * 40)).runs) == 1


def test_a_move_before_what_the_report_compares_with_is_not_told_again() -> None:
    pinned = {"pin_commit": "e" * 40, "upstream_head": "d" * 40}
    told = weekly("2026-W20", "2026-05-11", "2026-05-15", **pinned, commit_gap_change=0, changed_since="2026-W19")
    standing = engine(W18, weekly("2026-W19", "2026-05-04", "2026-05-08", **pinned), told)
    assert standing.step == (0, "2026-W19")
    assert not standing.pin_moved
    assert engine(W18, weekly("2026-W19", "2026-05-04", "2026-05-08", upstream_head="d" * 40), told).pin_moved


def test_every_figure_has_its_evidence() -> None:
    latest = engine(W19).latest
    assert latest.compare_link == f"https://github.com/example/engine/compare/{'a' * 40}...{'d' * 40}"
    assert latest.command == f"git rev-list --count {'a' * 40}..{'d' * 40}"


@pytest.mark.parametrize(
    ("recommendation", "said"),
    [
        ("monitor", "No hurry: moving the pin breaks nothing of ours"),
        ("plan sync", "Move the pin: nothing of ours breaks"),
    ],
)
def test_the_next_step_agrees_with_the_verdict(recommendation: str, said: str) -> None:
    standing = engine(weekly("2026-W19", "2026-05-04", "2026-05-08", commit_gap=9, recommendation=recommendation))
    whole = Breakage(record="r", date="2026-05-08", places=(), touched=4, look=0, to_fix=0)
    assert view_row(standing, whole).next_step == said


def test_one_cause_has_one_name() -> None:
    places = tuple(
        Broken(place=f"a.py:{line}", evidence=None, targets=(), reasons=(), culprit="c" * 40, patch="")
        for line in (1, 2)
    )
    told = Breakage(record="r", date="d", places=places, to_fix=2, touched=4, look=0, files=1, pulls={"c" * 40: "#24"})
    row = view_row(engine(W19), told)
    assert (row.next_step, row.cause) == ("Fix 2 places in 1 file", (2, "#24", None))


def test_the_first_screen_begins_with_what_somebody_must_act_on() -> None:
    """The reason stands in it, whole; what only informs comes after."""
    plain = weekly_record("2026-W19", "2026-05-04", "2026-05-08")
    for place, value in (
        ("key_findings", ["Ten pull requests merged.", "Engine: a long story. Recommendation: plan sync."]),
        ("engine_status.recommendation", "plan sync"),
        ("engine_status.recommendation_rule", "99 days (threshold: 60)"),
        ("engine_status.commit_gap", 9),
        ("engine_status.upstream_ref", "main"),
    ):
        plain = spoil(plain, place, value)
    record = read_periodic_record(plain, Cadence.WEEKLY)
    assert isinstance(record, PeriodicRecord)
    view = view_periodic(Loaded(file="w.json", plain=plain, record=record), {"engine": "Engine"}, Addresses())
    assert [f"{item.head}|{item.shown}" for item in view.brief] == [
        "Engine|plan sync: 99 days (threshold: 60). 9 commits behind main.",
        "|Ten pull requests merged.",
    ]


@pytest.mark.parametrize(
    ("page", "leads"), [("backends/keel.html", True), ("index.html", False), ("patches/keel.html", False)]
)
def test_a_page_belongs_to_one_item_of_the_navigation(page: str, leads: bool) -> None:
    assert NavItem(title="Backends", href="index.html#standings", folder="backends/").leads_to(page) is leads


@pytest.mark.parametrize(
    ("pin", "tip", "day", "places", "said", "verdict"),
    [
        ("a", "d", "2026-05-08", None, "urgent sync", "urgent sync"),  # the same commits, and it counted what breaks
        ("a", "d", "2026-05-08", None, "monitor", "monitor"),
        (
            "a",
            "e",
            "2026-05-08",
            None,
            "urgent sync",
            "urgent sync",
        ),  # another tip of the same pin: what it found stays
        ("a", "e", "2026-05-08", None, "monitor", "plan sync"),  # but calms nobody
        ("a", "e", "2026-03-08", None, "urgent sync", "plan sync"),  # and grows old
        ("e", "d", "2026-05-08", None, "urgent sync", "plan sync"),  # of another pin it says nothing
        ("a", "d", "2026-05-08", 3, "urgent sync", "plan sync"),  # the weekly report counted, too
    ],
)
def test_of_two_reports_the_one_that_counted_what_breaks_decides(
    pin: str, tip: str, day: str, places: int | None, said: str, verdict: str
) -> None:
    counted = {} if places is None else {"places_that_break": places}
    week = weekly("2026-W19", "2026-05-04", "2026-05-08", upstream_head="d" * 40, recommendation="plan sync", **counted)
    told = gap(
        local__commit=pin * 40, upstream__commit=tip * 40, generated_at=day, dashboard_summary__recommendation=said
    )
    assert engine(week, told).advice.recommendation == verdict
