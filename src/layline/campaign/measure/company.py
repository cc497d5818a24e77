"""Other work on the device during a measuring run: looked for before, between requests and after; beside it nothing
counts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.measure.stage import Stage
from layline.campaign.values.company import Look, name_idle, name_other_work, tell_alone
from layline.campaign.values.measurement import GateResult

WAITS = 3
"""How often a run that finds others at work looks again before it begins."""
WAIT_S = 1.0
TIMED = frozenset(
    {"clocks-agree", "no-forbidden-state", "gain-in-the-mean", "gain-carries-over", "endures", "late-work"}
)
"""Properties that are told by times: others can make an honest kernel fail them."""


def look_at(stage: Stage) -> tuple[Look, ...]:
    """Who else is on the device now, where that matters."""
    look = stage.device.look_around()
    return () if look is None else (look,)


def refuse_company(others: str) -> None:
    """What was timed beside somebody else's work says nothing about a kernel."""
    if others:
        raise Disturbed(f"Not judged: other work on this GPU ({others}).")


def check_alone(stage: Stage) -> None:
    """Before anything is measured: others who are about to finish are waited for, a moment."""
    others = ""
    for at in range(WAITS):
        if at:
            time.sleep(WAIT_S)
        others = name_other_work([look for _ in range(2) for look in look_at(stage)])
        if not others:
            return
    refuse_company(others)


def find_spoiler(stage: Stage, fault: Fault) -> Disturbed | None:
    """Whether others work there now and what a kernel is accused of was told by times."""
    if fault.property not in TIMED:
        return None
    others = name_other_work([look for _ in range(2) for look in look_at(stage)])
    return Disturbed(f"Not judged: other work on this GPU ({others}).") if others else None


def judge_company(stage: Stage, looks: Sequence[Look]) -> tuple[GateResult, ...]:
    """The control over the whole run, a last look included; none where it does not matter."""
    last = look_at(stage)
    if not last:
        return ()
    refuse_company(name_other_work(last))
    seen = (*looks, *last)
    return (GateResult(property="alone", passed=True, reason=tell_alone(seen), evidence=name_idle(seen)),)
