"""One arm of a measuring run: a live worker with its memory, fed and checked call by call; the same on every device."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

from layline.campaign.devices.device import Arrays, Filled, Memory, Place, Reply, Taken, WorkerProcess
from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.measure.diagnose import Remembered, Suspect, diagnose
from layline.campaign.measure.given import Given
from layline.campaign.measure.hold import Answered, hold
from layline.campaign.measure.oracle import Close, Error, Wrong
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_mode, describe_shape
from layline.campaign.values.measurement import Arm
from layline.campaign.values.operator import Pass, Shape

LATE_FREE_NS = 200_000
"""What thawing and freezing an idle worker may cost."""
MEMORY_FULL = 2
"""What a worker tells when the device is full: of whose buffers is not known, and most of them are ours."""
HELD_UP_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One answered and checked request: nanoseconds per call and how far off it was."""

    wall_ns: float
    own_ns: float
    """Processor time; on an accelerator the time between two events."""
    cost_ns: float
    """On whichever of the two decides there."""
    launched_ns: float = 0.0
    """What launching took, where the calls were queued meanwhile."""
    close: tuple[Close, ...] = ()
    outputs: tuple[Arrays, ...] = ()

    def weigh(self) -> tuple[Error, ...]:
        """How far off each output of each call is."""
        return tuple(one.weigh() for one in self.close)


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
        self.stage = stage
        self.device = stage.device
        self.values = stage.device.values
        self.open_fresh = open_fresh
        self.remembered = Remembered()

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

    def run(
        self,
        step: Pass,
        given: Given,
        *,
        spin: int = 0,
        settles: bool = False,
        keeps: bool = False,
        queues: bool = False,
    ) -> Ran:
        """Make the request's calls of one pass, check everything about them, return their times; `keeps` the outputs.

        It `queues` them where it can: launching is not in the time then.
        """
        laid = self._fill(step, given, queues=queues)
        called = given.called or tuple(range(len(laid)))
        filled = tuple(laid[at] for at in called)
        rights = [dict(given.right)[step.name][at] for at in called]
        reply, taken = self.make(filled, spin)
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
        if self.device.goes_on:
            self._check_late(filled[0], taken)
        if self._is_stuck(filled[0], reply):
            return self.run(step, given, spin=spin, settles=settles, keeps=keeps, queues=True)
        kept = tuple(self.copy(output) for output in taken.outputs) if keeps else ()
        return self._charge(reply, taken, len(filled), held_up, tuple(close), kept)

    def run_unchecked(self, step: Pass, given: Given, *, spin: int = 0, queues: bool = False) -> Ran:
        """Make the calls and look at nothing: for what answers nothing, and where looking would cost what is counted."""
        filled = self._fill(step, given, queues=queues)
        reply, taken = self.make(filled, spin)
        self._check_answer(reply, step, given)
        if self._is_stuck(filled[0], reply):
            return self.run_unchecked(step, given, spin=spin, queues=True)
        return self._charge(reply, taken, len(filled), 0, (), ())

    def ask(self, step: Pass, given: Given) -> Reply:
        """Make the calls and give back the bare reply: whether a kernel refuses arguments that do not fit."""
        return self.make(self._fill(step, given), 0)[0]

    def run_raw(self, step: Pass, given: Given) -> Arrays:
        """Make one call and give back what it wrote, right or not: for inputs no oracle speaks of."""
        reply, taken = self.make(self._fill(step, given), 0)
        self._check_answer(reply, step, given)
        return self.copy(taken.outputs[0])

    def put_at_end(self, step: Pass, shape: Shape, name: str) -> None:
        """A buffer of the next call of this pass and shape ends where memory does, if that call asks for the same
        place.
        """
        memory: Any = self.memory  # a probe that asks for this needs a device that gives it
        place: Place = memory.place_at_end(step, shape, name, self.stage.rng)
        self.remembered.places[step.name, shape.label] = (place,)

    def put_on(self, first: Pass, second: Pass, shape: Shape) -> None:
        """The next call of the second pass, if it asks for the same place, has what both read where the first had it."""
        before = dict(self.remembered.places[first.name, shape.label][0])
        fresh = self.memory.place(second, shape, self.stage.rng)
        place = tuple((name, before.get(name, at) if name in first.inputs else at) for name, at in fresh)
        self.remembered.places[second.name, shape.label] = (place,)

    def fill(self, step: Pass, given: Given) -> tuple[Filled, ...]:
        """Lay the calls out without making them."""
        return self._fill(step, given)

    def check(self, filled: Sequence[Filled], given: Given) -> None:
        """The calls were made by somebody's special request: check them as ever."""
        taken = self.memory.take(filled)
        rights = dict(given.right)[filled[0].step.name]
        for one, output, right in zip(filled, taken.outputs, rights, strict=True):
            self._check_call(one, output, right, given, taken)

    def make(self, filled: tuple[Filled, ...], spin: int) -> tuple[Reply, Taken]:
        """Have calls made that were laid out, on an overwritten cache; nothing is looked at."""
        self.memory.flush()
        reply = self.worker.call(filled, spin=spin)
        return reply, self.memory.take(filled)

    def _is_stuck(self, filled: Filled, reply: Reply) -> bool:
        """Whether queued calls waited for the device and are to be made again: what is loaded at its first use waits once,
        what waits twice is not queued any more.
        """
        if not filled.is_queued or reply.launched_ns:
            return False
        key = (filled.step.name, filled.shape.label)
        if key in self.remembered.stuck:
            self.device.unqueued.add(key)
        self.remembered.stuck.add(key)
        return True

    def _charge(
        self,
        reply: Reply,
        taken: Taken,
        count: int,
        held_up: int,
        close: tuple[Close, ...],
        outputs: tuple[Arrays, ...],
    ) -> Ran:
        trip = self.device.trip_ns if reply.launched_ns else 0.0
        wall, own = max(1.0, reply.wall_ns + taken.late_ns - trip) / count, (reply.own_ns + held_up) / count
        cost = own if self.device.clock == "own" else wall
        launched = reply.launched_ns / count
        return Ran(wall_ns=wall, own_ns=own, cost_ns=cost, launched_ns=launched, close=close, outputs=outputs)

    def copy(self, output: Arrays) -> Arrays:
        """Outputs as they are now: the next call may write where they lie."""
        return {name: self.values.copy(array) for name, array in output.items()}

    def _check_uncalled(self, uncalled: Sequence[Filled]) -> None:
        """Buffers of calls that were not made: nobody may have written there."""
        for one in uncalled:
            for what in self.memory.find_touched(one):
                raise Fault(
                    "own-buffers",
                    f"{one.step.symbol} on {describe_shape(one.shape)} writes to buffers of a call that was not made: {what}.",
                    "it remembers the addresses of earlier calls and works ahead",
                )

    def _fill(self, step: Pass, given: Given, *, queues: bool = False) -> tuple[Filled, ...]:
        key = (step.name, given.shape.label)
        queued = given.called or range(len(given.inputs))
        if not queues or not self.worker.queues or key in self.device.unqueued:
            queued = ()
        places = self.remembered.places.get(key, ())
        if not given.on_same_place or len(places) < len(given.inputs):
            rng, need = self.stage.rng, self.memory.footprint(step, given.shape)
            laid = [self.memory.place(step, given.shape, rng) for _ in given.inputs]
            starts = sorted(min(at for _, at in place) for place in laid)
            if given.right and any(after - before < need for before, after in pairwise(starts)):
                raise ValueError(f"calls of one request on {describe_shape(given.shape)} lie on one another")
            # where the next call lies cannot be guessed
            places = tuple(laid[int(at)] for at in rng.permutation(len(laid)))
            self.remembered.places[key] = places
        fill: Any = self.memory.fill  # only a memory that brings inputs later is asked to
        return tuple(
            fill(step, given.shape, place, inputs, **({"is_queued": True} if at in queued else {}))
            for at, (place, inputs) in enumerate(zip(places, given.inputs, strict=False))
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
        mode = self.stage.mode
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
        found = self.compare(filled, outputs, right, is_exact=given.is_exact, is_alike=is_alike)
        for one in found:
            if isinstance(one, Wrong):
                raise diagnose(self, Suspect(wrong=one, filled=filled, outputs=outputs, given=given, taken=taken))
        for property_, what in self.memory.find_trespass(filled):
            raise Fault(property_, f"{filled.step.symbol} on {describe_shape(filled.shape)}: {what}.")
        return [one for one in found if isinstance(one, Close)]

    def compare(
        self, filled: Filled, outputs: Arrays, right: Arrays, *, is_exact: bool, is_alike: bool = False
    ) -> list[Close | Wrong]:
        """Outputs of a call against the right ones."""
        call = Answered(filled.step, filled.inputs, filled.poison, outputs, right)
        return list(hold(self.stage, call, is_exact=is_exact, is_alike=is_alike))

    def _remember(self, filled: Filled, outputs: Arrays) -> None:
        count, digest = self.values.count, self.values.digest
        self.remembered.calls.append((filled.step.symbol, filled.shape))
        self.remembered.outputs.extend(digest(one) for one in outputs.values() if count(one) > 1)
