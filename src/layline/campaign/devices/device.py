"""What every device has: memory a parent and a worker share, a worker process, a pace. Said once, for both of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from layline.campaign.values.operator import Pass, Shape

Arrays = Mapping[str, Any]
"""By name; of numpy or of torch, as the device has them."""
Place = tuple[tuple[str, int], ...]
"""Where the buffers of one call begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much of everything: what differs between devices stands here, side by side, and nowhere else."""

    request_ms: float
    """Short calls are made several to a request, on as many distinct inputs, until a request takes about this long."""
    most_calls: int
    """Calls to a request."""
    whole: bool
    """Whether every probe is made on every shape, or all of them on the smallest and the others once."""
    walk: tuple[int, ...] | None
    """Steps of the walk through sizes; None: up through 129 and down again by single steps."""
    aside: int
    """Every other extent during a walk."""
    thin: int
    """Every other extent where one is far beyond the listed ones."""
    control_calls: int
    """Calls to a request of the controls."""
    state_batches: tuple[int, ...]
    """Calls to a request while looking for state."""
    growth: Mapping[str, tuple[float, float]]
    """What a process may take per step, block after block, and at most."""
    per_shape: Mapping[str, float]
    """What a process may keep for every small shape it has not met before."""
    fresh: int
    """New processes for a candidate that would be accepted."""
    settle_s: float
    """How long a wrong answer is given to become a late one."""


PROCESSOR = Pace(
    request_ms=2.0,  # the clock of processor time advances in that
    most_calls=48,
    whole=True,
    walk=None,
    aside=24,
    thin=8,
    control_calls=8,
    state_batches=(6, 1),
    growth={"KiB of memory": (1, 1 << 18), "threads": (0.2, 512), "open files": (0.2, 16), "mapped areas": (0.2, 2048)},
    per_shape={"KiB of memory": 1 << 10, "threads": 0.2, "open files": 0.2, "mapped areas": 4.0},
    fresh=12,
    settle_s=0.05,
)
ACCELERATOR = Pace(
    request_ms=8.0,  # the wall clock decides, and a request's way there and back must be little beside it
    most_calls=64,  # where they have room: a call of microseconds is little beside a request's way there and back
    whole=False,  # the right answer to a call costs as much as the call, in a wider type
    walk=(127, 121, 97),  # a new extent may be a new compilation: one block size to any kernel, less of it each time
    aside=136,
    thin=1025,  # deep products of broad operands cost nothing there
    control_calls=32,
    state_batches=(1,),  # what is kept by contents is seen on the same place, too
    growth={"KiB of device and host": (64, 2 << 20)},  # pools grow by megabytes; the device's memory is everybody's
    per_shape={"KiB of device and host": 16 << 10},  # a pool of torch grows by twenty megabytes, but not for every one
    fresh=3,  # a process takes seconds to start
    settle_s=0.3,  # the device goes on when its process is stopped
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """One call as it was laid out: what the kernel was given and what surrounded it."""

    step: Pass
    shape: Shape
    place: Place
    inputs: Arrays
    poison: Mapping[str, int]
    """Bit pattern in each output: a quiet NaN with a secret payload."""
    guard: bytes
    turned: tuple[str, ...] = ()
    """Inputs that lie there with their last two extents the other way round, and are handed over as views."""
    is_queued: bool = False
    """Whether its inputs are brought, and the clock begins, only when the call has been launched."""


class Taken(Protocol):
    """The outputs of a request's calls as they were when it was answered."""

    @property
    def outputs(self) -> tuple[dict[str, Any], ...]: ...
    @property
    def late_ns(self) -> int:
        """How long they went on changing after the answer, as far as that was seen; charged to the call."""

    def find_changes(self) -> Iterator[str]: ...


class Memory(Protocol):
    """What a parent and one worker share."""

    size: int

    def place(self, step: Pass, shape: Shape, rng: np.random.Generator) -> Place: ...
    def footprint(self, step: Pass, shape: Shape) -> int: ...
    def fill(self, step: Pass, shape: Shape, place: Place, inputs: Arrays) -> Filled: ...
    def take(self, filled: Sequence[Filled]) -> Taken: ...
    def find_touched(self, filled: Filled) -> Iterator[str]: ...
    def find_trespass(self, filled: Filled) -> Iterator[tuple[str, str]]: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answered request, on the parent's clock and on the device's own."""

    wall_ns: int
    own_ns: float
    """Processor time of the whole worker since it was last frozen; on an accelerator the time between two events."""
    status: int = 0
    mode: int = 0
    """Floating-point mode it says it was left in."""
    said: str = ""
    """What the kernel raised, in its words."""
    launched_ns: int = 0
    """How long the worker took to launch queued calls; 0 where they were not queued, or one of them waited for the device."""


class WorkerProcess(Protocol):
    """A process that runs one kernel, and runs only while something is asked of it."""

    weaker: tuple[str, ...]
    stood_still: int
    queues: bool
    """Whether calls can wait there, launched, until their inputs are brought."""

    @property
    def replies(self) -> int: ...
    def wait_ready(self) -> None: ...
    def load(self) -> int: ...
    def call(self, calls: tuple[Filled, ...], *, spin: int = 0) -> Reply: ...
    def settle(self, seconds: float) -> int: ...
    def count_holdings(self) -> dict[str, int]: ...
    def close(self) -> None: ...
