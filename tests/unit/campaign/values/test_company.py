"""Other work on the device that is measured: what counts as such."""

from __future__ import annotations

import pytest

from layline.campaign.values.company import Look, Other, name_idle, name_other_work, tell_alone

ALONE, LOST_ONCE, UNSEEN = Look(is_listed=True), Look(is_listed=True, lost=0.4), Look(is_listed=False, lost=0.5)


def beside(busy: int | None, pid: int = 4242, mib: int | None = 1024) -> Look:
    return Look(is_listed=True, others=(Other(pid=pid, mib=mib, busy=busy),))


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([], ""),
        ([ALONE, ALONE], ""),
        ([ALONE, beside(87)], "pid 4242, 1,024 MiB, busy 87 %"),
        ([beside(3), beside(87), beside(0)], "pid 4242, 1,024 MiB, busy 87 %"),
        ([beside(0), beside(0)], ""),  # holds memory and computes nothing
        ([beside(None, mib=None)], "pid 4242"),  # nothing is known of it
        ([beside(9), beside(5, pid=7)], "pid 7, 1,024 MiB, busy 5 %; pid 4242, 1,024 MiB, busy 9 %"),
        (
            [LOST_ONCE, ALONE, ALONE],  # alone a copy loses nothing, so one look is enough; the block is timed again
            (
                "its process is listed nowhere; copies of Layline's own kernel lost up to 40% of their time to it in 1 "
                "of 3 looks"
            ),
        ),
        (
            [LOST_ONCE, ALONE, LOST_ONCE],
            (
                "its process is listed nowhere; copies of Layline's own kernel lost up to 40% of their time to it in 2 "
                "of 3 looks"
            ),
        ),
        (
            [UNSEEN, UNSEEN],
            (
                "its process cannot be seen from here; copies of Layline's own kernel lost up to 50% of their time to it "
                "in 2 of 2 looks"
            ),
        ),
        ([Look(is_listed=False, lost=0.04)] * 9, ""),
    ],
)
def test_who_else_worked_is_named(looks: list[Look], expected: str) -> None:
    assert name_other_work(looks) == expected


def test_being_alone_is_told_by_what_showed_it() -> None:
    assert tell_alone([ALONE, LOST_ONCE]).startswith("The driver's list of processes shows no other work")
    assert tell_alone([Look(is_listed=False)]).startswith(
        "A copy of Layline's own kernel, timed again and again, shows no other work"
    )
    assert name_idle([ALONE, beside(0), beside(0)]) == (
        "held memory and computed nothing: pid 4242, 1,024 MiB, busy 0 %",
    )
