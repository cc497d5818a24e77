"""A campaign's data file (`campaign status` or `campaign report`, as JSON) as its page shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from layline.render.charts import (
    Interval,
    Kernel,
    Step,
    heat_map,
    interval_trend,
    lineage,
    rank_kernels,
    roofline,
)

SCHEMAS = ("layline.campaign/1", "layline.campaign-report/1")
MOST_DRAWN = 40
"""Rounds a drawing shows, the newest; all of them stand below it."""
MOST_DIFF = 20_000
NOTES = frozenset({"diagnosis", "attribution", "next"})
"""Notes that `campaign note` writes by an option of the same name."""
ROLLED_BACK = "ROLLED BACK"
_KINDS = {
    "K1": "inside the kernel",
    "K2": "one kernel for each layout",
    "K3": "fewer launches",
    "K4": "data kept from forward to backward",
    "W1": "a cache of the weight",
    "W2": "a cache of an activation",
    "W3": "a remembered call",
}
"""Why a change is faster, in words; the codes are those of the specification."""
_TONES = {"ACCEPTED": "good", "BASELINE": "none", ROLLED_BACK: "bad"}
_NO_GAIN = (math.nan, math.nan, math.nan)


def percent(value: float) -> str:
    """`+440.0%`: the one form of a gain, as verdicts write it."""
    return f"{value:+.1f}%"


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
    parent: int | None = None
    """The round it was compared with."""

    @property
    def stands(self) -> bool:
        return self.status in {"ACCEPTED", "BASELINE"}

    @property
    def gain_words(self) -> str:
        if self.gain is None:
            return "no measurement" if self.status != "BASELINE" else "the baseline"
        estimate, low, high = self.gain
        return f"{percent(estimate)} ({percent(low)} to {percent(high)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """What the machine allows at most, and where kernels are under it."""

    what: str
    peak: float
    """GFLOP/s."""
    bandwidth: float
    """GB/s."""
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """A note that the campaign waits for."""

    why: str
    command: str
    """What writes it; empty where the file does not say which note it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignView:
    name: str
    phase: str
    best: str
    ledger: str
    rounds: tuple[RoundView, ...]
    duties: tuple[Duty, ...]
    headline: str
    roof: Roof | None = None
    machine: str = ""

    @property
    def accepted(self) -> int:
        return sum(item.status == "ACCEPTED" for item in self.rounds)

    @property
    def shapes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for item in self.measured for name, _ in item.shapes))[:MOST_DRAWN]

    @property
    def measured(self) -> tuple[RoundView, ...]:
        return tuple(item for item in self.rounds if item.gain is not None)[-MOST_DRAWN:]

    @property
    def tried(self) -> tuple[RoundView, ...]:
        """Every round that ended, measured or not; the start has no gain."""
        ended = (item for item in self.rounds if item.gain is not None or item.status == ROLLED_BACK)
        return tuple(ended)[-MOST_DRAWN:]


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
        duties=tuple(_view_duty(item, rounds) for item in _objects(plain.get("duties"))),
        headline=_headline(plain.get("head_to_head"), best, rounds),
        roof=_read_roof(plain.get("roofline")),
        machine=_text(plain.get("machine"))[:120],
    )


def _view_duty(item: Mapping[str, Any], rounds: tuple[RoundView, ...]) -> Duty:
    note = _text(item.get("note"))
    command = f'layline campaign note {rounds[-1].number} --{note} "…"' if note in NOTES and rounds else ""
    return Duty(why=_text(item.get("why")), command=command)


def _tell_best(best: Any, rounds: tuple[RoundView, ...]) -> str:
    """The accepted round whose kernel stands; the start is not called best."""
    if not isinstance(best, int):
        return "none yet"
    if any(item.number == best and item.status == "BASELINE" for item in rounds):
        return "no gain yet: the baseline is still the best"
    return f"round {best}"


def draw_gains(view: CampaignView, width: float = 720) -> str:
    """Gain of each round over the best kernel of its time, with its interval; hollow where none was measured."""
    rounds = tuple(
        Interval(label=str(item.number), value=gain[0], low=gain[1], high=gain[2], tone=item.tone)
        for item in view.tried
        for gain in (item.gain or _NO_GAIN,)
    )
    label = f"{view.name}: gain of each round in percent"
    return interval_trend(rounds, label, unit="%", reference=0.0, gains=True, width=width)


def draw_lineage(view: CampaignView, width: float = 720) -> str:
    """Which kernel came from which; the newest rounds where there are many."""
    steps = tuple(
        Step(
            number=item.number,
            parent=item.parent,
            tone="good" if item.status == "BASELINE" else item.tone,
            stands=item.stands,
            note="start" if item.status == "BASELINE" else percent(item.gain[0]) if item.gain else item.status.lower(),
        )
        for item in view.rounds[-MOST_DRAWN:]
    )
    return lineage(steps, f"{view.name}: which kernel came from which", width=width)


def draw_roof(view: CampaignView, width: float = 620) -> str:
    """Kernels under what the machine allows; on narrow paper each has a number, and the names stand below."""
    if view.roof is None:
        return ""
    label = f"{view.name}: GFLOP/s over FLOP per byte, under the ceilings of {view.roof.what.lower()}"
    roof = view.roof
    return roofline(roof.kernels, label, peak=roof.peak, bandwidth=roof.bandwidth, unit="GFLOP/s", width=width)


