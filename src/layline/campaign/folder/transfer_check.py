"""The `Real-training transfer check` of a round, and the re-attribution of a campaign's gain. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.campaign.command.transfer import Transfer, read_transfer
from layline.campaign.ledger.state import Settled
from layline.campaign.values.markdown import MINUS, one_line, percent
from layline.campaign.values.measurement import Bucket

if TYPE_CHECKING:
    from layline.campaign.ledger.state import Round, State

SHOWN = 16
"""Letters of a trace that are printed: eight steps of two passes."""
INFLATION_LIMIT = 0.01
"""A headline further than this above the real gain is called inflated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Where a campaign's gain comes from, as far as real training is concerned; fractions."""

    structural_benchmark: float
    structural: float
    """S: K1–K4 rounds, transfers one to one where the measurement could show it."""
    weight_benchmark: float
    weight: float
    """W: W1 rounds, bounded by `quant_time(weight) / step_time`."""
    residual: float
    """R: what no accepted round can defend; must be 0."""
    headline: float
    unsimulated: int = 0
    """Accepted rounds whose gain no simulated training step has shown or denied."""

    @property
    def real(self) -> float:
        return (1 + self.structural) * (1 + self.weight) - 1

    @property
    def gap(self) -> float:
        return self.headline - self.real

    @property
    def verdict(self) -> str:
        if self.residual:
            return "rolled-back — an accepted round cannot defend its transfer"
        if self.unsimulated and self.gap > INFLATION_LIMIT:
            rounds = "1 accepted round" if self.unsimulated == 1 else f"{self.unsimulated} accepted rounds"
            return f"unshown — no training step was simulated for {rounds}, so that nobody knows how much transfers"
        if self.gap > INFLATION_LIMIT:
            return "inflated — call out the residual, do not ship the headline"
        return "clean — gap below 1 %, headline transfers"


def decide(item: Round) -> str:
    """The specification's word for a round's transfer."""
    if item.settled is Settled.BASELINE:
        return "BASELINE"
    bucket = bucket_of(item)
    if item.settled is Settled.ROLLED_BACK:
        return "REJECT-as-overfit" if (bucket is not None and bucket.is_refused) or is_overfit(item) else "not accepted"
    if item.verdict is None or item.verdict.transferred is None:
        return "ACCEPT-with-asterisk (its transfer was not simulated)"
    return "ACCEPT-with-asterisk" if bucket is Bucket.W1 else "ACCEPT-as-real"


def is_overfit(item: Round) -> bool:
    """Whether simulated training steps denied a gain the benchmark showed."""
    run, gain = item.last_run, item.verdict.interval if item.verdict else None
    if run is None or gain is None or not run.measurement.simulated or gain.estimate <= 0:
        return False
    seen = read_transfer(run.measurement.simulated, gain.estimate, run.measurement.plan.min_effect)
    return seen is Transfer.OVERFIT


def bucket_of(item: Round) -> Bucket | None:
    """Measured where the measurement could tell, declared otherwise."""
    measured = item.verdict.bucket if item.verdict else None
    return measured or item.bucket


def build_transfer_check(state: State, item: Round) -> str:
    run, bucket = item.last_run, bucket_of(item)
    declared = f"{bucket or 'none'}" + (
        f" (declared {item.bucket})" if bucket is not item.bucket and item.bucket else ""
    )
    kept = run.measurement.state if run else ""
    gain = item.verdict.interval.estimate if item.verdict and item.verdict.interval else None
    real = item.verdict.transferred if item.verdict else None
    lines = [
        f"- Bucket: {declared if item.settled is not Settled.BASELINE else 'none, no code change'}",
        (
            "- Cache key (if any): "
            f"{one_line(kept) if kept else 'no cache: nothing that outlives a call makes a later one faster' if _is_trusted(state) else 'not measured: the user’s command reuses its tensors'}"
        ),
        f"- id(...) audit: {_audit(state, item)}",
        f"- 4-step pen-and-paper trace hit rate: {_trace(item)}",
        f"- Workload distribution robustness (GroupGemm / MoE only): {_skew(state, item)}",
        f"- Benchmark gain on this round: {percent(gain)} {state.manifest.primary_metric}",
        f"- Estimated real-training gain: {percent(real)} ({_derivation(state, bucket)})",
        f"- Decision: {decide(item)}",
    ]
    return "\n".join(lines)


