"""What a measuring run hands back: who was measured, times, gates, controls, and under which plan. No I/O, no clock."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Bucket(StrEnum):
    """Why a change is faster, as far as real training is concerned."""

    K1 = "K1"
    """Inside the kernel: tiles, instructions, unrolling, pipelining."""
    K2 = "K2"
    """Layout duplication: one kernel variant per layout."""
    K3 = "K3"
    """Fusion into one launch."""
    K4 = "K4"
    """Data flow inside one call (forward hands an intermediate to its own backward)."""
    W1 = "W1"
    """A cache of the weight: allowed, its gain bounded by `quant_time(weight) / step_time`."""
    W2 = "W2"
    """A cache of an activation or gradient: refused, real training never hits it."""
    W3 = "W3"
    """Memoisation of a whole call: refused, likewise."""

    @property
    def is_refused(self) -> bool:
        return self in (Bucket.W2, Bucket.W3)


class Outcome(StrEnum):
    """What becomes of a candidate."""

    ACCEPT = "ACCEPT"
    ACCEPT_TRADEOFF = "ACCEPT_TRADEOFF"
    """Better on the whole, though some shape is slower by less than 5 %."""
    ROLLBACK = "ROLLBACK"
    INCONCLUSIVE = "INCONCLUSIVE"
    """Not shown to be better, nor shown not to be: rolled back, but not an ineffective direction."""

    @property
    def is_accepted(self) -> bool:
        return self in (Outcome.ACCEPT, Outcome.ACCEPT_TRADEOFF)


class Status(StrEnum):
    """How a measuring run ended; it decides which fields of the `Measurement` may exist."""

    MEASURED = "MEASURED"
    """Both legs ran to the planned end: samples and gates are there."""
    REFUSED = "REFUSED"
    """A gate failed: gates are there, samples may be incomplete, no time is published."""
    BUILD_FAILED = "BUILD_FAILED"
    """The candidate does not compile: `problem` holds the compiler's words."""
    CRASHED = "CRASHED"
    """The candidate's process died: `problem` names the signal and the call."""
    HUNG = "HUNG"
    """The candidate did not answer within the time limit."""
    CONTROLS_FAILED = "CONTROLS_FAILED"
    """The instrument itself is not to be trusted now: no verdict about the candidate."""


class Arm(StrEnum):
    """Who is measured."""

    BEST = "best"
    CANDIDATE = "candidate"
    AGAIN = "again"
    """The best a second time, in a process of its own: the A/A control."""
    CANARY = "canary"
    """The best with a known amount of extra work: must be seen as slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A compiled snapshot."""

    build_id: str
    """Hash of sources, flags and compiler: changes whenever one of them does."""
    binary_hash: str
    """Hash of the machine code made from it."""
    command: tuple[str, ...]
    """The compiler call, paths shortened to names."""
    compiler: str
    dropped: tuple[str, ...] = ()
    """Files of the snapshot that are not part of the kernel and were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The machine as it was during a measuring run."""

    cpu: str
    cores: int
    governor: str | None
    load_before: float
    load_after: float
    kernel: str
    python: str
    sandbox: tuple[str, ...]
    """What confines the worker."""
    weaker: tuple[str, ...]
    """What could not be confined here, and why."""
    is_contended: bool
    accelerator: str = ""
    """Product, driver and library versions, where the kernels run on one."""

    @property
    def kind(self) -> str:
        """What may be compared at all: the accelerator's product, or the processor where there is none."""
        return name_product(self.accelerator) or self.cpu


