"""The arms of a measuring run come to life: alone, or all of a process pair together where a process takes seconds to
start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.build import Built
from layline.campaign.measure.stage import Stage
from layline.campaign.values.measurement import Arm

FRESH_ROOM = 1 << 16
"""Beyond the buffers of a single call: places begin at an unpredictable offset."""


def open_arm(
    stage: Stage,
    arm: Arm,
    built: Built,
    *,
    cache: str = "",
    size: int | None = None,
    masked: tuple[str, ...] = (),
    is_fresh: bool = False,
) -> LiveArm:
    """Start one worker; it is not ready yet and has no kernel. Arms with the same `cache` share what they compile."""
    memory, worker = stage.device.connect(
        stage, arm, built, cache=cache or arm.value, size=size or stage.arena_bytes, masked=masked
    )

    def open_fresh(room: int) -> LiveArm:
        return open_arm(stage, arm, built, size=room + FRESH_ROOM, masked=masked, is_fresh=True)

    can_ask = not is_fresh and not stage.device.starts_slowly
    return LiveArm(arm, stage, memory, worker, open_fresh=open_fresh if can_ask else None)


def open_arms(stage: Stage, builts: Mapping[Arm, Built]) -> list[LiveArm]:
    """One worker per arm, in random order; the best's twins compile from its own cache."""
    order = [list(builts)[int(at)] for at in stage.rng.permutation(len(builts))]
    same = {Arm.AGAIN: Arm.BEST, Arm.CANARY: Arm.BEST}
    return [open_arm(stage, arm, builts[arm], cache=same.get(arm, arm).value) for arm in order]


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
