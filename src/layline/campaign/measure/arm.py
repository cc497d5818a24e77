"""One leg of a measuring run: a live worker with its memory, fed and checked call by call."""

from __future__ import annotations

import platform
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from layline.campaign.devices.shared_memory import Arena, CallBuffers, Filled
from layline.campaign.devices.worker_process import Fault, Kernel, Reply, Worker
from layline.campaign.measure.build import Built
from layline.campaign.measure.oracle import Error, Wrong, check_output
from layline.campaign.values.describe import describe_inputs, describe_mode, describe_shape
from layline.campaign.values.model import Arrays, Leg, Operator, Pass, Plan, Shape

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SETTLE_S = 0.05
FRESH_ROOM = 1 << 16
"""Beyond the buffers of a single call: places begin at an unpredictable offset."""
_DEPENDS = {
    "follows-inputs": "depends on what lay on the same place before: the answer for the same inputs changes with it.",
    "repeatable": "gives different answers for the same inputs, by more than rounding.",
}
FRESH_PROCESSES = 4
BEFORE = 3
"""Calls told of beside a wrong one that an earlier call is to blame for."""
SAMPLED = 1024
LATE_FREE_NS = 200_000
"""What thawing and freezing an idle worker may cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What all legs of a measuring run share."""

    operator: Operator
    shapes: tuple[Shape, ...]
    plan: Plan
    shop: Path
    arena_bytes: int
    """More than twice a core's own caches: a place comes round again only after they were overwritten."""
    mode: int | None = None
    """The floating-point mode an untouched worker has."""
    own_files: frozenset[str] = frozenset()
    """Files whose code is in a worker whatever it runs: the interpreter's own libraries differ from machine to
    machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The inputs of one request, with the right answers: made by the parent, the same for every leg."""

    shape: Shape
    kind: str
    """How they were drawn: a distribution, `nudged`, `repeated`."""
    inputs: tuple[Arrays, ...]
    right: tuple[tuple[str, tuple[Arrays, ...]], ...]
    """The oracle's outputs by pass."""
    is_exact: bool = False
    is_held_out: bool = False
    on_same_place: bool = False
    """Where the previous call of this shape lay, instead of a fresh place."""
    called: tuple[int, ...] = ()
    """Which of the inputs are called, and in which order; the others lie there and must stay as they are. Empty: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One answered and checked request: nanoseconds per call and how far off it was."""

    wall_ns: float
    cpu_ns: float
    errors: tuple[Error, ...]
    outputs: tuple[Arrays, ...]


@dataclass(slots=True)
class _Memory:
    """What a leg remembers to recognise a replay."""

    places: dict[tuple[str, str], tuple[CallBuffers, ...]] = field(default_factory=dict)
    outputs: deque[int] = field(default_factory=lambda: deque(maxlen=600))
    calls: deque[tuple[str, Shape]] = field(default_factory=lambda: deque(maxlen=BEFORE))
    """The last calls that were right."""


