"""ANALYZE: what the machine allows and what the best kernel does on it, measured and written down for the brief."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.session.open import read_campaign, write_campaign
from layline.campaign.session.places import clock, quiet
from layline.campaign.trusted import TrustedBench, choose_shapes, to_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.campaign.rounds import Campaign
    from layline.executors import Executor


def campaign_analyze(
    chosen: str | None = None,
    *,
    now: Callable[[], str] = clock,
    progress: Callable[[str], None] = quiet,
    executor: Executor | None = None,
) -> None:
    """Measure ceilings and counters for the best kernel, unless that was done; a command's campaign has no operator to
    count by.
    """
    if not _is_due(read_campaign(chosen)):
        return
    with write_campaign(chosen, now=now, executor=executor) as campaign:
        if _is_due(campaign):
            progress("measuring the machine's ceilings")
            record_analysis(campaign)


def record_analysis(campaign: Campaign) -> None:
    """Write down the ceilings, and the counters of the best kernel on its dearest representative shape."""
    if not isinstance(campaign.bench, TrustedBench):
        return
    state, operator = campaign.state, campaign.bench.operator
    shapes = [shape for shape in choose_shapes(operator, state.manifest) if shape.label in state.representative]
    largest = max(shapes or operator.shapes, key=lambda shape: sum(step.flops(shape) for step in operator.passes))
    found = campaign.bench.analyze(to_snapshot(state.kernel(state.best.kernel)), largest)
    roof, counted = found.ceilings, found.counted
    missing = (*(() if roof else ("no ceilings: there is no C compiler",)), *counted.missing)
    campaign.record(
        "analyzed",
        best=state.best.number,
        flops_per_s=roof.flops_per_s if roof else None,
        bytes_per_s=roof.bytes_per_s if roof else None,
        shape=largest.label,
        counters=counted.counters,
        missing=list(missing),
    )


def _is_due(campaign: Campaign) -> bool:
    state = campaign.state
    if not isinstance(campaign.bench, TrustedBench) or state.baseline is None:
        return False
    return state.analysis is None or state.analysis.get("best") != state.best.number
