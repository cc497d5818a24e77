"""Controls of a measuring run on an accelerator: empty call, a kernel known to be wrong, the best against itself."""

from __future__ import annotations

from dataclasses import dataclass

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.gpu.arm import GpuLeg
from layline.campaign.measure.gpu.pair import CONTROL_REQUESTS, GpuPair
from layline.campaign.measure.gpu.session import Stage, draw_given, live, plan_count, take_own
from layline.campaign.values.model import GateResult, Leg, Shape
from layline.campaign.values.statistics import quantile

TRIAL_SPIN = 1_000_000
"""Turns of the device's empty loop used to find out what one costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the instrument said of itself."""

    overhead_ms: float
    weaker: tuple[str, ...]
    versions: dict[str, str]
    known_wrong: GateResult


def check_instrument(stage: Stage) -> Seen:
    """An empty kernel for the cost of a request, a wrong one that must be refused; both workers start together."""
    operator = stage.operator
    empty = "".join(f"def {step.symbol}(*_): return None\n" for step in operator.passes)
    legs = [
        stage.open(Leg.BEST, take_own(stage, empty), "empty"),
        stage.open(Leg.AGAIN, take_own(stage, operator.wrong), "wrong"),
    ]
    with live(legs) as (nothing, wrong):
        nothing.worker.load()
        given = draw_given(stage, stage.shapes[0])
        times = [nothing.run(operator.passes[0], given, is_checked=False).wall_ns / 1e6 for _ in range(25)]
        wrong.worker.load()
        return Seen(
            overhead_ms=quantile(times[5:], 0.9),
            weaker=nothing.worker.weaker,
            versions=nothing.worker.versions,
            known_wrong=_try_wrong(stage, wrong),
        )


def _try_wrong(stage: Stage, leg: GpuLeg) -> GateResult:
    shape = min(stage.shapes, key=stage.operator.passes[0].flops)
    given = draw_given(stage, shape)
    try:
        for step in stage.operator.passes:
            leg.run(step, given)
    except Fault as fault:
        reason = f"A kernel known to be wrong was refused ({fault.property})."
        return GateResult(property="known-wrong", passed=True, reason=reason, evidence=(fault.reason,))
    return GateResult(property="known-wrong", passed=False, reason="A kernel known to be wrong was not refused.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCanary:
    """Where the controls run, and the loop turns that make each pass slower by the planned share."""

    shape: Shape
    spins: tuple[tuple[str, int], ...]
    count: int


def calibrate_canary(stage: Stage, best: GpuLeg) -> DeviceCanary:
    """Choose a shape of modest cost and find out what a turn of the device's empty loop costs."""
    operator = stage.operator
    ordered = sorted(stage.shapes, key=operator.passes[0].flops)
    shape = ordered[0]
    spins, total = [], 0.0
    for step in operator.passes:
        bare, loaded = [], []
        for _turn in range(4):
            given = draw_given(stage, shape)
            bare.append(best.run(step, given).cpu_ns)
            loaded.append(best.run(step, given, spin=TRIAL_SPIN).cpu_ns)
        per_turn = max(1e-3, (min(loaded) - min(bare)) / TRIAL_SPIN)
        spins.append((step.name, round(stage.plan.canary * min(bare) / per_turn)))
        total += min(bare)
    return DeviceCanary(shape=shape, spins=tuple(spins), count=plan_count(stage, shape, total / 1e6))


def run_controls(stage: Stage, legs: list[GpuLeg], canary: DeviceCanary, pair: GpuPair) -> None:
    """The best against itself, and against itself made slower, interleaved like any pair."""
    operator, spins = stage.operator, dict(canary.spins)
    label = f"control:{canary.shape.label}"
    for request in range(CONTROL_REQUESTS + 1):
        given = draw_given(stage, canary.shape, count=canary.count)
        for step in operator.passes:
            for index in stage.rng.permutation(len(legs)):
                leg = legs[int(index)]
                spin = canary.count * spins[step.name] if leg.leg is Leg.CANARY else 0
                ran = leg.run(step, given, spin=spin)
                if request:  # the first one warms up
                    pair.run.record(leg.leg, label, step.name, ran)