def name_product(accelerator: str) -> str:
    """The product alone, of the line that also tells driver and library versions."""
    return accelerator.partition(",")[0].partition(";")[0].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times of one pass of one leg in one process, in milliseconds per call."""

    calls: int
    low: float
    """The low quantile (p10): what the call costs when nobody disturbs it."""
    median: float
    mean: float
    stddev: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one leg did on one pass of one shape in one process pair."""

    pair: int
    leg: Arm
    shape: str
    step: str
    cpu: Timing
    """CPU time of the whole process tree, everything it does until the next call charged; on an accelerator the time
    between two device events."""
    wall: Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How a leg compares with the best on one shape in one process pair: medians over calls on the same inputs.

    Each is ln(t_best / t_leg) of a whole step (all passes); neighbouring calls share what the machine does to them.
    """

    pair: int
    leg: Arm
    shape: str
    cpu: float
    wall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How close one leg's output came to the oracle on one shape, over all its checked calls."""

    leg: Arm
    shape: str
    output: str
    calls: int
    snr_db: float
    """The worst call's; 400 where every bit was right."""
    error: float
    """Root-mean-square error over the oracle's root mean square, worst call."""
    max_error: float
    """Largest error over the oracle's root mean square."""
    max_ulp: float | None = None
    """Largest error in units in the last place of f32, over the elements at least as large as their row's root mean
    square: near zero the unit shrinks and the figure says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One property a candidate must have, whether it does, and what was seen."""

    property: str
    """A stable name: `finite`, `correct`, `late-write`, `held-out-shape` …"""
    passed: bool
    reason: str
    """One sentence a kernel engineer accepts."""
    evidence: tuple[str, ...] = ()
    """Which call, which bytes, which clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be measured and what will count, fixed before the first call."""

    looks: tuple[int, ...] = (5, 8, 12, 18, 26)
    """Process pairs after which the judge looks; the last are for what is near the least gain worth having."""
    calls: int = 20
    """Requests per leg, shape and process; a request is one call, or several short ones."""
    seconds: float = 0.4
    """Time per shape and process after which fewer requests are made, though never fewer than six."""
    alpha: float = 0.01
    """One-sided error this verdict may spend: see `statistics.spend_campaign`."""
    min_effect: float = 0.01
    """Least gain worth having, as a fraction."""
    shape_loss: float = 0.05
    """Loss of one core shape that no aggregate gain excuses."""
    core_shapes: tuple[str, ...] = ()
    """Labels that rule is for; empty: every shape."""
    clock: str = "cpu"
    """What decides: `cpu` (process tree; one core's work) or `wall` (multi-threaded kernels, accelerators)."""
    threads: int = 1
    timeout_s: float = 20.0
    """Longest a single call may take."""
    canary: float = 0.15
    """How much slower the canary is made."""
    vendor_allowed: bool = False
    """Whether the kernel may call libraries that were not built from its own sources."""

    def is_core(self, label: str) -> bool:
        return not self.core_shapes or label in self.core_shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measuring run: best and candidate, now, interleaved, with its controls."""

    status: Status
    operator: str
    shapes: tuple[str, ...]
    plan: Plan
    environment: Environment
    seed_commitment: str
    """SHA-256 of the secret seed, known before the first call."""
    seed: str
    """The seed itself, written down afterwards so that every input can be made again."""
    best: Build | None = None
    candidate: Build | None = None
    pairs: int = 0
    samples: tuple[Sample, ...] = ()
    ratios: tuple[Ratio, ...] = ()
    """Paired call by call; a harness that reports only times has none, and its samples are paired instead."""
    accuracy: tuple[Accuracy, ...] = ()
    gates: tuple[GateResult, ...] = ()
    controls: tuple[GateResult, ...] = ()
    left_out: tuple[str, ...] = ()
    """Probes that were not made, by name, and what they would have needed."""
    overhead_ms: float = 0.0
    """Cost of an empty call on the deciding clock; contained in every time, never subtracted."""
    first_call_ms: float = 0.0
    """Loading the candidate and its first call, wall time: the price of a cold process."""
    state: str = ""
    """What outlives a call, measured: which inputs, when repeated, make the candidate faster; empty for none."""
    hit_trace: str = ""
    """Eight training steps, fresh activations, weight updated in between: `h` or `m` per pass; empty where none were
    simulated."""
    weight_share: float | None = None
    """What the remembered weight saved in those steps, as a share of their time: the bound of a W1 gain."""
    simulated: tuple[float, ...] = ()
    """ln(t_best / t_candidate) of training steps with fresh tensors, one per process pair, where a command ran them."""
    bucket: Bucket | None = None
    """The bucket the measurement itself puts the candidate in, where it can."""
    problem: str = ""
    """Why there is nothing more, for every status but MEASURED."""
    seconds: tuple[tuple[str, float], ...] = ()
    """Where the run's own time went: build, gates, timing, controls."""
    conditions: tuple[str, ...] = ()
    """On an accelerator: clocks, power, temperature and throttle reasons after each block of calls."""

    @property
    def failed_gates(self) -> tuple[GateResult, ...]:
        return tuple(gate for gate in self.gates if not gate.passed)
