"""What a measuring run asks of a device: memory, worker process, clock, condition, sanitizer, profiler.

A processor and an accelerator are two devices under one run. What one of them cannot give is not in its `gives`, and
every probe that needs it is left out by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from layline.campaign.devices.device import Memory, Pace, WorkerProcess
    from layline.campaign.measure.build import Built
    from layline.campaign.measure.oracle import Close, Wrong
    from layline.campaign.values.company import Look
    from layline.campaign.values.measurement import Arm, Environment, Plan
    from layline.campaign.values.operator import Operator, Shape

CANDIDATE = "a candidate beside the best"
SANITIZER = "a sanitizer for this language"
MODE = "a floating-point mode of the host"
PROGRAM = "a test program in this language that calls it"
STREAM = "streams whose order can be watched"
VIEWS = "arguments that have strides"
PROFILER = "a profiler that names what ran"
INSPECTION = "a way to see what is set for the whole process"
ACCOUNT = "a count of every process's CPU time"
EDGE = "memory that ends at a page nobody may read"
CODE = "a list of the code in a process"
ROOM = "memory for 2³¹ elements"
EMPTY = "an operator that was tried with empty extents on this device"


class Values(Protocol):
    """Arithmetic on a device's arrays."""

    def copy(self, array: Any) -> Any: ...
    def flatten(self, array: Any) -> Any: ...
    def count(self, array: Any) -> int: ...
    def is_real(self, array: Any) -> bool: ...
    def find_extremes(self, flat: Any) -> tuple[int, int]: ...
    def find_spread(self, array: Any, at: int) -> float: ...
    def raise_above(self, array: Any, least: float) -> Any: ...
    def digest(self, array: Any) -> int: ...
    def starts_with(self, array: Any, other: Any) -> bool: ...
    def are_close(self, left: Any, right: Any) -> bool: ...
    def find_distance(self, left: Any, right: Any) -> float: ...
    def find_differing(self, ours: Any, theirs: Any) -> tuple[int, tuple[int, ...], float, float] | None: ...
    def check(
        self, operator: Operator, name: str, got: Any, want: Any, *, is_exact: bool, poison: int
    ) -> Close | Wrong: ...
    def count_lost(self, got: Any, want: Any) -> int: ...
    def compare_lost(self, name: str, got: tuple[Any, Any], want: Any) -> Iterator[Wrong]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What all arms of a measuring run share."""

    operator: Operator
    shapes: tuple[Shape, ...]
    plan: Plan
    shop: Path
    device: Device
    rng: np.random.Generator
    arena_bytes: int
    """So much that a place comes round again only after the caches were overwritten."""
    mode: int | None = None
    """The floating-point mode an untouched worker has."""
    own_files: frozenset[str] = frozenset()
    """Files whose code is in a worker whatever it runs: the interpreter's own libraries differ from
    machine to machine.
    """

    @property
    def by_work(self) -> list[Shape]:
        """The smallest shape first."""
        return sorted(self.shapes, key=self.operator.passes[0].flops)


class Device(Protocol):
    """Where kernels run."""

    pace: Pace
    gives: frozenset[str]
    values: Values
    starts_slowly: bool
    """Whether workers are started ahead, all arms and twins of a process pair together."""
    shares_memory: bool
    """Whether what a worker holds is seen only as a part of what everybody does."""
    goes_on: bool
    """Whether work goes on when its process is stopped."""
    clock: str
    """Which of the two decides in the probes: `own` or `wall`."""
    unqueued: set[tuple[str, str]]
    """Passes and shapes whose calls cannot be queued, because some kernel waits for the device in them: launching is in
    everybody's time there.
    """
    trip_ns: float
    """What a request of queued calls costs beside them, at least: it is taken off their time."""
    has_events: bool
    """Whether the device's own clock must tell of the same work as the parent's."""

    def check(self) -> None: ...
    def describe(self, environment: Environment) -> Environment: ...
    def find_arena_bytes(self, operator: Operator, shapes: tuple[Shape, ...]) -> int: ...
    def count_room(self, stage: Stage, shape: Shape) -> int: ...

    forks: bool
    """Whether probes beside one another may run in forks of this process; else they are threads of it."""

    def spread(self) -> AbstractContextManager[None]:
        """Meanwhile nothing is timed: whatever cores there are may be used."""

    def count_lanes(self, stage: Stage) -> int:
        """How many probes may run beside the one that has the kernel on trial, each on memory of its own."""

    def connect(self, stage: Stage, arm: Arm, built: Built, around: Surroundings) -> tuple[Memory, WorkerProcess]: ...
    def hold(self, workers: Sequence[Any], stage: Stage) -> AbstractContextManager[None]: ...
    def read_instrument(self, worker: Any, environment: Environment) -> tuple[Environment, frozenset[str]]: ...
    def read_condition(self, where: str) -> str: ...
    def look_around(self) -> Look | None:
        """Who else works there; None where the clock that decides does not run for others."""

    def find_floors(self, operator: Operator, shapes: tuple[Shape, ...]) -> Floors: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a worker is started with: the name of what it may share of compiled code, bytes of memory, hidden files."""

    cache: str
    size: int
    masked: tuple[str, ...] = ()
    lane: int = 0
    is_profiled: bool = False
    is_stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """The least time a pass can take on a shape, in milliseconds, and by what that is known."""

    times: Mapping[tuple[str, str], float]
    told: str
    needs: str = "the arithmetic alone needs"
