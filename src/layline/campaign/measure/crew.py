"""The arms of a measuring run come to life: alone, or all of a process pair together where a process takes seconds to
start.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.build import Built
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.stage import Stage, Surroundings
from layline.campaign.values.measurement import Arm
from layline.errors import BenchError

FRESH_ROOM = 1 << 16
"""Beyond the buffers of a single call: places begin at an unpredictable offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What surrounds a worker that is not an ordinary arm."""

    size: int | None = None
    """Bytes of memory it shares with us; None: as much as every arm."""
    masked: tuple[str, ...] = ()
    """Files that are hidden from it."""
    lane: int = 0
    """Workers on different lanes never share memory: they may be asked at the same time."""
    is_profiled: bool = False
    """Whether a profiler is made ready in it before it tells that it is."""
    is_stale: bool = False
    """Whether what it allocates was used before, as in a program that has run for a while."""
    is_fresh: bool = False
    """Whether it is there for a single call."""


USUAL = Room()


def open_arm(stage: Stage, arm: Arm, built: Built, *, cache: str = "", room: Room = USUAL) -> LiveArm:
    """Start one worker; it is not ready yet and has no kernel. Arms with the same `cache` share what they compile."""
    size, masked = room.size or stage.arena_bytes, room.masked
    surroundings = Surroundings(
        cache=cache or arm.value,
        size=size,
        masked=masked,
        lane=room.lane,
        is_profiled=room.is_profiled,
        is_stale=room.is_stale,
    )
    memory, worker = stage.device.connect(stage, arm, built, surroundings)

    def open_fresh(least: int) -> LiveArm:
        return open_arm(stage, arm, built, room=Room(size=least + FRESH_ROOM, masked=masked, is_fresh=True))

    can_ask = not room.is_fresh and not stage.device.starts_slowly
    return LiveArm(arm, stage, memory, worker, open_fresh=open_fresh if can_ask else None)


def open_arms(stage: Stage, builts: Mapping[Arm, Built]) -> list[LiveArm]:
    """One worker per arm, in random order; the best's twins compile from its own cache."""
    order = [list(builts)[int(at)] for at in stage.rng.permutation(len(builts))]
    same = {Arm.AGAIN: Arm.BEST, Arm.CANARY: Arm.BEST}
    return [open_arm(stage, arm, builts[arm], cache=same.get(arm, arm).value) for arm in order]


def call_first(stage: Stage, arms: Iterable[LiveArm]) -> None:
    """The first call of many processes at once, checked as all are; those on the same memory one after the other."""
    given = draw(stage, stage.by_work[0])
    by_memory: defaultdict[Arm, list[LiveArm]] = defaultdict(list)
    for arm in arms:
        by_memory[arm.arm].append(arm)

    def call(of: list[LiveArm]) -> None:
        for arm in of:
            arm.worker.wait_ready()
            arm.worker.load()
            for step in stage.operator.passes:
                arm.run(step, given)

    with ThreadPoolExecutor(max_workers=len(Arm)) as pool:
        list(pool.map(call, by_memory.values()))


@contextmanager
def calling_first(stage: Stage, arms: Sequence[LiveArm]) -> Iterator[None]:
    """The same while others work: these have nothing to do yet."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        begun = [pool.submit(call_first, stage, arms)] if arms else []
        yield
        for one in begun:
            one.result()


def load(arm: LiveArm, *, is_to_beat: bool) -> int:
    """Nanoseconds it took; what the kernel to beat lacks is not the candidate's fault."""
    try:
        took: int = arm.worker.load()
    except Fault as fault:
        if is_to_beat and fault.property == "loads":
            told = f"The kernel to beat cannot be loaded: {fault.reason}"
            hint = "Check that it defines every function of the operator. The candidate was not measured."
            raise BenchError(told, hint=hint) from None
        raise
    return took


@contextmanager
def live(arms: Sequence[LiveArm]) -> Iterator[Sequence[LiveArm]]:
    """Wait until all are ready; end them all."""
    try:
        for arm in arms:
            arm.worker.wait_ready()
        yield arms
    finally:
        for arm in arms:
            arm.close()
