"""`campaign explain ROUND`: measure a round's candidate again and show every property with its evidence."""

from __future__ import annotations

from collections.abc import Callable

from layline.campaign.bench import Trial
from layline.campaign.session.open import read_campaign
from layline.campaign.session.places import quiet
from layline.campaign.told.explain import build_explained
from layline.core.report import Answer
from layline.errors import BenchError


def campaign_explain(number: int, chosen: str | None = None, *, progress: Callable[[str], None] = quiet) -> Answer:
    """Say why round NUMBER ended as it did, by measuring its candidate once more; nothing is recorded."""
    campaign = read_campaign(chosen, progress)
    state = campaign.state
    item = state.round(number)
    if item.number == 1:
        raise BenchError("Round 1 is the baseline: there is no candidate to explain.")
    run = item.last_run
    labels = run.measurement.shapes if run else state.representative
    trial = Trial(
        best=state.kernel(state.round(item.best).kernel),
        candidate=state.kernel(item.kernel),
        start=state.kernel(state.rounds[0].kernel),
        labels=labels,
        alpha=run.measurement.plan.alpha if run else 0.01,
    )
    with campaign.ledger.lock():  # a second measurement beside it would disturb both
        measurement = campaign.bench.measure(trial).measurement
    return build_explained(item, measurement, campaign.bench.judge(measurement, item.bucket), campaign.place)
