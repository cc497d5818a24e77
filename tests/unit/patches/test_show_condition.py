"""A condition becomes text in one place: brackets, what is asked elsewhere, what the source says instead."""

from __future__ import annotations

import pytest

from layline.core.condition import ALWAYS, NEVER, Condition, ConditionKind, keep_callers, need_version, say, tell
from layline.core.evidence import Location
from layline.core.patch import Effect, Guard, Style
from layline.patches.guards.show import show_condition, show_guard, show_short

ALL, ANY, NOT = ConditionKind.ALL, ConditionKind.ANY, ConditionKind.NOT
A, B, C = say("a"), say("b == 1"), say("c")


def join(kind: ConditionKind, *parts: Condition, text: str = "") -> Condition:
    return Condition(kind=kind, text=text, parts=parts)


SHOWN = [
    (ALWAYS, ""),
    (NEVER, "never"),
    (A, "a"),
    (need_version("keel", ">=", "2"), "keel >= 2"),
    (join(ALL, A, B), "a and b == 1"),
    (join(ALL, A, join(ALL, A, B)), "a and b == 1"),
    (join(ConditionKind.CALLER, A, join(ALL, A, C), text="go"), "in the caller go: a and c"),
    (join(ANY, join(ALL, A, B), C), "(a and b == 1) or c"),
    (join(ALL, join(ANY, A, B), C), "(a or b == 1) and c"),
    (join(NOT, join(ALL, A, B)), "not (a and b == 1)"),
    (join(ALL, join(ANY, A, B), join(ConditionKind.HELPER, C, text="put")), "a or b == 1; and in put: c"),
    (join(ConditionKind.CALLER, A, text="go"), "in the caller go: a"),
    (join(ConditionKind.ANY, A, A), "a"),
    (join(ALL, B, join(ConditionKind.ANY, A, A)), "b == 1 and a"),
    (join(ConditionKind.IMPORTER, A, text="own"), "at its import in own: a"),
    (join(ConditionKind.OPTIONS, text="level=2"), "registered with level=2"),
    (join(ConditionKind.SITE, text="where go runs"), "where go runs"),
    (
        join(ConditionKind.SITE, join(ANY, A, C), text="where go is called, x.py:2"),
        "(a or c) (where go is called, x.py:2)",
    ),
    (tell(A, B), "b == 1"),
    (tell(None, ALWAYS), ""),
]


@pytest.mark.parametrize(("condition", "text"), SHOWN, ids=[text or "nothing" for _, text in SHOWN])
def test_a_condition_is_shown(condition: Condition | None, text: str) -> None:
    assert show_condition(condition) == text


def test_a_guard_that_asks_nothing_is_always_on() -> None:
    assert show_guard(Guard()) == "always"


CALLED_BY_GO, CALLED_BY_RUN = (join(ConditionKind.CALLER, part, text=who) for part, who in ((A, "go"), (C, "run")))
KEPT = [
    # (what one way to a line asks, what is left where only `run` decides)
    (CALLED_BY_GO, ""),
    (join(ALL, B, CALLED_BY_GO), "b == 1"),
    (tell(A, join(ALL, B, CALLED_BY_GO, CALLED_BY_RUN)), "b == 1; and in the caller run: c"),
    (join(ALL, A, join(ConditionKind.HELPER, C, text="put")), "a; and in put: c"),
    (None, ""),
]


@pytest.mark.parametrize(("asked", "text"), KEPT, ids=[text or "nothing" for _, text in KEPT])
def test_what_a_caller_asks_that_does_not_count_is_not_told(asked: Condition | None, text: str) -> None:
    assert show_condition(keep_callers(asked, lambda part: part == CALLED_BY_RUN)) == text


def _name(number: int) -> Condition:
    return Condition(kind=ConditionKind.OPAQUE, text=f"check_number_{number}()")


def _all(*parts: Condition) -> Condition:
    return Condition(kind=ConditionKind.ALL, parts=parts)


FIVE = tuple(map(_name, range(5)))
SHORT = [
    # a condition, and what of it is shown in 50 characters
    (_all(*FIVE), "check_number_3() and check_number_4() and 3 more conditions"),
    (
        Condition(kind=ConditionKind.SITE, text="not at the pin", parts=FIVE),
        "check_number_3() and check_number_4() and 3 more conditions (not at the pin)",
    ),
    (
        _all(FIVE[0], Condition(kind=ConditionKind.CALLERS, text="11", parts=FIVE)),
        "check_number_0(); and one of its 11 callers runs (each has conditions of its own)",
    ),
    (
        Condition(kind=ConditionKind.CALLERS, text="2", wanted="a caller outside the project", parts=FIVE),
        "one of its 2 callers runs (each has conditions of its own), or a caller outside the project",
    ),
    (
        Condition(kind=ConditionKind.HELPER, text="put", parts=FIVE),
        "in put: check_number_4() and 4 more conditions",
    ),
    (
        Condition(kind=ConditionKind.CALLER, text="go", parts=FIVE),
        "in the caller go: check_number_4() and 4 more conditions",
    ),
    (Condition(kind=ConditionKind.OPAQUE, text="one " * 30), "one one one one one one one one one one one one …"),
]


def test_one_call_whose_condition_is_too_long_is_told_as_one() -> None:
    one = Condition(kind=ConditionKind.CALLERS, text="1")
    assert show_condition(one) == "under the condition of the one call that leads here"


@pytest.mark.parametrize(("condition", "expected"), SHORT)
def test_a_long_condition_is_shortened_by_whole_tests(condition: Condition, expected: str) -> None:
    effect = Effect(style=Style.BINDING_REPLACEMENT, target="up.f", location=Location("a.py", 1), when=condition)
    assert show_short(effect, None, 50) == (expected, False)
