"""Check the start of an operator: it is right everywhere, and kernels made wrong from it are refused."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.build import NotBuilt, build_kernel, workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.crew import open_arm
from layline.campaign.measure.inputs import draw, nudge
from layline.campaign.measure.probes.inputs import show_far, show_held_out, show_inputs, show_walk
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.values.measurement import Arm, Plan
from layline.core.prose import verb

if TYPE_CHECKING:
    from layline.campaign.measure.arm import LiveArm
    from layline.campaign.measure.stage import Stage
    from layline.campaign.values.operator import Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    passed: bool
    told: str
    hint: str = ""
    """What to do about it; where nothing is wrong, nothing."""


def check_start(stage: Stage) -> Iterator[Finding]:
    """The start is right everywhere; kernels made wrong from it are refused."""
    operator = stage.operator
    if not operator.starts:
        yield Finding(
            what="start",
            passed=True,
            told="there is no starting kernel, so no kernel was tried: put a naive one into `starts`",
        )
        return
    _try_everywhere(stage, operator.starts[0][1])
    refused = [_find_refusal(stage, text) for text in operator.mutants]
    passed = sum(one is None for one in refused)
    if passed:
        told = f"{passed} of {len(refused)} broken copies of the starting kernel {verb(passed, 'is')} not refused: the tolerance is too wide."
        yield Finding(what="start", passed=False, told=told)
        return
    listed = ", ".join(str(one) for one in refused)
    yield Finding(
        what="start",
        passed=True,
        told=f"{operator.starts[0][0]} passes; {len(refused)} broken copies of it are refused ({listed})",
    )


def find_fault(operator: Operator, text: str) -> Fault | None:
    """What is wrong with a kernel by itself, whatever it is compared with."""
    with workshop() as shop:
        try:
            _try_everywhere(set_stage(operator, operator.shapes, Plan(), shop, secrets.token_bytes(32)), text)
        except Fault as fault:
            return fault
    return None


def _try_everywhere(stage: Stage, text: str) -> None:
    with _open(stage, text, Arm.BEST) as arm:
        on = _describe_trial(stage, arm)
        for show in (show_inputs, show_held_out, show_far, show_walk):
            dict(show(on))


def _open(stage: Stage, text: str, arm: Arm) -> Any:
    built = build_kernel(wrap(stage.operator, text), stage.operator, stage.shop)
    if isinstance(built, NotBuilt):
        raise Fault("builds", f"The starting kernel does not compile: {built.reason}")
    return open_arm(stage, arm, built, cache=secrets.token_hex(4)).loaded()


def _describe_trial(stage: Stage, arm: LiveArm) -> Trial:
    def open_none(*_asked: object) -> LiveArm:
        raise Fault("survives", "no further process is needed here")

    return Trial(
        stage=stage,
        trial=arm,
        open_start=open_none,
        open_again=open_none,
        open_best=open_none,
        snapshot=wrap(stage.operator, ""),
    )


def _find_refusal(stage: Stage, text: str) -> str | None:
    """Why a wrong kernel is refused on the listed shapes; None where it is not."""
    try:
        with _open(stage, text, Arm.CANDIDATE) as arm:
            for shape in stage.by_work:
                given = draw(stage, shape)
                for step in stage.operator.passes:
                    arm.run(step, given)
                    arm.run(step, replace(nudge(stage, given), on_same_place=False))
    except Fault as fault:
        return fault.property
    return None
