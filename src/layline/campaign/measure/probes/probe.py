"""A probe is a value: what it shows, what it needs, and the calls it makes. Properties are claimed by what probes showed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from layline.campaign.measure.oracle import Error
    from layline.campaign.values.model import Bucket, Snapshot

Arm = TypeVar("Arm")
Stage = TypeVar("Stage")
Shown = Iterator[tuple[str, str]]
"""Properties, each with the evidence for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """State that outlives a call: which repeated inputs make the kernel faster, and the bucket that means."""

    what: str
    bucket: Bucket | None = None
    trace: str = ""
    share: float | None = None


@dataclass(slots=True, kw_only=True)
class OnTrial(Generic[Stage, Arm]):
    """A live kernel with what it may be held against, and what was found so far."""

    stage: Stage
    """Operator, shapes, plan, folder, device."""
    rng: np.random.Generator
    trial: Arm
    best: Arm | None = None
    """None at the baseline, where the best itself is on trial."""
    open_start: Callable[[], AbstractContextManager[Arm]] | None = None
    """A process with the starting kernel; None where there is nothing to compare."""
    snapshot: Snapshot
    shown: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    yardstick: dict[str, list[Error]] = field(default_factory=dict)
    """Errors of the starting kernel's calls, by shape."""
    carried: Carried | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(Generic[Stage, Arm]):
    """One check of the gate. It yields what it showed, and raises a fault where the kernel did what none may do."""

    name: str
    run: Callable[[OnTrial[Stage, Arm]], Shown]
    needs: frozenset[str] = frozenset()
    """What the device, the language or the moment must give; without it the probe is left out, by name."""


def run_probes(probes: Iterable[Probe[Stage, Arm]], on: OnTrial[Stage, Arm], gives: frozenset[str]) -> None:
    """One after the other; what could not be looked at is listed, never claimed."""
    for probe in probes:
        missing = probe.needs - gives
        if missing:
            on.left_out[probe.name] = f"needs {' and '.join(sorted(missing))}"
        else:
            on.shown.update(probe.run(on))