class LiveLeg:
    """A worker and its arena. Every call it makes is checked before its time counts."""

    def __init__(
        self, leg: Leg, built: Built, setup: Setup, rng: np.random.Generator, *, masked: tuple[str, ...] = ()
    ) -> None:
        self.leg = leg
        self.operator = setup.operator
        self._rng = rng
        self._mode = setup.mode
        self._arena = Arena(self.operator, setup.arena_bytes, rng)
        plan = setup.plan
        self._kernel = Kernel(
            path=built.path,
            operator=self.operator,
            threads=plan.threads,
            timeout_s=plan.timeout_s,
            masked=masked,
            mode=setup.mode,
        )
        self._shop = setup.shop
        self.worker = Worker(self._kernel, self._arena, setup.shop)
        self._memory = _Memory()
        self.late_ns = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.worker.close()
        self._arena.close()

    def run(self, step: Pass, given: Given, *, spin: int = 0, settles: bool = False) -> Ran:
        """Make the request's calls of one pass, check everything about them, return their times."""
        laid = self._fill(step, given)
        called = given.called or tuple(range(len(laid)))
        filled = tuple(laid[at] for at in called)
        rights = [dict(given.right)[step.name][at] for at in called]
        reply = self.worker.call(filled, spin=spin)
        outputs = tuple(self._arena.copy_outputs(one) for one in filled)
        self._check_uncalled([one for at, one in enumerate(laid) if at not in called])
        late = 0
        if settles:
            late = max(0, self.worker.settle(0.001) - LATE_FREE_NS)
            self._check_late(filled, outputs)
        self.late_ns += late
        self._check_answer(reply.status, reply.mode, step, given)
        errors: list[Error] = []
        for one, output, right in zip(filled, outputs, rights, strict=True):
            errors += self._check_call(one, output, right, given)
            self._remember(one, output)  # at once: the next call of this request may be the one that replays it
        count = len(filled)
        cpu_ns = (reply.cpu_ns + late) / count
        return Ran(wall_ns=reply.wall_ns / count, cpu_ns=cpu_ns, errors=tuple(errors), outputs=outputs)

    def call_unchecked(self, step: Pass, given: Given) -> Reply:
        """Make the calls and look at nothing: for the empty kernel, which answers nothing."""
        return self.worker.call(self._fill(step, given))

    def run_raw(self, step: Pass, given: Given) -> Arrays:
        """Make one call and give back what it wrote, right or not: for inputs no oracle speaks of."""
        (filled,) = self._fill(step, given)
        self.worker.call((filled,))
        return self._arena.copy_outputs(filled)

    def _check_uncalled(self, uncalled: Sequence[Filled]) -> None:
        """Buffers of calls that were not made: nobody may have written there."""
        for one in uncalled:
            for what in self._arena.find_touched(one):
                raise Fault(
                    "own-buffers",
                    f"{one.step.symbol} on {describe_shape(one.shape)} writes to buffers of a call that was not made: {what}.",
                    "it remembers where earlier calls lay and works ahead",
                )

    def _fill(self, step: Pass, given: Given) -> tuple[Filled, ...]:
        key = (step.name, given.shape.label)
        places = self._memory.places.get(key, ())
        if not given.on_same_place or len(places) < len(given.inputs):
            laid = [self._arena.place(step, given.shape, self._rng) for _ in given.inputs]
            places = tuple(
                laid[int(at)] for at in self._rng.permutation(len(laid))
            )  # where the next call lies cannot be guessed
            self._memory.places[key] = places
        return tuple(
            self._arena.fill(step, given.shape, place, inputs)
            for place, inputs in zip(places, given.inputs, strict=False)
        )

    def _check_answer(self, status: int, mode: int, step: Pass, given: Given) -> None:
        if status != 0:
            raise Fault(
                "supports-shape",
                f"{step.symbol} returned {status} for {describe_shape(given.shape)}: a kernel must handle every "
                "shape itself.",
            )
        if self._mode is not None and mode != self._mode:
            raise Fault(
                "floating-point-mode",
                f"{step.symbol} on {describe_shape(given.shape)} returned with another floating-point mode than it "
                "was called "
                f"with ({describe_mode(self._mode, mode, platform.machine())}): whatever runs after it in the same process computes "
                "differently.",
                "keep the mode at entry (fegetenv) and restore it before returning, or leave it alone",
                f"mode 0x{mode:08x}, was 0x{self._mode:08x}",
            )

    def _check_late(self, filled: Sequence[Filled], outputs: Sequence[Arrays]) -> None:
        for one, output in zip(filled, outputs, strict=True):
            changes = list(self._arena.find_changes(one, output))
            if changes:
                raise Fault(
                    "late-write",
                    f"{one.step.symbol} on {describe_shape(one.shape)} went on writing after it had returned.",
                    *(f"{change} differ between return and a moment later" for change in changes),
                )

    def _check_call(self, filled: Filled, outputs: Arrays, right: Arrays, given: Given) -> list[Error]:
        found = self._hold(filled, outputs, right, is_exact=given.is_exact)
        for one in found:
            if isinstance(one, Wrong):
                raise self._diagnose(one, filled, outputs, given)
        for property_, what in self._arena.find_trespass(filled):
            raise Fault(property_, f"{filled.step.symbol} on {describe_shape(filled.shape)}: {what}.")
        return [one for one in found if isinstance(one, Error)]

    def _hold(self, filled: Filled, outputs: Arrays, right: Arrays, *, is_exact: bool) -> list[Error | Wrong]:
        return [
            check_output(self.operator, name, outputs[name], right[name], is_exact=is_exact, poison=filled.sentinel)
            for name in filled.step.outputs
        ]

    def _diagnose(self, wrong: Wrong, filled: Filled, outputs: Arrays, given: Given) -> Fault:
        """The most telling name for a wrong answer."""
        where = f"{filled.step.symbol} on {describe_shape(filled.shape)}"
        evidence = (wrong.reason, *wrong.evidence, f"inputs: {describe_inputs(given.kind)}")
        self.worker.settle(SETTLE_S)
        late = list(self._arena.find_changes(filled, outputs))
        if late:
            return Fault("late-write", f"{where} went on writing after it had returned.", *late, *evidence)
        for property_, what in self._arena.find_trespass(filled):
            if property_ == "input-modified":
                return Fault(property_, f"{where}: {what}.", *evidence)
        copied = self._find_copy(filled, outputs)
        if copied:
            return Fault(copied[0], f"{where} returned {copied[1]}.", *evidence)
        dependence = self._find_dependence(filled, outputs) if wrong.property == "correct" else ""
        if dependence:
            return Fault(dependence, f"{where} {_DEPENDS[dependence]}", *evidence)
        property_ = self._context(wrong.property, given)
        drawn = f", inputs {describe_inputs(given.kind)}" if property_ == "hard-inputs" else ""
        alone = self._try_alone(filled) if self.worker.has_served else ""
        before = "; ".join(f"{symbol} on {describe_shape(shape)}" for symbol, shape in reversed(self._memory.calls))
        told = (f"the calls before it, the latest first: {before}",) if before else ()
        return Fault(property_, f"{where}{drawn}: {wrong.reason}{alone}", *evidence, *told)

    def _try_alone(self, filled: Filled) -> str:
        """Make the same call as the first one of new processes: it shows whether an earlier call may be to blame."""
        try:
            wrong = sum(self._is_wrong_alone(filled) for _process in range(FRESH_PROCESSES))
        except Fault:
            return ""
        if wrong == FRESH_PROCESSES:
            return " The same call is wrong as the first one of a new process, too."
        if wrong:
            return f" As the first call of a new process it is wrong in {wrong} of {FRESH_PROCESSES} processes."
        return (
            f" The same call is right as the first one of {FRESH_PROCESSES} new processes: what an earlier call left behind "
            "spoils it, or it is wrong in some processes only."
        )

    def _is_wrong_alone(self, filled: Filled) -> bool:
        arena = Arena(self.operator, self._arena.footprint(filled.step, filled.shape) + FRESH_ROOM, self._rng)
        try:
            with Worker(self._kernel, arena, self._shop) as fresh:
                fresh.load()
                place = arena.place(filled.step, filled.shape, self._rng)
                laid = arena.fill(filled.step, filled.shape, place, filled.inputs)
                fresh.call((laid,))
                outputs = arena.copy_outputs(laid)
        finally:
            arena.close()
        right = self.operator.oracle(filled.step.name, filled.shape, filled.inputs)
        return any(isinstance(one, Wrong) for one in self._hold(laid, outputs, right, is_exact=False))

    def _find_copy(self, filled: Filled, outputs: Arrays) -> tuple[str, str] | None:
        """An output that is an earlier call's, or an input: the property's name and what was returned."""
        for name in filled.step.outputs:
            if outputs[name].size > 1 and _digest(outputs[name]) in self._memory.outputs:
                return "replay", f"an earlier call's {name} for new inputs"
            for source in filled.step.inputs:
                given_bytes, got = filled.inputs[source].tobytes(), outputs[name].tobytes()
                if min(len(got), len(given_bytes)) > 8 and got[: len(given_bytes)] == given_bytes[: len(got)]:
                    return "passthrough", f"the input {source} as {name}"
        return None

    def _find_dependence(self, filled: Filled, outputs: Arrays) -> str:
        """What else than its inputs a wrong answer depends on: an earlier call (`follows-inputs`), chance
        (`repeatable`), nothing.

        Twice the same other inputs are put on a fresh place and then, on that place, the wrong call is made again: what
        remembers gives the same wrong answer both times, but another one than at first; a race gives what it likes.
        """
        other = self.operator.draw(filled.shape, self._rng, self.operator.distributions[0])
        again = []
        for _twice in range(2):
            place = self._arena.place(filled.step, filled.shape, self._rng)
            for inputs in (other, filled.inputs):
                laid = self._arena.fill(filled.step, filled.shape, place, inputs)
                self.worker.call((laid,))
            again.append(self._arena.copy_outputs(laid))
        right = self.operator.oracle(filled.step.name, filled.shape, filled.inputs)
        if all(_is_close(one, outputs) for one in again):
            return ""
        if _is_close(*again) and not _is_close(again[0], right):
            return "follows-inputs"
        return "repeatable"

    def _context(self, property_: str, given: Given) -> str:
        if given.kind == "nudged":
            return "follows-inputs"
        if given.is_held_out:
            return "held-out-shape"
        if property_ == "exact-integers":
            return property_
        return property_ if given.kind in (self.operator.distributions[0], "repeated") else "hard-inputs"

    def _remember(self, filled: Filled, outputs: Arrays) -> None:
        names = filled.step.outputs
        self._memory.calls.append((filled.step.symbol, filled.shape))
        self._memory.outputs.extend(_digest(outputs[name]) for name in names if outputs[name].size > 1)


def _is_close(left: Arrays, right: Arrays) -> bool:
    import numpy as np

    return all(
        np.allclose(left[name], right[name], rtol=1e-3, atol=1e-3 * float(np.abs(right[name]).max(initial=0)))
        for name in left
    )


def _digest(array: Array) -> int:
    """A number for an output: of elements all over it, which is enough to recognise one that was handed out before."""
    flat = array.reshape(-1)
    return hash(flat[:: max(1, flat.size // SAMPLED)].tobytes())
