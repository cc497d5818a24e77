"""What a proposer answers: an edit with its hypothesis, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from layline.campaign.proposers.brief import Brief
from layline.campaign.values.measurement import Bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """One hypothesis and one change, as whole files."""

    files: Mapping[str, bytes]
    """New contents of allowed files."""
    hypothesis: str
    change: str
    bucket: Bucket
    expect: str | None = None
    diagnosis: str | None = None
    """What the proposer thinks of the round rolled back before."""
    remarks: tuple[str, ...] = ()
    """What was dropped or tried on the way; written into the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """No proposal this time, and why."""

    reason: str
    is_final: bool = False
    """Whether asking again is pointless."""


class Proposer(Protocol):
    """Anything that can answer a brief."""

    @property
    def name(self) -> str:
        """As the ledger calls it."""

    def propose(self, brief: Brief) -> Proposed | Declined:
        """The next change to try."""
