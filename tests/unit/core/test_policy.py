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
        (50, 59, 0, None, "plan sync"),
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
        == "204 days lie between pin and tip; from 180 on a sync is urgent (urgent_age_days in layline.toml)"
    )


def test_zero_switches_a_rule_off() -> None:
    inputs = Inputs(behind=610, age_days=204)
    assert str(recommend(inputs, Policy(urgent_age_days=0))) == "plan sync"


def test_a_new_pin_is_told_beside_the_calm_label() -> None:
    assert str(recommend(Inputs(behind=3, age_days=3, pin_moved=True))) == "monitor (new pin landed)"
