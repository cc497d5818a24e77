"""What several findings make together, and how reasons read."""

from __future__ import annotations

import pytest

from layline.core import drift
from layline.core.drift import DriftKind
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding, name_kind, weigh
from layline.core.why import Reason, Why, say, say_all

BREAKS, LOOK, OK = Severity.BREAKS, Severity.LOOK, Severity.OK


def found(severity: Severity, kind: DriftKind | None = None, *, is_limit: bool = False) -> Finding:
    return Finding(severity=severity, kind=kind, is_limit=is_limit, why=Why(Reason.KIND_ALONE))


WEIGHED = [
    ("nothing said", [], OK),
    ("the worst counts", [found(OK), found(BREAKS), found(LOOK)], BREAKS),
    ("a limit holds whatever is said", [found(BREAKS), found(LOOK, is_limit=True)], LOOK),
    ("wherever it stands", [found(LOOK, is_limit=True), found(BREAKS)], LOOK),
    ("a limit is a claim too", [found(OK), found(LOOK, is_limit=True)], LOOK),
    ("the lowest limit counts", [found(BREAKS), found(LOOK, is_limit=True), found(OK, is_limit=True)], OK),
]


@pytest.mark.parametrize(("shows", "findings", "expected"), WEIGHED, ids=[row[0] for row in WEIGHED])
def test_severity_follows_from_the_findings(shows: str, findings: list[Finding], expected: Severity) -> None:
    assert weigh(findings) is expected


KINDS = [
    ([], DriftKind.UNCHANGED),
    ([DriftKind.UNCHANGED, None, DriftKind.SIGNATURE_CHANGED], DriftKind.SIGNATURE_CHANGED),
    ([DriftKind.DEAD_AT_PIN, DriftKind.REMOVED], DriftKind.DEAD_AT_PIN),
    ([DriftKind.ANCHOR_LOST, DriftKind.BODY_CHANGED], DriftKind.ANCHOR_LOST),
    ([DriftKind.MOVED, None], DriftKind.MOVED),
]


@pytest.mark.parametrize(("kinds", "expected"), KINDS)
def test_kind_is_the_one_that_tells_most(kinds: list[DriftKind | None], expected: DriftKind) -> None:
    assert name_kind([found(OK, kind) for kind in kinds]) is expected


PART = Why(Reason.NEEDS_EXTRA, "keep")
SAID = [
    (Why(Reason.KIND_ALONE), ""),
    (Why(Reason.USES_GONE, "a.b", "c.d"), "uses a.b, which is gone (c.d now)"),
    (Why(Reason.USES_GONE, "a.b"), "uses a.b, which is gone"),
    (
        Why(Reason.MISREADS, parts=(PART,) * 5),
        "our replacement needs keep, keep, keep, keep and keep, which upstream does not pass",
    ),
    (
        Why(Reason.MISFITS_PASSED, parts=(PART,), places=(Location("k.py", 3), Location("k.py", 9))),
        "our replacement needs keep, which upstream does not pass; upstream passes that at k.py:3, k.py:9",
    ),
    (Why(Reason.SIGNATURE, names=tuple("abcdefg")), "a; b; c; d; e; f; …"),
    (Why(Reason.RETURN_COUNT, counts=(2, 3)), "it returned 2 values and returns 3 now"),
]


@pytest.mark.parametrize(("why", "text"), SAID, ids=[row[0].reason.code for row in SAID])
def test_a_reason_is_said_from_its_fields(why: Why, text: str) -> None:
    assert say(why) == text


def test_reasons_are_joined_and_empty_ones_left_out() -> None:
    assert say_all([Why(Reason.GONE), Why(Reason.KIND_ALONE), Why(Reason.NEW_SINCE)]) == (
        "it is gone; upstream added it after the commit compared from"
    )


def test_every_reason_can_be_said() -> None:
    full = {"name": "n", "other": "o", "text": "t", "names": ("x",), "places": (Location("p", 1),), "counts": (1, 2)}
    for reason in Reason:
        said = say(Why(reason, parts=(PART,), **full))  # type: ignore[arg-type]
        assert "{" not in said


def test_every_kind_has_its_row() -> None:
    assert set(drift.KINDS) == set(DriftKind)
    assert len({facts.rule[0] for facts in drift.KINDS.values()}) == len(drift.KINDS)
    assert all("{target}" in facts.message for facts in drift.KINDS.values())


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (
            [
                Why(Reason.READS_LOST, "a", "up.M"),
                Why(Reason.READS_LOST, "b", "up.M"),
                Why(Reason.READS_LOST, "c", "up.N"),
            ],
            "reads a and b, which up.M does not have at the tip, and reads c, which up.N does not have at the tip",
        ),
        (
            [Why(Reason.REFUSES, text="a=1"), Why(Reason.NEEDS_EXTRA, "x"), Why(Reason.REFUSES, text="b=2")],
            "does not take a=1 and b=2, and needs x, which upstream does not pass",
        ),
        (
            [Why(Reason.REFUSES_KEYWORD, "a"), Why(Reason.NOT_PASSED, "x"), Why(Reason.REFUSES_KEYWORD, "b")],
            "does not take the keywords a and b, and needs x, which is not passed",
        ),
        ([Why(Reason.NOT_PASSED, "x"), Why(Reason.NOT_PASSED, "y")], "needs x and y, which are not passed"),
        (
            [
                Why(Reason.LANDS_IN_ANOTHER, "a", "b", counts=(2,)),
                Why(Reason.LANDS_IN_ANOTHER, "b", "c", counts=(3,)),
            ],
            "takes positional arguments 2 and 3 of our call as b and c (at the pin: as a and b)",
        ),
        (
            [Why(Reason.SWAPPED, "a", "b"), Why(Reason.SWAPPED, "b", "a")],
            "has a at the position where upstream has b, and has b",
        ),
    ],
)
def test_parts_that_differ_in_a_name_alone_are_told_together(parts: list[Why], told: str) -> None:
    assert say(Why(Reason.MISFITS, parts=tuple(parts))).startswith(f"our replacement {told}")
