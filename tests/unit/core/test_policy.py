from __future__ import annotations

import pytest

from layline.core.policy import Inputs, Policy, recommend


@pytest.mark.parametrize(
    ("behind", "age_days", "will_break", "floor", "expected"),
    [
        (None, None, None, None, "monitor (not measured)"),
        (0, 400, 3, "torch>=2.9", "monitor"),
        (10, 20, None, None, "monitor"),
        (49, 59, 0, None, "monitor"),
        (50, 59, 0, None, "monitor"),
        (50, 59, None, None, "plan sync"),
        (10, 60, 0, None, "plan sync"),
        (10, 20, 1, None, "plan sync"),
        (10, 20, 0, "torch>=2.9", "plan sync"),
        (458, 62, None, None, "plan sync"),
        (610, 204, None, None, "urgent sync"),
        (2000, 10, None, None, "urgent sync"),
        (854, 182, 50, None, "urgent sync"),
        (854, 182, 49, None, "urgent sync"),
        (854, 179, 49, None, "plan sync"),
        (2000, 400, 0, None, "plan sync"),
    ],
)
def test_the_first_rule_that_fires_gives_the_label(
    behind: int | None, age_days: int | None, will_break: int | None, floor: str | None, expected: str
) -> None:
    inputs = Inputs(behind=behind, age_days=age_days, will_break=will_break, dependency_floor=floor)
    assert str(recommend(inputs)) == expected


def test_the_rule_names_value_and_threshold() -> None:
    inputs = Inputs(behind=610, age_days=204)
    assert (
        recommend(inputs).rule
        == "204 days lie between pin and tip; a sync is urgent from 180 on (urgent_age_days in layline.toml)"
    )


FIXES = [
    (123, None, "urgent sync", "123 places break; a sync is urgent from 50 on (urgent_breaks in layline.toml)"),
    (123, 123, "urgent sync", "123 places break; a sync is urgent from 50 on (urgent_breaks in layline.toml)"),
    (
        123,
        20,
        "plan sync",
        ("20 of the 123 places that break need an edit; a sync is planned from 1 on (plan_breaks in layline.toml)"),
    ),
    (
        60,
        1,
        "plan sync",
        ("1 of the 60 places that break needs an edit; a sync is planned from 1 on (plan_breaks in layline.toml)"),
    ),
]


@pytest.mark.parametrize(("will_break", "to_fix", "label", "rule"), FIXES)
def test_places_that_only_wait_behind_others_make_no_sync_urgent(
    will_break: int, to_fix: int | None, label: str, rule: str
) -> None:
    found = recommend(Inputs(behind=10, age_days=20, will_break=will_break, to_fix=to_fix))
    assert (str(found), found.rule) == (label, rule)


def test_commits_alone_plan_no_sync_where_nothing_breaks() -> None:
    """120 commits of two days, on a busy upstream: somebody looked, and nothing of ours breaks."""
    found = recommend(Inputs(behind=120, age_days=2, will_break=0))
    said = "nothing of ours breaks; a sync is planned from 60 days on (plan_age_days in layline.toml)"
    assert (str(found), found.rule) == ("monitor", said)


def test_zero_switches_a_rule_off() -> None:
    inputs = Inputs(behind=610, age_days=204)
    assert str(recommend(inputs, Policy(urgent_age_days=0))) == "plan sync"


def test_a_new_pin_is_told_beside_the_calm_label() -> None:
    assert str(recommend(Inputs(behind=3, age_days=3, pin_moved=True))) == "monitor (new pin landed)"