def _is_trusted(state: State) -> bool:
    return state.manifest.measuring == "trusted"


def _audit(state: State, item: Round) -> str:
    if _is_trusted(state):
        return "measured: no timed call sees the values of another; a third of them come at an address seen before"
    if item.last_run and item.last_run.measurement.simulated:
        return "measured by the transfer simulation: fresh activations and gradients in every step"
    return "not possible from a CSV; such a gain is never called real before the transfer simulation has run"


def _trace(item: Round) -> str:
    """The training steps as they were measured, not with pen and paper: which passes were served from memory."""
    run = item.last_run
    trace = run.measurement.hit_trace if run else ""
    if not trace:
        return "not traced: " + (
            "there is no change to trace" if item.settled is Settled.BASELINE else "no training steps were simulated"
        )
    hits = trace.count("h")
    shown = f"{trace[:SHOWN]}{' …' if len(trace) > SHOWN else ''}"
    return (
        f"{hits}/{len(trace)} passes served from memory, measured in training steps with fresh activations "
        f"({shown}; h hit, m miss)"
    )


def _skew(state: State, item: Round) -> str:
    if not state.manifest.is_grouped:
        return "not a grouped operator"
    run = item.last_run
    skewed = [
        label
        for label in (run.measurement.shapes if run else ())
        if "skew" in label or "half" in label or "empty" in label
    ]
    return (
        f"holds under skew: {', '.join(skewed)} are part of the active validation set"
        if skewed
        else "uniform-only — REJECTED"
    )


def _derivation(state: State, bucket: Bucket | None) -> str:
    if not _is_trusted(state) and bucket is not None and not bucket.is_refused:
        return "the least of the benchmark's, the simulated steps' and, for W1, the weight's share"
    match bucket:
        case Bucket.W1:
            return "bounded by quant_time(weight) / step_time"
        case Bucket.W2 | Bucket.W3:
            return "an activation is a fresh tensor each step: the cache never hits"
        case None:
            return MINUS
        case _:
            return "transfers 1:1"


def attribute(state: State, headline: float) -> Attribution:
    """Split the head-to-head gain over the accepted rounds, by their shares of the sum of log-gains.

    The rounds' own gains say who contributed how much; the headline says how much there is to share.
    """
    accepted = [
        item for item in state.rounds if item.settled is Settled.ACCEPTED and item.verdict and item.verdict.interval
    ]
    kinds = {"structural": 0.0, "structural_real": 0.0, "weight": 0.0, "weight_real": 0.0, "residual": 0.0}
    for item in accepted:
        gain, real = _read_gains(item)
        bucket = bucket_of(item)
        kind = (
            "weight"
            if bucket is Bucket.W1
            else "residual"
            if bucket is not None and bucket.is_refused
            else "structural"
        )
        kinds[kind] += math.log1p(gain)
        if kind != "residual":
            kinds[f"{kind}_real"] += math.log1p(real)
    total = kinds["structural"] + kinds["weight"] + kinds["residual"]
    scale = math.log1p(headline) / total if total > 0 and headline > -1 else 1.0
    return Attribution(
        structural_benchmark=math.expm1(scale * kinds["structural"]),
        structural=math.expm1(scale * kinds["structural_real"]),
        weight_benchmark=math.expm1(scale * kinds["weight"]),
        weight=math.expm1(min(scale * kinds["weight"], kinds["weight_real"])),
        residual=math.expm1(scale * kinds["residual"]),
        headline=headline,
        unsimulated=sum(item.verdict is None or item.verdict.transferred is None for item in accepted),
    )


def _read_gains(item: Round) -> tuple[float, float]:
    """A round's gain in the benchmark, and the part of it that survives real training; 0 where nobody showed it."""
    verdict = item.verdict
    gain = verdict.interval.estimate if verdict and verdict.interval else 0.0
    return gain, min(gain, verdict.transferred or 0.0) if verdict else 0.0
