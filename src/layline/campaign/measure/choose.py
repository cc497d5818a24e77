"""Which device an operator's kernels run on, and the stage that is set there for a measuring run."""

from __future__ import annotations

from pathlib import Path

from layline.campaign.measure.accelerator import Accelerator
from layline.campaign.measure.processor import Processor
from layline.campaign.measure.stage import Device, Stage
from layline.campaign.operators.tensors import find_device
from layline.campaign.values.measurement import Plan
from layline.campaign.values.operator import Operator, Shape


def choose_device(operator: Operator) -> Device:
    """An accelerator for Triton and torch, the processor for everything else."""
    if operator.is_on_device:
        return Accelerator(operator, find_device())
    return Processor(operator.language)


def set_stage(operator: Operator, shapes: tuple[Shape, ...], plan: Plan, shop: Path, seed: bytes) -> Stage:
    """Operator, device, memory and chance of one measuring run."""
    device = choose_device(operator)
    device.check()
    import numpy as np

    rng = np.random.default_rng(int.from_bytes(seed, "big"))
    size = device.find_arena_bytes(operator, shapes)
    return Stage(operator=operator, shapes=shapes, plan=plan, shop=shop, device=device, rng=rng, arena_bytes=size)
