"""The processor as a device: shared memory, a worker in a sandbox, its processor time as the clock."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from layline.campaign.devices.device import PROCESSOR, Memory, Pace, WorkerProcess
from layline.campaign.devices.kernel import Kernel
from layline.campaign.devices.oracle_library import keep_freed_memory, use_one_thread
from layline.campaign.devices.shared_memory import Arena
from layline.campaign.devices.worker_process import Worker
from layline.campaign.measure.build import Built
from layline.campaign.measure.numpy_values import NumpyValues
from layline.campaign.measure.stage import (
    ACCOUNT,
    CODE,
    EDGE,
    EMPTY,
    INSPECTION,
    MODE,
    PROGRAM,
    SANITIZER,
    Floors,
    Stage,
    Surroundings,
    Values,
)
from layline.campaign.values.measurement import Arm, Environment
from layline.campaign.values.operator import Operator, Shape

ARENA_BYTES = 24 << 20
"""More than twice a core's own caches."""
LANES = 9
STALE = (0x42, 0x47, 0xC1)
"""Bytes that make a number which is seen, in any width: 48.6, 5.1e4 and -24.2 in f32."""
PEAK_FLOPS_PER_CORE = 64 * 6e9
"""Two 512-bit fused multiply-adds per cycle at 6 GHz: no core of today does more in f32."""


class Processor:
    """As `stage.Device` says, for kernels in C and Python."""

    pace: Pace = PROCESSOR
    values: Values = NumpyValues()
    starts_slowly = False
    shares_memory = False
    goes_on = False
    forks = True
    clock = "own"
    has_events = False

    def __init__(self, language: str) -> None:
        self.unqueued: set[tuple[str, str]] = set()
        self.trip_ns = 0.0
        # a Python kernel is called with views of memory, and an empty one has no shape to be called with
        self._cores = os.sched_getaffinity(0)
        self.gives = frozenset(
            {MODE, ACCOUNT, CODE, INSPECTION, *((SANITIZER, PROGRAM, EDGE, EMPTY) if language == "c" else ())}
        )

    def check(self) -> None:
        """Always here; the oracle's idle threads would spin beside the measured calls."""
        use_one_thread()
        keep_freed_memory()

    def describe(self, environment: Environment) -> Environment:
        return environment

    def find_arena_bytes(self, operator: Operator, shapes: tuple[Shape, ...]) -> int:
        """Sixteen of the largest calls fit a request, and the arena holds several requests."""
        largest = max(sum(buffer.count_bytes(shape) + 1024 for buffer in operator.buffers) for shape in shapes)
        return max(ARENA_BYTES, 64 * largest)

    def count_room(self, stage: Stage, shape: Shape) -> int:  # noqa: ARG002  the arena is made for the most there are
        return self.pace.most_calls

    @contextmanager
    def spread(self) -> Iterator[None]:
        """Ourselves, and what we start, on every core there is."""
        kept = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self._cores)
        try:
            yield
        finally:
            os.sched_setaffinity(0, kept)

    def count_lanes(self, stage: Stage) -> int:
        """Two for a core: the parent's work and the worker's come in turns, and a compiler's beside them."""
        del stage
        return min(LANES, 2 * len(self._cores))

    def connect(self, stage: Stage, arm: Arm, built: Built, around: Surroundings) -> tuple[Memory, WorkerProcess]:
        """A sandbox and an arena of its own, whichever arm it is."""
        del arm
        arena = Arena(stage.operator, around.size, stage.rng)
        kernel = Kernel(
            path=built.path,
            operator=stage.operator,
            threads=stage.plan.threads,
            timeout_s=stage.plan.timeout_s,
            masked=around.masked,
            mode=stage.mode,
            stale=int(stage.rng.choice(STALE)) ^ 0xFF if around.is_stale else 0,  # the allocator takes the complement
        )
        return arena, Worker(kernel, arena, stage.shop)

    @contextmanager
    def hold(self, workers: Sequence[Any], stage: Stage) -> Iterator[None]:
        """All arms on one core and this process on the others, so that inputs come from equally far for every call."""
        cores = sorted(os.sched_getaffinity(0))
        if stage.plan.threads > 1 or len(cores) < 2:
            yield
            return
        core = int(stage.rng.choice(cores))
        for worker in workers:
            worker.pin({core})
        os.sched_setaffinity(0, set(cores) - {core})
        try:
            yield
        finally:
            os.sched_setaffinity(0, cores)

    def read_instrument(self, worker: Any, environment: Environment) -> tuple[Environment, frozenset[str]]:
        """What the sandbox lacks, and whose code is in a worker whatever it runs."""
        return replace(environment, weaker=worker.weaker), worker.mapped_files()

    def read_condition(self, where: str) -> str:
        del where
        return ""

    def look_around(self) -> None:
        """Processor time does not run while others have the core."""

    def find_floors(self, operator: Operator, shapes: tuple[Shape, ...]) -> Floors:
        """What the arithmetic needs on the fastest core there is."""
        times = {
            (step.name, shape.label): step.flops(shape) / PEAK_FLOPS_PER_CORE * 1e3
            for step in operator.passes
            for shape in shapes
        }
        return Floors(times=times, told=f"at most {PEAK_FLOPS_PER_CORE / 1e9:.0f} GFLOP/s a core")
