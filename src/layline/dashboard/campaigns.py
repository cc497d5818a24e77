"""A campaign's data file (`campaign status` or `campaign report`, as JSON) as its page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from layline.render.charts import Interval, heat_map, interval_trend

SCHEMAS = ("layline.campaign/1", "layline.campaign-report/1")
MOST_DRAWN = 40
"""Rounds a drawing shows, the newest; all of them stand below it."""
MOST_DIFF = 20_000
_TONES = {"ACCEPTED": "good", "BASELINE": "none", "ROLLED BACK": "bad"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """One round: what was tried, what was measured, what became of it."""

    number: int
    status: str
    tone: str
    hypothesis: str
    change: str
    facts: tuple[tuple[str, str], ...]
    gain: tuple[float, float, float] | None
    """Estimate, lower and upper bound in percent."""
    reason: str
    literal: str
    """What the specification's literal rule says, where it disagrees."""
    shapes: tuple[tuple[str, float], ...]
    """Shape and gain in percent."""
    diff: str

    @property
    def gain_words(self) -> str:
        if self.gain is None:
            return "no measurement" if self.status != "BASELINE" else "the baseline"
        estimate, low, high = self.gain
        return f"{estimate:+.2f} % ({low:+.2f} to {high:+.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignView:
    name: str
    phase: str
    best: str
    ledger: str
    rounds: tuple[RoundView, ...]
    duties: tuple[str, ...]
    headline: str

    @property
    def shapes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for item in self.measured for name, _ in item.shapes))[:MOST_DRAWN]

    @property
    def measured(self) -> tuple[RoundView, ...]:
        return tuple(item for item in self.rounds if item.gain is not None)[-MOST_DRAWN:]


def view_campaign(plain: Mapping[str, Any]) -> CampaignView:
    """Lenient in what it shows: a field that is missing is blank, never an error."""
    rounds = tuple(_view_round(item) for item in _objects(plain.get("rounds")))
    best = plain.get("best")
    return CampaignView(
        name=_text(plain.get("name")) or "unnamed",
        phase=_text(plain.get("phase")).replace("_", " ").lower(),
        best=_tell_best(best, rounds),
        ledger=_text(plain.get("ledger")),
        rounds=rounds,
        duties=tuple(_text(item.get("why")) for item in _objects(plain.get("duties"))),
        headline=_headline(plain.get("head_to_head")),
    )


def _tell_best(best: Any, rounds: tuple[RoundView, ...]) -> str:
    """The accepted round whose kernel stands; the start is not called best."""
    if not isinstance(best, int):
        return "none yet"
    if any(item.number == best and item.status == "BASELINE" for item in rounds):
        return "no gain yet, the baseline stands"
    return f"round {best}"


def draw_gains(view: CampaignView) -> str:
    """Gain of each measured round over the best kernel of its time, with its interval."""
    rounds = tuple(
        Interval(label=str(item.number), value=item.gain[0], low=item.gain[1], high=item.gain[2], tone=item.tone)
        for item in view.measured
        if item.gain is not None
    )
    return interval_trend(rounds, f"{view.name}: gain of each round in percent", unit="%", reference=0.0)


def draw_shapes(view: CampaignView) -> str:
    """Rounds by shapes; every cell prints its figure."""
    values = tuple(tuple(dict(item.shapes).get(name) for name in view.shapes) for item in view.measured)
    rows = tuple(f"round {item.number}" for item in view.measured)
    return heat_map(rows, view.shapes, values, f"{view.name}: gain by shape in percent", middle=0.0)


def _view_round(item: Mapping[str, Any]) -> RoundView:
    verdict = item.get("verdict") if isinstance(item.get("verdict"), Mapping) else {}
    settled = _text(item.get("settled")) or "open"
    outcome = _text(verdict.get("outcome")) if verdict else ""
    tone = "plan" if outcome == "ACCEPT_TRADEOFF" else _TONES.get(settled, "none")
    told = (("bucket", "bucket"), ("proposer", "proposer"), ("level", "validation set"), ("commit", "commit"))
    number = item.get("round")
    return RoundView(
        number=number if isinstance(number, int) else 0,
        status=settled,
        tone="none" if outcome == "INCONCLUSIVE" else tone,
        hypothesis=_text(item.get("hypothesis")),
        change=_text(item.get("change")),
        facts=tuple((name, _text(item[key])[: 12 if key == "commit" else 40]) for key, name in told if item.get(key)),
        gain=_percents(verdict.get("interval")) if verdict else None,
        reason=" ".join(part for part in (outcome.replace("_", " ").lower(), _text(verdict.get("reason"))) if part)
        if verdict
        else "",
        literal=_literal(verdict.get("amd_literal")) if verdict else "",
        shapes=tuple(
            (_text(row.get("shape")), gain[0])
            for row in _objects(verdict.get("shapes"))
            if (gain := _percents(row.get("gain")))
        )
        if verdict
        else (),
        diff=_text(item.get("diff"))[:MOST_DIFF],
    )


def _headline(found: Any) -> str:
    gain = _percents(found.get("interval")) if isinstance(found, Mapping) else None
    return f"{gain[0]:+.2f} % over the baseline ({gain[1]:+.2f} to {gain[2]:+.2f})" if gain else ""


def _literal(found: Any) -> str:
    if not isinstance(found, Mapping) or found.get("agrees") is not False:
        return ""
    says = "accepts" if found.get("accepts") else "rejects"
    return f"The literal rule {says}: {_text(found.get('reason'))} {_text(found.get('explanation'))}".strip()


def _percents(found: Any) -> tuple[float, float, float] | None:
    if not isinstance(found, Mapping):
        return None
    values = [found.get(key) for key in ("estimate", "lower", "upper")]
    numbers = [float(value) * 100 for value in values if isinstance(value, int | float) and abs(value) < 1e6]
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else None


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return "" if value is None else str(value)
