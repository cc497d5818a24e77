"""Processes are stopped at any moment: by a busy machine, a debugger, a laptop that is closed. The answer is the same."""

from __future__ import annotations

from dataclasses import replace

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import find_large_shape, fit_shapes
from layline.campaign.values.operator import Pass, Shape

PAUSE_NS = 1_000_000_000
TRIES = 20
"""Until it is in the middle of a call."""


def show_pauses(on: Trial) -> Shown:
    """A pass drawn by chance, on something large, stopped once in the middle of a call."""
    stage, passes = on.stage, on.stage.operator.passes
    step = passes[int(stage.rng.integers(0, len(passes)))]
    large = find_large_shape(stage.operator.shapes[0], stage.rng)
    for shape in fit_shapes(stage.operator, (large,), stage.arena_bytes / 4):
        if _call_with_pause(on, step, shape):
            yield "keeps-contract", f"a call of {step.name} stopped for {PAUSE_NS / 1e9:.1f} s in the middle"


def _call_with_pause(on: Trial, step: Pass, shape: Shape) -> bool:
    worker, given = on.trial.worker, replace(draw(on.stage, shape, step=step), is_held_out=True)
    took = min(on.trial.run(step, given).wall_ns for _twice in range(2))  # the first call of a shape takes longer
    try:
        for _try in range(TRIES):
            worker.pause_ns = (int(took * (0.1 + 0.5 * on.stage.rng.random())), PAUSE_NS)
            on.trial.run(step, given)
            if worker.was_paused:
                return True
    except Fault as fault:
        told = f"Stopped for {PAUSE_NS / 1e9:.1f} s in the middle of a call: {fault.reason}"
        raise Fault("keeps-contract", told, *fault.evidence) from None
    finally:
        worker.pause_ns = ()
    return False
