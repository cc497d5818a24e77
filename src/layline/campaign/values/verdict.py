"""What the judge says of a measurement: gains with their bounds, and the verdict. No I/O, no clock."""

from __future__ import annotations

from dataclasses import dataclass

from layline.campaign.values.measurement import Bucket, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A gain with its bounds, as fractions (0.05 = 5 % faster)."""

    estimate: float
    lower: float
    upper: float
    confidence: float
    """One-sided, of each bound."""
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeGain:
    """One row of a verdict's table."""

    shape: str
    best_ms: float
    candidate_ms: float
    gain: Interval
    """Simultaneous over all shapes."""
    wall_gain: float
    """The same by the wall clock, for comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralRule:
    """What AMD's rule says of the same figures."""

    accepts: bool
    reason: str
    agrees: bool
    explanation: str
    """Why the two differ, where they do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of one measurement."""

    outcome: Outcome
    reason: str
    interval: Interval | None = None
    shapes: tuple[ShapeGain, ...] = ()
    amd_literal: LiteralRule | None = None
    bucket: Bucket | None = None
    transferred: float | None = None
    """The gain that survives real training: the estimate for K1–K4, bounded for W1, none for W2 and W3."""
    notes: tuple[str, ...] = ()
