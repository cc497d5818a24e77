"""Many small shapes: every pair of remainders that common tiles leave, in every two extents."""

from __future__ import annotations

from dataclasses import replace

from layline.campaign.measure.inputs import draw
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import fit_shapes, spread_residues
from layline.campaign.values.operator import Shape

TINY = 8


def show_residues(on: Trial) -> Shown:
    """A path for what is left at an edge is met by one shape in many: all of them are small, and cost next to nothing."""
    stage, operator = on.stage, on.stage.operator
    made = 0
    for shape in fit_shapes(operator, spread_residues(operator, stage.rng), stage.arena_bytes / 4):
        given = replace(draw(stage, shape, _choose(on, shape)), is_held_out=True)
        for step in operator.passes:
            on.trial.run(step, given)
        made += 1
    yield "held-out-shape", f"{made} small shapes, of every remainder by 16 in every two extents"


def _choose(on: Trial, shape: Shape) -> str:
    """Sums over few cancel, and rounding alone can spoil a row: exact values where the operator has them."""
    del shape
    return on.stage.operator.exact or on.stage.operator.distributions[0]
