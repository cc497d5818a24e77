"""Pictures of a campaign: trend with intervals, rounds × shapes, roofline; SVG, from the ledger alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.values.measurement import Outcome
from layline.render.charts import Interval, Kernel, heat_map, interval_trend, roofline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign.ledger.state import Round, State

TONES = {
    Outcome.ACCEPT: "good",
    Outcome.ACCEPT_TRADEOFF: "plan",
    Outcome.ROLLBACK: "bad",
    Outcome.INCONCLUSIVE: "none",
}


def draw_pictures(state: State) -> Iterator[tuple[str, str, str]]:
    """File name, what it shows, and the drawing."""
    judged = [item for item in state.rounds if item.verdict is not None and item.verdict.interval is not None]
    if judged:
        title = "Gain of each round over the best of its time"
        yield (
            "trend.svg",
            title,
            interval_trend(tuple(_interval(item) for item in judged), title, unit="%", reference=0.0, gains=True),
        )
        title = "Gain by round and shape, in per cent"
        yield "shapes.svg", title, _draw_heat(judged, title)
    if state.ceilings is not None:
        flops, moved, points = state.ceilings
        kernels = tuple(Kernel(label=label, intensity=intensity, rate=rate / 1e9) for label, intensity, rate in points)
        where = "one core" if state.ceiling_of == "One core" else "the accelerator"
        title = f"Roofline, ceilings measured on {where} (GFLOP/s over FLOP per byte)"
        yield "roofline.svg", title, roofline(kernels, title, peak=flops / 1e9, bandwidth=moved / 1e9, unit="GFLOP/s")


def _interval(item: Round) -> Interval:
    verdict = item.verdict
    assert verdict is not None  # noqa: S101  the caller chose judged rounds
    assert verdict.interval is not None  # noqa: S101
    bounds = verdict.interval
    tone = TONES[verdict.outcome]
    return Interval(
        label=str(item.number), value=100 * bounds.estimate, low=100 * bounds.lower, high=100 * bounds.upper, tone=tone
    )


def _draw_heat(judged: list[Round], title: str) -> str:
    shapes = tuple(dict.fromkeys(gain.shape for item in judged if item.verdict for gain in item.verdict.shapes))
    rows = tuple(f"round {item.number}" for item in judged)
    values = []
    for item in judged:
        found = {gain.shape: 100 * gain.gain.estimate for gain in item.verdict.shapes} if item.verdict else {}
        values.append(tuple(found.get(shape) for shape in shapes))
    return heat_map(rows, shapes, tuple(values), title, middle=0.0)
