"""What a judge says about one place of ours, and what several findings make together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layline.core.drift import DriftKind
from layline.core.evidence import Severity
from layline.core.why import Why

WORST_FIRST = (Severity.BREAKS, Severity.LOOK, Severity.OK)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A probable new home, with the reason a person can check."""

    target: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a judge says about an effect or a coupling; where it was read is told by the row, at pin and tip."""

    severity: Severity
    """How bad this alone is; of a limit, how bad the whole can be at most."""
    why: Why
    kind: DriftKind | None = None
    """What became of the target, where this finding is about that."""
    is_limit: bool = False
    """It is no worse than this, whatever the other findings say."""
    retires: bool = False
    """It says why the patch can be deleted."""
    suggestion: Suggestion | None = None


def weigh(findings: Iterable[Finding]) -> Severity:
    """The worst that is said, no worse than any limit allows."""
    known = tuple(findings)
    rank = WORST_FIRST.index
    worst = min((rank(one.severity) for one in known), default=rank(Severity.OK))
    return WORST_FIRST[max([worst, *(rank(one.severity) for one in known if one.is_limit)])]


def name_kind(findings: Iterable[Finding]) -> DriftKind:
    """The kind that tells most: that it is dead, then that its text is lost, then what became of the name."""
    kinds = [one.kind for one in findings if one.kind is not None]
    return max(kinds, key=lambda kind: kind.facts.rank) if kinds else DriftKind.UNCHANGED
