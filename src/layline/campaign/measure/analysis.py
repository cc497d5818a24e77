"""What a machine allows at most and what a kernel does on it: ceilings and hardware counters, measured there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.campaign.devices.gpu_roof import choose_rate
from layline.campaign.devices.gpu_roof import measure_ceilings as measure_device_ceilings
from layline.campaign.devices.roof import Ceilings, measure_ceilings
from layline.campaign.measure.counters import measure_counters
from layline.campaign.operators.tensors import find_device
from layline.campaign.values.counted import Counted

if TYPE_CHECKING:
    from layline.campaign.values.operator import Operator, Shape, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Ceilings (None where there is no compiler to measure them with) and what was counted."""

    ceilings: Ceilings | None
    counted: Counted


def analyze(operator: Operator, kernel: Snapshot | None, shape: Shape) -> Analysis:
    """Of one core, or of the device the operator is for; without a kernel nothing is counted."""
    ceilings = find_ceilings(operator)
    return Analysis(ceilings=ceilings, counted=measure_counters(operator, kernel, shape) if kernel else Counted())


def find_ceilings(operator: Operator) -> Ceilings | None:
    if not operator.is_on_device:
        return measure_ceilings()
    found = measure_device_ceilings(find_device())
    return Ceilings(flops_per_s=choose_rate(operator, found), bytes_per_s=found.copy_bytes_per_s)