def list_kernels(view: CampaignView) -> tuple[str, ...]:
    """The kernels of the roofline in the order of their numbers."""
    if view.roof is None:
        return ()
    roof = view.roof
    return tuple(
        f"{kernel.label}: {kernel.rate / min(roof.peak, kernel.intensity * roof.bandwidth):.0%}"
        for kernel in rank_kernels(roof.kernels)
    )


def draw_shapes(view: CampaignView, most: int = 12) -> str:
    """Shapes by rounds, the newest; every cell prints its figure."""
    rounds = view.measured[-most:]
    values = tuple(tuple(dict(item.shapes).get(name) for item in rounds) for name in view.shapes)
    columns = tuple(f"round {item.number}" for item in rounds)
    return heat_map(view.shapes, columns, values, f"{view.name}: gain by shape in percent", middle=0.0, cell=62)


def _view_round(item: Mapping[str, Any]) -> RoundView:
    verdict = item.get("verdict") if isinstance(item.get("verdict"), Mapping) else {}
    settled = _text(item.get("settled")) or "open"
    outcome = _text(verdict.get("outcome")) if verdict else ""
    tone = "plan" if outcome == "ACCEPT_TRADEOFF" else _TONES.get(settled, "none")
    told = (("bucket", "gain from"), ("proposer", "proposer"), ("level", "validation set"), ("commit", "commit"))
    number = item.get("round")
    return RoundView(
        number=number if isinstance(number, int) else 0,
        status=settled,
        tone="none" if outcome == "INCONCLUSIVE" else tone,
        hypothesis=_text(item.get("hypothesis")),
        change=_text(item.get("change")),
        facts=tuple((name, _tell_fact(key, _text(item[key]))) for key, name in told if item.get(key)),
        gain=_percents(verdict.get("interval")) if verdict else None,
        reason=_reason(outcome, _text(verdict.get("reason"))) if verdict else "",
        literal=_literal(verdict.get("amd_literal")) if verdict else "",
        shapes=tuple(
            (_text(row.get("shape")), gain[0])
            for row in _objects(verdict.get("shapes"))
            if (gain := _percents(row.get("gain")))
        )
        if verdict
        else (),
        diff=_text(item.get("diff"))[:MOST_DIFF],
        parent=_parent(item),
    )


def _tell_fact(key: str, value: str) -> str:
    if key == "bucket" and value in _KINDS:
        return f"{_KINDS[value]} ({value})"
    return value[: 12 if key == "commit" else 40]


def _reason(outcome: str, reason: str) -> str:
    """`Accepted: faster by …`; the outcome in words, then why."""
    words = {"ACCEPT": "Accepted", "ACCEPT_TRADEOFF": "Accepted as a trade-off", "ROLLBACK": "Rolled back"}
    said = words.get(outcome, outcome.replace("_", " ").capitalize())
    why = f"{reason[:1].lower()}{reason[1:]}" if reason[1:2].islower() else reason
    return ": ".join(part for part in (said, why) if part)


def _parent(item: Mapping[str, Any]) -> int | None:
    found = item.get("compared_with")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _read_roof(found: Any) -> Roof | None:
    """None where a figure is missing or makes no roof: a drawing of nothing is worse than none."""
    if not isinstance(found, Mapping):
        return None
    peak, bandwidth = (_positive(found.get(key)) for key in ("flops_per_s", "bytes_per_s"))
    if peak is None or bandwidth is None:
        return None
    kernels = tuple(
        Kernel(label=_text(point.get("label"))[:40], intensity=intensity, rate=rate / 1e9)
        for point in _objects(found.get("points"))[:MOST_DRAWN]
        if (intensity := _positive(point.get("intensity"))) and (rate := _positive(point.get("flops_per_s")))
    )
    return Roof(
        what=_text(found.get("what")) or "the machine", peak=peak / 1e9, bandwidth=bandwidth / 1e9, kernels=kernels
    )


def _positive(value: Any) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e18
    return float(value) if usable else None


def _headline(found: Any, best: Any, rounds: tuple[RoundView, ...]) -> str:
    """The head-to-head run where there is one, else the gain of the last accepted round over what it was compared
    with.
    """
    gain = _percents(found.get("interval")) if isinstance(found, Mapping) else None
    if gain:
        return f"{_tell_ratio(gain)} the baseline: {percent(gain[0])} ({percent(gain[1])} to {percent(gain[2])})."
    for item in rounds:
        if item.number == best and item.gain and item.parent:
            ratio = _tell_ratio(item.gain)
            over = f"{ratio[:1].lower()}{ratio[1:]} round {item.parent}"
            return f"So far round {item.number} is {over}: {percent(item.gain[0])} (at least {percent(item.gain[1])})."
    return ""


def _tell_ratio(gain: tuple[float, float, float]) -> str:
    """`7.1 times as fast as`; what is near one is told in percent alone, what the interval leaves open as that."""
    estimate, low, high = gain
    if low <= 0:
        return "Slower than" if high < 0 else "No gain shown over"
    return f"{1 + estimate / 100:.1f} times as fast as" if estimate >= 50 else "Faster than"


def _literal(found: Any) -> str:
    if not isinstance(found, Mapping) or found.get("agrees") is not False:
        return ""
    says = "accepts" if found.get("accepts") else "rejects"
    return f"AMD's rule {says}: {_text(found.get('reason'))} {_text(found.get('explanation'))}".strip()


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
