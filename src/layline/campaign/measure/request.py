"""What is asked of a measuring run."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field

from layline.campaign.values.measurement import Plan
from layline.campaign.values.operator import Operator, Shape, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to measure."""

    operator: Operator
    shapes: tuple[Shape, ...]
    best: Snapshot
    candidate: Snapshot | None = None
    """None: measure the best alone, as at the baseline."""
    start: Snapshot | None = None
    """The campaign's starting kernel, whose error is the yardstick; the best where there is none."""
    plan: Plan = field(default_factory=Plan)
    stop_by: float | None = None
    """Moment of the monotonic clock after which the next look is the last."""
    seed: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @property
    def is_late(self) -> bool:
        return self.stop_by is not None and time.monotonic() > self.stop_by
