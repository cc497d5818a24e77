"""What to do about a gap: a pure decision over printed inputs, by the first rule that fires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Label(StrEnum):
    """Recommendation labels, calmest first."""

    MONITOR = "monitor"
    PLAN = "plan sync"
    URGENT = "urgent sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Thresholds, `[policy]` in layline.toml; 0 switches a rule off."""

    plan_behind: int = 50
    """Plan a sync from this many commits behind, if something breaks or was not measured."""
    plan_age_days: int = 60
    """Plan a sync from this many days between pin and tip, even if nothing breaks."""
    plan_breaks: int = 1
    """Plan a sync from this many places of ours to edit; those that only wait for another edit do not count."""
    urgent_behind: int = 2000
    """Urgent from this many commits behind, if something breaks or was not measured."""
    urgent_age_days: int = 180
    """Urgent from this many days, under the same condition."""
    urgent_breaks: int = 50
    """Urgent from this many places of ours to edit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What the decision is made from; None means it was not measured."""

    behind: int | None
    age_days: int | None
    """Days from the pin's commit to the tip's."""
    will_break: int | None = None
    """Couplings or patches that no longer fit at the tip."""
    to_fix: int | None = None
    """How many of these places have to be edited: what only waits behind a line that fails is mended with it. None:
    all of them."""
    dependency_floor: str | None = None
    """A requirement of the tip that the downstream does not meet, such as `torch>=2.9`."""
    pin_moved: bool = False
    """A new pin landed in the window looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A label with the rule that fired; `str()` is what a record says."""

    label: Label
    rule: str
    inputs: Inputs

    def __str__(self) -> str:
        if self.inputs.behind is None:
            return f"{self.label} (not measured)"
        return f"{self.label} (new pin landed)" if self.inputs.pin_moved and self.label is Label.MONITOR else self.label


def recommend(inputs: Inputs, policy: Policy | None = None) -> Recommendation:
    """The label for a gap, with the reason."""
    label, rule = next(_fire(inputs, policy or Policy()))
    return Recommendation(label=label, rule=rule, inputs=inputs)


def _fire(inputs: Inputs, policy: Policy) -> Iterator[tuple[Label, str]]:
    if inputs.behind is None:
        yield Label.MONITOR, "the distance to the tip was not measured"
        return
    if inputs.behind == 0:
        yield Label.MONITOR, "the pin has everything that the tip has"
        return
    days, commits = (
        "day lies between pin and tip|days lie between pin and tip",
        "commit is missing|commits are missing",
    )
    fixes, breaks = _count_fixes(inputs)
    limits = (
        (Label.URGENT, "urgent_breaks", breaks, fixes),
        (Label.URGENT, "urgent_age_days", days, inputs.age_days),
        (Label.URGENT, "urgent_behind", commits, inputs.behind),
        (Label.PLAN, "plan_breaks", breaks, fixes),
        (Label.PLAN, "plan_age_days", days, inputs.age_days),
        (Label.PLAN, "plan_behind", commits, inputs.behind),
    )
    for label, setting, what, value in limits:
        limit = getattr(policy, setting)
        calm = label is Label.URGENT or setting == "plan_behind"
        if calm and inputs.will_break == 0:
            continue  # an old pin that everything of ours would still fit can wait; commits alone cost us nothing
        if limit and value is not None and value >= limit:
            one, many = what.split("|")
            done = "is urgent" if label is Label.URGENT else "is planned"
            told = one if value == 1 else many
            yield label, f"{value} {told}; a sync {done} from {limit} on ({setting} in layline.toml)"
    if inputs.dependency_floor is not None:
        yield Label.PLAN, f"the tip needs {inputs.dependency_floor}"
    yield Label.MONITOR, _say_calm(inputs, policy)


def _say_calm(inputs: Inputs, policy: Policy) -> str:
    if inputs.will_break != 0:
        return "no threshold is reached"
    days = f"; a sync is planned from {policy.plan_age_days} days on (plan_age_days in layline.toml)"
    return f"nothing of ours breaks{days if policy.plan_age_days and inputs.age_days is not None else ''}"


def _count_fixes(inputs: Inputs) -> tuple[int | None, str]:
    """The places that count, and what is said of them, for one and for several."""
    if inputs.to_fix is None or inputs.to_fix >= (inputs.will_break or 0):
        return inputs.will_break, "place breaks|places break"
    some = f"of the {inputs.will_break} places that break"
    return inputs.to_fix, f"{some} needs an edit|{some} need an edit"
