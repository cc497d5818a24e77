"""A probe is a value: what it shows, what it needs, and the calls it makes. Properties are claimed by what probes
showed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.oracle import Error
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.stage import Stage
from layline.campaign.values.measurement import Bucket
from layline.campaign.values.operator import Snapshot

AGAIN, START, BEST, PROFILED = "again", "start", "best", "profiled"
"""What processes are for: the kernel on trial once more, the campaign's starting kernel, the best; the kernel on trial with
a profiler that is ready.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """State that outlives a call: which repeated inputs make the kernel faster, and the bucket that means."""

    what: str
    bucket: Bucket | None = None
    trace: str = ""
    share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What probes found."""

    shown: dict[str, str]
    left_out: dict[str, str]
    yardstick: dict[str, list[Error]]
    carried: Carried | None
    aged: int


@dataclass(slots=True, kw_only=True)
class Trial:
    """A live kernel with what it may be held against, and what was found so far."""

    stage: Stage
    trial: LiveArm
    best: LiveArm | None = None
    """None at the baseline, where the best itself is on trial."""
    open_start: Callable[..., LiveArm]
    """A process for the starting kernel, started; with memory of that size, or the usual."""
    open_again: Callable[..., LiveArm]
    """Another process for the kernel on trial, at another place: with memory of that size, with files hidden."""
    open_best: Callable[..., LiveArm]
    """A process for the best, started, at another place."""
    snapshot: Snapshot
    start: Snapshot | None = None
    """The campaign's starting kernel, where another one is on trial."""
    beside: Sequence[LiveArm] = ()
    """Every arm that is alive, the one on trial among them."""
    unloaded: dict[str, int] = field(default_factory=dict)
    """What the processes held before any kernel was in them."""
    processes: int = 1
    """Processes of the kernel on trial so far."""
    shown: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    yardstick: dict[str, list[Error]] = field(default_factory=dict)
    """Errors of the starting kernel's calls, by shape."""
    carried: Carried | None = None
    aged: int = 0
    """Calls that were made in its process to make it old."""
    claimed: dict[str, float] = field(default_factory=dict)
    """Logarithm of the gain on each shape, as the process pairs so far have it."""

    def on_lane(self, lane: int) -> Self:
        """The same for probes beside others: with processes on memory of their own, and nothing found yet."""
        return replace(
            self,
            open_start=partial(self.open_start, lane=lane),
            open_again=partial(self.open_again, lane=lane),
            open_best=partial(self.open_best, lane=lane),
            shown={},
            left_out={},
        )

    @property
    def found(self) -> Found:
        """What probes have left here, for whoever reads it in another process."""
        return Found(
            shown=self.shown, left_out=self.left_out, yardstick=self.yardstick, carried=self.carried, aged=self.aged
        )

    def tell_left_out(self) -> tuple[str, ...]:
        """What could not be looked at, and why."""
        return tuple(f"{name}: {why}" for name, why in self.left_out.items())

    def show(self, name: str, evidence: str) -> None:
        """A property was shown, once more perhaps: then it has all of the evidence, none of it twice."""
        before = self.shown.get(name, "")
        told = before.split("; ") if before else []
        self.shown[name] = before if evidence in told else "; ".join((*told, evidence))

    def take(self, other: Found) -> None:
        """What was found beside it; a property that two have shown has both's evidence."""
        for name, evidence in other.shown.items():
            self.show(name, evidence)
        self.left_out |= other.left_out
        self.yardstick |= other.yardstick
        self.carried = other.carried or self.carried
        self.aged = max(self.aged, other.aged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One check of the gate. It yields what it showed, and raises a fault where the kernel did what none may do."""

    name: str
    run: Callable[[Trial], Shown]
    needs: frozenset[str] = frozenset()
    """What the device, the operator or the moment must give; without it the probe is left out, by name."""
    is_alone: bool = False
    """Whether nobody else may start or end meanwhile, where a device's memory is everybody's; such probes come first."""
    is_beside: bool = False
    """Whether no clock and no order of events decides, so that others of the kind may run meanwhile; it waits for its
    turn with the kernel on trial.
    """
    is_apart: bool = False
    """Whether it runs beside them, too, and has a process of its own."""
    is_long: bool = False
    """Whether it takes longest of all: it begins first, for others wait for it at the end."""
    is_for_gain: bool = False
    """Whether only what is faster is asked: how it keeps to its caller's rules matters to nobody who will not call it."""
    takes_s: float = 3.0
    """About how long, where a process takes seconds to start: as measured on an accelerator, beside the others."""
    ahead: tuple[str, ...] = ()
    """Processes it needs, of those that can be started before they are asked for."""
    opens_own: bool = False
    """Whether it needs the kernel on trial in no process but those it opens."""


def run_probes(
    probes: Iterable[Probe], on: Trial, gives: frozenset[str], say: Callable[[str], None] = lambda _said: None
) -> None:
    """One after the other; what could not be looked at is listed, never claimed."""
    for probe in probes:
        missing = probe.needs - gives
        if missing:
            on.left_out[probe.name] = f"needs {' and '.join(sorted(missing))}"
        else:
            say(f"gates: {probe.name}")
            for name, evidence in probe.run(on):
                on.show(name, evidence)
