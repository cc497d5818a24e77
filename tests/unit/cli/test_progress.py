"""Progress in a file: what is done and how far, not more often than a reader needs."""

from __future__ import annotations

import io

import pytest

from layline.cli import progress
from layline.cli.progress import write_lines
from layline.core.progress import Parts, count, tell_result


@pytest.fixture(autouse=True)
def pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it: `conftest` makes commands of other tests say nothing by the clock."""
    monkeypatch.setattr(progress, "_PAUSE_S", 5.0)


def test_a_line_every_few_seconds() -> None:
    stream, now = io.StringIO(), [0.0]
    report, repeat = write_lines(stream, lambda: now[0])
    for second, done in ((1, 1), (6, 2), (7, 3), (12, 4)):
        now[0] = second
        report("comparing targets", done, 4)
    now[0] = 30
    report("looking for culprits", 0, 0)
    now[0] = 41
    repeat()
    assert stream.getvalue().splitlines() == [
        "layline: comparing targets, 2 of 4 (6 s)",
        "layline: comparing targets, 4 of 4 (12 s)",
        "layline: looking for culprits (30 s)",
        "layline: looking for culprits (41 s)",
    ]


def test_what_is_looked_at_is_named() -> None:
    stream, now = io.StringIO(), [0.0]
    report, repeat = write_lines(stream, lambda: now[0])
    now[0] = 6
    report("reading our modules", 1, 23, "pack/loader.py")
    now[0] = 12
    repeat()
    assert stream.getvalue().splitlines() == [
        "layline: reading our modules, 1 of 23: pack/loader.py (6 s)",
        "layline: reading our modules, 1 of 23: pack/loader.py (12 s)",
    ]


def test_a_result_is_told_at_once_where_work_is_long() -> None:
    stream, now = io.StringIO(), [0.0]
    report, repeat = write_lines(stream, lambda: now[0])
    for second in (1, 7, 8, 9):
        now[0] = second
        report("comparing targets", second, 9)
        tell_result(report, f"{second} of 9 places fit")
    now[0] = 20
    repeat()
    assert stream.getvalue().splitlines() == [
        "layline: comparing targets, 7 of 9 (7 s)",
        "layline: 7 of 9 places fit (7 s)",
        "layline: 8 of 9 places fit (8 s)",
        "layline: 9 of 9 places fit (9 s)",
        "layline: 9 of 9 places fit (20 s)",
    ]


def test_short_work_says_nothing() -> None:
    stream = io.StringIO()
    report, repeat = write_lines(stream, lambda: 1.0)
    report("reading the patches", 0, 0)
    repeat()
    assert stream.getvalue() == ""


def test_items_are_counted_as_they_come() -> None:
    told: list[tuple[object, ...]] = []
    items = list(count(iter("abc"), "reading our files", 3, lambda *said: told.append(said), lambda item: f"{item}.py"))
    assert items == ["a", "b", "c"]
    assert told == [("reading our files", number, 3, f"{name}.py") for number, name in enumerate("abc", 1)]


def test_work_in_parts_says_which_part_it_is_at() -> None:
    told = list[str]()
    parts = Parts(
        lambda what, done, total, at="": told.append(f"{what}, {done} of {total}"), ("our patches", "our calls")
    )
    parts("opening", 0, 0)
    for number in (1, 2):
        parts.begin()
        parts("reading files", number, 2)
    assert told == [
        "opening, 0 of 0",
        "part 1 of 2, our patches: reading files, 1 of 2",
        "part 2 of 2, our calls: reading files, 2 of 2",
    ]
