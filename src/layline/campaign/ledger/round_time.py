"""How long a round takes, from the runs so far: what a run with a budget must keep in reserve. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.campaign.ledger.state import State
    from layline.campaign.values.measurement import Measurement

SLACK = 1.25
"""Bookkeeping, compilers that are slower this time, neighbours on the machine."""


def estimate_round(state: State) -> float:
    """Seconds of the shortest round that can end in a verdict: controls, gates and the pairs of the first look."""
    runs = [(item.number, run) for item in state.rounds for run in item.runs if run.measurement.seconds]
    if not runs:
        return 0.0
    number, run = runs[-1]
    if number > 1 and run.measurement.pairs:
        return SLACK * _to_first_look(run.measurement)
    share = len(state.representative) / max(1, len(run.measurement.shapes)) if state.representative else 1.0
    return SLACK * 2 * share * sum(spent for _what, spent in run.measurement.seconds)  # a round has two legs


def _to_first_look(measurement: Measurement) -> float:
    spent = dict(measurement.seconds)
    timing = spent.pop("timing", 0.0)
    return sum(spent.values()) + timing * measurement.plan.looks[0] / measurement.pairs
