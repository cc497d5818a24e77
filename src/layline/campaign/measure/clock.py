"""The clock that counts processor time: is it fine enough to time a call with."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.campaign.values.measurement import GateResult

if TYPE_CHECKING:
    from collections.abc import Callable

STEP_LIMIT_NS = 50_000
"""A fortieth of a request: coarser steps are noise of several per cent that no repetition shows as such."""
SPIN_S = 0.3


def measure_step(read: Callable[[], int] = time.process_time_ns, spin_s: float = SPIN_S) -> int | None:
    """The smallest step the clock was seen to make while this process did nothing but read it; None for none."""
    ends = time.monotonic() + spin_s
    smallest: int | None = None
    last = read()
    while time.monotonic() < ends and (smallest is None or smallest > STEP_LIMIT_NS):
        now = read()
        if now != last:
            smallest = now - last if smallest is None else min(smallest, now - last)
            last = now
    return smallest


def check_clock(step_ns: int | None) -> GateResult:
    """Some machines count processor time by ticks: what a call takes is then 0 or a whole tick, and means nothing."""
    if step_ns is None:
        seen = f"did not advance in {SPIN_S:.1f} s of work"
    elif step_ns > STEP_LIMIT_NS:
        seen = f"advances in steps of {step_ns / 1e6:.2f} ms"
    else:
        return GateResult(
            property="cpu-clock",
            passed=True,
            reason=f"The clock of processor time is fine enough (a step of {step_ns} ns was seen).",
        )
    return GateResult(
        property="cpu-clock",
        passed=False,
        reason=f"The clock of processor time {seen} on this machine: calls cannot be told apart by it. "
        "Measure on a machine whose kernel counts processor time exactly.",
    )


STOOD_SHARE = 0.02
"""Of the requests: more than this many that took no processor time, and the clock is said to be of no use."""


def tell_clock(control: GateResult, stood: int, requests: int) -> GateResult:
    """The control of the clock with what was seen of it during the run: which clock counted where it stood still."""
    if not stood:
        return replace(control, evidence=(*control.evidence, f"it advanced during each of {requests} requests"))
    told = (
        f"it stood still during {stood} of {requests} requests (time that a host takes from a virtual machine is "
        "subtracted from it); those were charged by the wall clock"
    )
    if stood <= STOOD_SHARE * requests:
        return replace(control, evidence=(*control.evidence, told))
    reason = f"The clock of processor time cannot be used now: {told}."
    return replace(control, passed=False, reason=reason)
