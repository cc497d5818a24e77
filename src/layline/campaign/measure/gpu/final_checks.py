"""Gates that need the whole run on an accelerator: does the gain reach held-out shapes, is the time physically
possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from layline.campaign.devices.gpu_roof import DeviceCeilings, choose_rate, measure_ceilings
from layline.campaign.measure.final_checks import ON_EVERY_CALL, Shown, check_carry, check_state, claim, describe_calls
from layline.campaign.operators.tensors import find_device
from layline.campaign.values.model import GateResult, Leg, Measurement

if TYPE_CHECKING:
    from layline.campaign.measure.gpu.own_code import Seen
    from layline.campaign.measure.pair import PairRun
    from layline.campaign.measure.run import Request

HEADROOM = 1.35
"""How far above torch's own large operations a kernel may be before the time is called impossible."""


def close_gates(
    measurement: Measurement, request: Request, pairs: Sequence[PairRun], shown: Shown, code: Sequence[Seen] = ()
) -> Iterator[GateResult]:
    """Every property with its result; those checked call by call have passed if we got here."""
    calls = describe_calls(measurement)
    yield from claim({**dict.fromkeys((*ON_EVERY_CALL, "late-write", "clocks-agree"), calls), **shown})
    if any(seen.own is not None for seen in code):
        yield _tell_code(code)
    yield _check_physics(measurement, request, measure_ceilings(find_device()))
    if measurement.candidate is None:
        return
    if pairs and pairs[0].held_out:
        yield check_carry(measurement, pairs)
    yield check_state(measurement)


def _tell_code(code: Sequence[Seen]) -> GateResult:
    told = [
        f"{seen.step}: {seen.own:.1%} of the device time in the kernel's own functions"
        for seen in code
        if seen.own is not None
    ]
    return GateResult(
        property="own-code",
        passed=True,
        reason="Only code built from the kernel's sources did the work, by the profiler's names; fills and copies "
        "aside.",
        evidence=tuple(told),
    )


def _check_physics(measurement: Measurement, request: Request, ceilings: DeviceCeilings) -> GateResult:
    """No time below what the bytes and the arithmetic need at the rates torch reaches here, with headroom."""
    by_label = {shape.label: shape for shape in request.shapes}
    steps = {step.name: step for step in request.operator.passes}
    leg = Leg.CANDIDATE if measurement.candidate is not None else Leg.BEST
    rate = HEADROOM * choose_rate(request.operator, ceilings)
    for sample in measurement.samples:
        if sample.leg is not leg or sample.shape not in by_label or not rate:
            continue
        step, shape = steps[sample.step], by_label[sample.shape]
        floor = max(step.flops(shape) / rate, step.bytes_moved(shape) / (HEADROOM * ceilings.copy_bytes_per_s)) * 1e3
        if sample.wall.low < floor:
            return GateResult(
                property="physically-possible",
                passed=False,
                reason=f"{sample.step} on {sample.shape} took {sample.wall.low:.4f} ms; bytes and arithmetic need "
                f"{floor:.4f} ms.",
            )
    told = (
        f"copy {ceilings.copy_bytes_per_s / 1e12:.2f} TB/s, bf16 {ceilings.bf16_flops_per_s / 1e12:.0f} TFLOPS, "
        f"fp8 {ceilings.fp8_flops_per_s / 1e12:.0f} TFLOPS"
    )
    return GateResult(
        property="physically-possible",
        passed=True,
        reason="No time is below what bytes and arithmetic need.",
        evidence=(f"measured in this run with torch: {told}",),
    )
