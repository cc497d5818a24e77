"""Good English from figures; plans and slugs."""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial

import pytest

from drift_rows import drift_row
from layline.core.evidence import Location
from layline.core.prose import count, listed, sentence, share, shorten, shorten_clauses
from layline.core.revision import Commit
from layline.coupling.drift_model import Drift
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.gap.causes import find_causes
from layline.gap.model import Demand, PlanStep
from layline.gap.overview import find_broken_places, slug_of
from layline.gap.plan import build_plan, weigh


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (0, "commit", "no commits"),
        (1, "commit", "1 commit"),
        (2, "patch target", "2 patch targets"),
        (3, "dependency entry", "3 dependency entries"),
        (2, "patch", "2 patches"),
    ],
)
def test_counts(number: int, noun: str, expected: str) -> None:
    assert count(number, noun) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], "none"),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdef"), "a, b, c, d, e and 1 more"),
    ],
)
def test_lists(items: list[str], expected: str) -> None:
    assert listed(items) == expected


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(0, 9, "0 %"), (1, 1000, "under 1 %"), (999, 1000, "over 99 %"), (1000, 1000, "100 %"), (1, 2, "50 %")],
)
def test_shares(part: int, whole: int, expected: str) -> None:
    assert share(part, whole) == expected


def test_sentences_end_once() -> None:
    assert (sentence("no commits."), shorten("a " * 99, 10)) == ("No commits.", "a a a a a…")


@pytest.mark.parametrize(
    ("ref", "slug"),
    [
        ("main", "upstream-main"),
        ("origin/main", "upstream-main"),
        ("refs/tags/v1.2", "upstream-v1.2"),
        ("release/1 x", "upstream-release-1-x"),
        ("d" * 40, "upstream-" + "d" * 12),
    ],
)
def test_slugs(ref: str, slug: str) -> None:
    assert slug_of(ref) == slug


def commit(number: int) -> Commit:
    return Commit(
        hash=f"{number:040x}",
        committed=f"{date(2026, 1, 1) + timedelta(days=number - 1)}T00:00:00Z",
        authored="",
        author="Ada",
        subject=f"Change (#{number})",
    )


def coupling(target: str, culprit: int, consequence: Consequence = Consequence.WILL_BREAK) -> Coupling:
    return Coupling(
        touch=Touch.IMPORT,
        target=target,
        location=Location(f"{target}.py", culprit),
        state=State.REMOVED,
        consequence=consequence,
        culprit=f"{culprit:040x}",
    )


def test_a_plan_stops_at_releases_and_before_what_breaks() -> None:
    log = [commit(number) for number in range(9, 0, -1)]
    breaking = find_causes(
        log, [coupling("up.f", 4), coupling("up.g", 4), coupling("up.h", 7, Consequence.MAY_BREAK)], []
    )
    steps = build_plan(commit(0), log, [("v2", f"{6:040x}")], breaking)
    assert [(int(step.commit, 16), step.behind, step.breaks_next) for step in steps] == [
        (3, 3, ("up.f", "up.g")),
        (6, 6, ()),
        (9, 9, ()),
    ]
    assert steps[0].reason == "the last commit before 00000000 (#4)"
    assert [step.reason for step in steps[1:]] == ["release v2", "the tip"]


@pytest.mark.parametrize(
    ("name", "stops"),
    [("v2", True), ("core_v0.16.1", True), ("2026.1", True), ("loss-v1", False), ("nightly", False)],
)
def test_a_tag_that_is_no_version_is_no_stop(name: str, stops: bool) -> None:
    steps = build_plan(commit(0), [commit(2), commit(1)], [(name, f"{1:040x}")], ())
    assert [step.reason for step in steps] == ([f"release {name}", "the tip"] if stops else ["the tip"])


def test_a_plan_never_passes_the_first_break_untold() -> None:
    """The first break is light, the later ones weigh more: its stop stays."""
    log = [commit(number) for number in range(28, 0, -1)]
    later = [coupling(f"up.{number}.{part}", number) for number in (8, 9, 10) for part in "xy"]
    breaking = find_causes(log, [coupling("up.a", 3), *later], [])
    steps = build_plan(commit(0), log, [], breaking, most=3)
    assert [(int(step.commit, 16), step.places) for step in steps] == [(2, 1), (9, 2), (28, 0)]


def test_a_long_plan_keeps_the_stops_that_matter_most_and_the_tip() -> None:
    log = [commit(number) for number in range(28, 0, -1)]
    many = [coupling(f"up.f{number}", number) for number in range(2, 28)]
    breaking = find_causes(log, [*many, coupling("up.z", 20)], [])
    steps = build_plan(commit(0), log, [], breaking, most=3)
    assert len(steps) == 3
    assert int(steps[-1].commit, 16) == 28
    assert any(int(step.commit, 16) == 19 for step in steps)


def test_the_stops_with_most_work_come_first() -> None:
    """In lines and methods of ours; a version of Python or a model that goes only decides between equals."""
    step = partial(PlanStep, date="2026-01-01", reason="", behind=1)
    steps = [
        step(commit="python", asks=Demand(needs=("Python >=3.11",))),
        step(commit="first", places=1, lines=2),
        step(commit="model", places=1, lines=2, asks=Demand(deletes=("up.old",))),
        step(commit="keys", asks=Demand(lines=76, methods=6)),
        step(commit="again", again=5, lines=11, asks=Demand(methods=7)),
    ]
    assert [one.commit for one in sorted(steps, key=weigh)] == ["keys", "again", "model", "first", "python"]


def test_a_break_by_the_first_commit_stops_at_the_pin() -> None:
    log = [commit(number) for number in range(4, 0, -1)]
    steps = build_plan(commit(0), log, [], find_causes(log, [coupling("up.f", 1), coupling("up.g", 3)], []))
    assert [(int(step.commit, 16), step.behind, step.places) for step in steps] == [(0, 0, 1), (2, 2, 1), (4, 4, 0)]
    assert steps[0].reason == "the pin itself; right after it comes 00000000 (#1)"


def test_a_first_stop_that_brings_nothing_is_the_pin() -> None:
    log = [commit(number) for number in range(300, 0, -1)]
    steps = build_plan(commit(0), log, [], find_causes(log, [coupling("up.f", 3), coupling("up.g", 5)], []))
    assert [(int(step.commit, 16), step.behind, step.ahead, step.places) for step in steps] == [
        (0, 0, 3, 1),
        (4, 4, 1, 1),
        (300, 300, 1, 0),
    ]
    assert steps[0].reason == "the pin itself; 3 commits later comes 00000000 (#3)"


def test_nothing_between_needs_no_plan() -> None:
    assert build_plan(commit(0), [], [], ()) == ()


def test_a_patch_at_the_place_of_a_broken_coupling_counts_once() -> None:
    def patch(location: str, *, active: bool = True) -> Drift:
        return drift_row("breaks", "removed", location, "up.f", active=active)

    found = find_broken_places(
        [coupling("up.f", 4)], [patch("up.f.py:4"), patch("b.py:1"), patch("c.py:1", active=False)]
    )
    assert sorted(found) == ["b.py:1", "up.f.py:4"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("short; all of it", "short; all of it"),
        ("ours does not take keep; upstream passes that at up/a.py:38", "ours does not take keep"),
        ("one clause that is too long by itself", "one clause that is too…"),
    ],
)
def test_clauses_are_told_whole(text: str, told: str) -> None:
    assert shorten_clauses(text, 25) == told
