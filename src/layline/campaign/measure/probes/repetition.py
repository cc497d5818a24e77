"""The same inputs again: outputs may differ by rounding (another order of summation), not by more."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.inputs import draw, repeat
from layline.campaign.measure.oracle import ERROR_FLOOR
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import fit_shapes
from layline.campaign.measure.stage import ACCOUNT, Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Pass, Shape

REPEATS = 12
LARGE_FLOPS = 4e7


def show_repetition(on: Trial) -> Shown:
    """On every core there is, because threads that take turns on one core hardly ever race; a kernel that uses threads
    is also tried on something large, where they meet for longer.
    """
    stage, passes = on.stage, on.stage.operator.passes
    has_cores = ACCOUNT in stage.device.gives
    with on.trial.worker.on_every_core() if has_cores else nullcontext():
        for shape in stage.shapes if stage.device.pace.whole else stage.by_work[:1]:
            for step in passes:
                _repeat(on, shape, step)
        if has_cores and on.trial.worker.uses_threads():
            largest = _enlarge(stage, stage.by_work[-1])
            for step in passes:
                _repeat(on, largest, step)
    yield "repeatable", f"the same calls made {REPEATS} times{', on every core there is' if has_cores else ''}"


def _enlarge(stage: Stage, shape: Shape) -> Shape:
    """Every extent doubled as long as a call stays cheap and fits the memory well; the number of groups stays."""
    passes, label = stage.operator.passes, f"{shape.label}~large"
    while True:
        sizes = tuple((name, value if name == "G" else 2 * value) for name, value in shape.sizes)
        wider = replace(shape, label=label, sizes=sizes, groups=tuple(2 * rows for rows in shape.groups))
        fitted = next(fit_shapes(stage.operator, (wider,)), None)
        if fitted is None or fitted.sizes == shape.sizes:
            return shape
        wider = fitted
        if passes[0].flops(wider) > LARGE_FLOPS or 8 * stage.operator.count_bytes(wider) > stage.arena_bytes:
            return shape
        shape = wider


def _repeat(on: Trial, shape: Shape, step: Pass) -> None:
    values = on.stage.device.values
    given = repeat(draw(on.stage, shape, step=step))
    runs = [on.trial.run(step, given, keeps=True) for _ in range(REPEATS)]
    allowed = 32 * max(ERROR_FLOOR, *(error.rms for run in runs for error in run.weigh()))
    for name in (one for one in step.outputs if one not in on.stage.operator.free):
        first = runs[0].outputs[0][name]
        if not values.count(first):
            continue
        spread = max(values.find_distance(run.outputs[0][name], first) for run in runs[1:])
        if not spread <= allowed:
            raise Fault(
                "repeatable",
                f"{step.symbol} on {describe_shape(shape)} gives different {name} for the same inputs, by more "
                "than rounding.",
                f"spread {spread:.1e} of the output's size, rounding explains {allowed:.1e}",
            )
