"""How a campaign measures: one seam, two ways (`trusted`, `command`)."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from layline.campaign.values.measurement import Measurement

if TYPE_CHECKING:
    from layline.campaign.ledger.snapshot import KernelFiles
    from layline.campaign.values.measurement import Bucket
    from layline.campaign.values.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measuring run and the figures derived from it, in the frozen form."""

    measurement: Measurement
    csv: str = ""
    """The candidate's; empty where it gave none."""
    best_csv: str = ""
    said: str = ""
    """What the user's own commands printed, run by run; empty where Layline itself measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What one measuring run holds against what."""

    best: KernelFiles
    candidate: KernelFiles | None
    """None at the baseline: the best alone."""
    start: KernelFiles
    """The baseline's kernel, whose own error is the yardstick for every later one."""
    labels: tuple[str, ...]
    alpha: float
    """The error this run may spend."""
    stop_by: float | None = None
    """Moment of the monotonic clock after which the next look is the last; the first look is always made."""
    seed: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Drawn before the run, so that the ledger can commit to it: nobody may draw again for a better one."""

    @property
    def commitment(self) -> str:
        return hashlib.sha256(self.seed).hexdigest()


class Bench(Protocol):
    """Measures two kernels against each other, now, and judges what was seen."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Every target shape."""

    def machine(self) -> str:
        """The kind of machine this is: what its times may be compared with."""

    def place(self) -> dict[str, str]:
        """What an attempt notes of the machine beside its kind; nothing where it is this one."""

    def measure(self, trial: Trial) -> Measured:
        """Both kernels, interleaved in process pairs; a broken candidate is a value, not an error."""

    def judge(self, measurement: Measurement, bucket: Bucket | None) -> Verdict:
        """The verdict of a measuring run."""

    def frozen(self) -> dict[str, str]:
        """Hashes of everything that must not change while the campaign runs: harness, operator, tolerances."""
