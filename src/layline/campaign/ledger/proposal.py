"""What a proposer says about its edit, before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass

from layline.campaign.ledger.state import Level
from layline.campaign.values.measurement import Bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One hypothesis, one change."""

    hypothesis: str
    change: str
    bucket: Bucket | None
    expect: str | None = None
    proposer: str = "person"
    level: Level = Level.QUICK
