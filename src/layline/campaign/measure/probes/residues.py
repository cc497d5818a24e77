"""Many small shapes: every pair of remainders that common tiles leave, in every two extents."""

from __future__ import annotations

from layline.campaign.measure.probes.against_start import run_held_out
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import fit_shapes, spread_residues


def show_residues(on: Trial) -> Shown:
    """A path for what is left at an edge is met by one shape in many: all of them are small, and cost next to nothing."""
    stage, operator = on.stage, on.stage.operator
    made = 0
    for shape in fit_shapes(operator, spread_residues(operator, stage.rng), stage.arena_bytes / 4):
        # sums over few cancel, and rounding alone can spoil a row: exact values where the operator has them
        run_held_out(on, shape, operator.exact or operator.distributions[0])
        made += 1
    yield "held-out-shape", f"{made} small shapes, with every remainder by 16 in every pair of extents"
