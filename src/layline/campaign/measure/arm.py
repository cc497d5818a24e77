"""One arm of a measuring run: a live worker with its memory, fed and checked call by call; the same on every device."""

from __future__ import annotations

import platform
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from layline.campaign.devices.device import Arrays, Filled, Memory, Place, Reply, Taken, WorkerProcess
from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.measure.hold import Answered, hold
from layline.campaign.measure.oracle import Close, Error, Wrong
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_inputs, describe_mode, describe_shape
from layline.campaign.values.measurement import Arm
from layline.campaign.values.operator import Pass, Shape

_DEPENDS = {
    "follows-inputs": "depends on what was in the same memory before: the answer for the same inputs changes with it.",
    "repeatable": "gives different answers for the same inputs, by more than rounding.",
}
FRESH_PROCESSES = 4
BEFORE = 3
"""Calls told of beside a wrong one that an earlier call is to blame for."""
LATE_FREE_NS = 200_000
"""What thawing and freezing an idle worker may cost."""
MEMORY_FULL = 2
"""What a worker tells when the device is full: of whose buffers is not known, and most of them are ours."""
HELD_UP_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The inputs of one request, with the right answers: made by the parent, the same for every arm."""

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
    after: str = ""
    """The pass before it, which had the same inputs on the same place, but for a change."""
    called: tuple[int, ...] = ()
    """Which of the inputs are called, and in which order; the others lie there and must stay as they are.
    Empty: all.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One answered and checked request: nanoseconds per call and how far off it was."""

    wall_ns: float
    own_ns: float
    """Processor time; on an accelerator the time between two events."""
    cost_ns: float
    """On whichever of the two decides there."""
    close: tuple[Close, ...] = ()
    outputs: tuple[Arrays, ...] = ()

    def weigh(self) -> tuple[Error, ...]:
        """How far off each output of each call is."""
        return tuple(one.weigh() for one in self.close)


@dataclass(slots=True)
class _Remembered:
    """What an arm remembers to recognise a replay."""

    places: dict[tuple[str, str], tuple[Place, ...]] = field(default_factory=dict)
    outputs: deque[int] = field(default_factory=lambda: deque(maxlen=600))
    calls: deque[tuple[str, Shape]] = field(default_factory=lambda: deque(maxlen=BEFORE))
    """The last calls that were right."""


class LiveArm:
    """A worker and its memory. Every call it makes is checked before its time counts."""

    def __init__(
        self,
        arm: Arm,
        stage: Stage,
        memory: Memory,
        worker: WorkerProcess,
        *,
        open_fresh: Callable[[int], LiveArm] | None = None,
    ) -> None:
        self.arm = arm
        self.operator = stage.operator
        self.memory = memory
        self.worker: Any = worker
        """What every worker can is in `WorkerProcess`; a probe that needs more of it says so."""
        self._stage = stage
        self._device = stage.device
        self._values = stage.device.values
        self._open_fresh = open_fresh
        self._remembered = _Remembered()

    def __enter__(self) -> Self:
        self.worker.wait_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker and give its memory back."""
        self.worker.close()
        self.memory.close()

    @contextmanager
    def loaded(self) -> Iterator[Self]:
        """Ready, and with its kernel."""
        with self:
            self.worker.load()
            yield self

    def run(self, step: Pass, given: Given, *, spin: int = 0, settles: bool = False, keeps: bool = False) -> Ran:
        """Make the request's calls of one pass, check everything about them, return their times; `keeps` the outputs."""
        laid = self._fill(step, given)
        called = given.called or tuple(range(len(laid)))
        filled = tuple(laid[at] for at in called)
        rights = [dict(given.right)[step.name][at] for at in called]
        reply, taken = self._call(filled, spin)
        self._check_uncalled([one for at, one in enumerate(laid) if at not in called])
        held_up = 0
        if settles:
            held_up = max(0, self.worker.settle(HELD_UP_S) - LATE_FREE_NS)
            self._check_late(filled[0], taken)
        self._check_answer(reply, step, given)
        close: list[Close] = []
        for one, output, right in zip(filled, taken.outputs, rights, strict=True):
            close += self._check_call(one, output, right, given, taken)
            self._remember(one, output)  # at once: the next call of this request may be the one that replays it
        if self._device.goes_on:
            self._check_late(filled[0], taken)
        kept = tuple(self._copy(output) for output in taken.outputs) if keeps else ()
        return self._charge(reply, taken, len(filled), held_up, tuple(close), kept)

    def run_unchecked(self, step: Pass, given: Given, *, spin: int = 0) -> Ran:
        """Make the calls and look at nothing: for what answers nothing, and where looking would cost what is counted."""
        filled = self._fill(step, given)
        reply, taken = self._call(filled, spin)
        self._check_answer(reply, step, given)
        return self._charge(reply, taken, len(filled), 0, (), ())

    def ask(self, step: Pass, given: Given) -> Reply:
        """Make the calls and give back the bare reply: whether a kernel refuses arguments that do not fit."""
        return self._call(self._fill(step, given), 0)[0]

    def run_raw(self, step: Pass, given: Given) -> Arrays:
        """Make one call and give back what it wrote, right or not: for inputs no oracle speaks of."""
        reply, taken = self._call(self._fill(step, given), 0)
        self._check_answer(reply, step, given)
        return self._copy(taken.outputs[0])

    def put_at_end(self, step: Pass, shape: Shape, name: str) -> None:
        """A buffer of the next call of this pass and shape ends where memory does, if that call asks for the same
        place.
        """
        memory: Any = self.memory  # a probe that asks for this needs a device that gives it
        place: Place = memory.place_at_end(step, shape, name, self._stage.rng)
        self._remembered.places[step.name, shape.label] = (place,)

    def put_on(self, first: Pass, second: Pass, shape: Shape) -> None:
        """The next call of the second pass, if it asks for the same place, has what both read where the first had it."""
        before = dict(self._remembered.places[first.name, shape.label][0])
        fresh = self.memory.place(second, shape, self._stage.rng)
        place = tuple((name, before.get(name, at) if name in first.inputs else at) for name, at in fresh)
        self._remembered.places[second.name, shape.label] = (place,)

    def fill(self, step: Pass, given: Given) -> tuple[Filled, ...]:
        """Lay the calls out without making them."""
        return self._fill(step, given)

    def check(self, filled: Sequence[Filled], given: Given) -> None:
        """The calls were made by somebody's special request: check them as ever."""
        taken = self.memory.take(filled)
        rights = dict(given.right)[filled[0].step.name]
        for one, output, right in zip(filled, taken.outputs, rights, strict=True):
            self._check_call(one, output, right, given, taken)

    def _call(self, filled: tuple[Filled, ...], spin: int) -> tuple[Reply, Taken]:
        self.memory.flush()
        reply = self.worker.call(filled, spin=spin)
        return reply, self.memory.take(filled)

    def _charge(
        self,
        reply: Reply,
        taken: Taken,
        count: int,
        held_up: int,
        close: tuple[Close, ...],
        outputs: tuple[Arrays, ...],
    ) -> Ran:
        wall, own = (reply.wall_ns + taken.late_ns) / count, (reply.own_ns + held_up) / count
        cost = own if self._device.clock == "own" else wall
        return Ran(wall_ns=wall, own_ns=own, cost_ns=cost, close=close, outputs=outputs)

    def _copy(self, output: Arrays) -> Arrays:
        return {name: self._values.copy(array) for name, array in output.items()}

    def _check_uncalled(self, uncalled: Sequence[Filled]) -> None:
        """Buffers of calls that were not made: nobody may have written there."""
        for one in uncalled:
            for what in self.memory.find_touched(one):
                raise Fault(
                    "own-buffers",
                    f"{one.step.symbol} on {describe_shape(one.shape)} writes to buffers of a call that was not made: {what}.",
                    "it remembers the addresses of earlier calls and works ahead",
                )

    def _fill(self, step: Pass, given: Given) -> tuple[Filled, ...]:
        key = (step.name, given.shape.label)
        places = self._remembered.places.get(key, ())
        if not given.on_same_place or len(places) < len(given.inputs):
            rng = self._stage.rng
            laid = [self.memory.place(step, given.shape, rng) for _ in given.inputs]
            # where the next call lies cannot be guessed
            places = tuple(laid[int(at)] for at in rng.permutation(len(laid)))
            self._remembered.places[key] = places
        return tuple(
            self.memory.fill(step, given.shape, place, inputs)
            for place, inputs in zip(places, given.inputs, strict=False)
        )

    def _check_answer(self, reply: Reply, step: Pass, given: Given) -> None:
        where = f"{step.symbol} on {describe_shape(given.shape)}"
        if reply.said and reply.status == MEMORY_FULL:
            raise Disturbed(f"Memory ran out during {where}: {reply.said.splitlines()[0]}")
        if reply.said:
            told = f"The kernel raised an error during {where}: {reply.said.splitlines()[0]}"
            raise Fault("supports-shape", told, reply.said)
        if reply.status != 0:
            told = f"{step.symbol} returned {reply.status} for {describe_shape(given.shape)}"
            raise Fault("supports-shape", f"{told}: a kernel must handle every shape itself.")
        mode = self._stage.mode
        if mode is not None and reply.mode != mode:
            changed = describe_mode(mode, reply.mode, platform.machine())
            raise Fault(
                "floating-point-mode",
                f"{where} returned with another floating-point mode than it was called with ({changed}): whatever "
                "runs after it in the same process computes differently.",
                "keep the mode at entry (fegetenv) and restore it before returning, or leave it alone",
                f"mode 0x{reply.mode:08x}, was 0x{mode:08x}",
            )

    def _check_late(self, filled: Filled, taken: Taken) -> None:
        changes = list(taken.find_changes())
        if changes:
            raise Fault(
                "late-write",
                f"{filled.step.symbol} on {describe_shape(filled.shape)} went on writing after it had returned.",
                *(f"{change} differ between return and a moment later" for change in changes),
            )

    def _check_call(self, filled: Filled, outputs: Arrays, right: Arrays, given: Given, taken: Taken) -> list[Close]:
        is_alike = given.is_held_out and given.kind == self.operator.distributions[0]
        found = self._hold(filled, outputs, right, is_exact=given.is_exact, is_alike=is_alike)
        for one in found:
            if isinstance(one, Wrong):
                raise self._diagnose(one, filled, outputs, given, taken)
        for property_, what in self.memory.find_trespass(filled):
            raise Fault(property_, f"{filled.step.symbol} on {describe_shape(filled.shape)}: {what}.")
        return [one for one in found if isinstance(one, Close)]

    def _hold(
        self, filled: Filled, outputs: Arrays, right: Arrays, *, is_exact: bool, is_alike: bool = False
    ) -> list[Close | Wrong]:
        call = Answered(filled.step, filled.inputs, filled.poison, outputs, right)
        return list(hold(self._stage, call, is_exact=is_exact, is_alike=is_alike))

    def _diagnose(self, wrong: Wrong, filled: Filled, outputs: Arrays, given: Given, taken: Taken) -> Fault:
        """The most telling name for a wrong answer."""
        where = f"{filled.step.symbol} on {describe_shape(filled.shape)}"
        evidence = (wrong.reason, *wrong.evidence, f"inputs: {describe_inputs(given.kind)}")
        before = {name: self._values.digest(output) for name, output in outputs.items()}
        self.worker.settle(self._device.pace.settle_s)
        late = list(taken.find_changes())
        if late:
            return Fault("late-write", f"{where} went on writing after it had returned.", *late, *evidence)
        for property_, what in self.memory.find_trespass(filled):
            if property_ == "input-modified":
                return Fault(property_, f"{where}: {what}.", *evidence)
        copied = self._find_copy(filled, outputs, before)
        if copied:
            return Fault(copied[0], f"{where} returned {copied[1]}.", *evidence)
        if given.after:
            changed = f"made right after {given.after} had the same inputs there, does not follow a change between them"
            return Fault("follows-inputs", f"{where}, {changed}: {wrong.reason}", *evidence)
        dependence = self._find_dependence(filled, outputs) if wrong.property == "correct" else ""
        if dependence:
            return Fault(dependence, f"{where} {_DEPENDS[dependence]}", *evidence)
        property_ = self._context(wrong.property, given)
        drawn = f", inputs {describe_inputs(given.kind)}" if property_ == "hard-inputs" else ""
        alone = self._try_alone(filled) if self.worker.replies > 2 else ""
        calls = self._remembered.calls
        before_it = "; ".join(f"{symbol} on {describe_shape(shape)}" for symbol, shape in reversed(calls))
        told = (f"the calls before it, the latest first: {before_it}",) if before_it else ()
        return Fault(property_, f"{where}{drawn}: {wrong.reason}{alone}", *evidence, *told)

    def _try_alone(self, filled: Filled) -> str:
        """Make the same call as the first one of new processes: it shows whether an earlier call may be to blame."""
        if self._open_fresh is None:
            return ""
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
        assert self._open_fresh is not None  # noqa: S101  the caller looked
        with self._open_fresh(self.memory.footprint(filled.step, filled.shape)).loaded() as fresh:
            place = fresh.memory.place(filled.step, filled.shape, self._stage.rng)
            laid = fresh.memory.fill(filled.step, filled.shape, place, filled.inputs)
            _reply, taken = fresh._call((laid,), 0)
            right = self.operator.oracle(filled.step.name, filled.shape, filled.inputs)
            return any(isinstance(one, Wrong) for one in fresh._hold(laid, taken.outputs[0], right, is_exact=False))

    def _find_copy(self, filled: Filled, outputs: Arrays, before: dict[str, int]) -> tuple[str, str] | None:
        """An output that is an earlier call's, or an input: the property's name and what was returned."""
        for name in filled.step.outputs:
            if self._values.count(outputs[name]) > 1 and before[name] in self._remembered.outputs:
                return "replay", f"an earlier call's {name} for new inputs"
            for source in filled.step.inputs:
                if self._values.starts_with(outputs[name], filled.inputs[source]):
                    return "passthrough", f"the input {source} as {name}"
        return None

    def _find_dependence(self, filled: Filled, outputs: Arrays) -> str:
        """What else than its inputs a wrong answer depends on: an earlier call (`follows-inputs`), chance
        (`repeatable`), nothing.

        Twice the same other inputs are put on a fresh place and then, on that place, the wrong call is made again: what
        remembers gives the same wrong answer both times, but another one than at first; a race gives what it likes.
        """
        if self._open_fresh is None:  # it is a matter of cheap processes, as is the look at the first call of new ones
            return ""
        rng = self._stage.rng
        other = self.operator.draw(filled.shape, rng, self.operator.distributions[0])
        again = []
        for _twice in range(2):
            place = self.memory.place(filled.step, filled.shape, rng)
            for inputs in (other, filled.inputs):
                laid = self.memory.fill(filled.step, filled.shape, place, inputs)
                _reply, taken = self._call((laid,), 0)
            again.append(self._copy(taken.outputs[0]))
        right = self.operator.oracle(filled.step.name, filled.shape, filled.inputs)
        if all(self._are_close(one, outputs) for one in again):
            return ""
        if self._are_close(*again) and not self._are_close(again[0], right):
            return "follows-inputs"
        return "repeatable"

    def _are_close(self, left: Arrays, right: Arrays) -> bool:
        return all(self._values.are_close(left[name], right[name]) for name in left if name in right)

    def _context(self, property_: str, given: Given) -> str:
        if given.kind in ("nudged", "swapped"):
            return "follows-inputs"
        if given.is_held_out:
            return "held-out-shape"
        if property_ == "exact-integers":
            return property_
        return property_ if given.kind in (self.operator.distributions[0], "repeated") else "hard-inputs"

    def _remember(self, filled: Filled, outputs: Arrays) -> None:
        count, digest = self._values.count, self._values.digest
        self._remembered.calls.append((filled.step.symbol, filled.shape))
        self._remembered.outputs.extend(digest(one) for one in outputs.values() if count(one) > 1)
