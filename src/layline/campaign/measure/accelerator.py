"""An accelerator as a device: memory on it, a worker with torch, the parent's wall clock beside the device's events.

CUDA; ROCm goes by the same code, because torch calls its devices `cuda` too, and has never been tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from layline.campaign.devices.device import ACCELERATOR, Memory, Pace, WorkerProcess
from layline.campaign.devices.gpu_company import look_around
from layline.campaign.devices.gpu_condition import read_accelerator, read_condition
from layline.campaign.devices.gpu_memory import DeviceMemory, count_lanes, footprint, take_arena
from layline.campaign.devices.gpu_roof import choose_rate, measure_ceilings
from layline.campaign.devices.gpu_worker_process import Source, TorchWorker
from layline.campaign.measure.build import Built
from layline.campaign.measure.stage import (
    EMPTY,
    INSPECTION,
    PROFILER,
    ROOM,
    STREAM,
    VIEWS,
    Floors,
    Stage,
    Surroundings,
    Values,
)
from layline.campaign.measure.torch_values import TorchValues
from layline.campaign.operators.tensors import find_device
from layline.campaign.values.company import Look
from layline.campaign.values.measurement import Arm, Environment, Plan
from layline.campaign.values.operator import Operator, Shape
from layline.errors import BenchError

HEADROOM = 1.35
"""How far above torch's own large operations a kernel may be before the time is called impossible."""
TOGETHER, MOST_ARENA = 32, 8 << 30
"""Calls to a request that there is room for, as far as an arena may be so large: a call's buffers may be gigabytes."""
SANDBOX = (
    "a process of its own with torch and the kernel: no seed, no reference, no clock that counts, no verdict",
    "no network where the machine allows closing it; no new privileges; frozen while nothing is asked of it",
)
_NUMBERS = (Arm.BEST, Arm.CANDIDATE, Arm.AGAIN, Arm.CANARY)


def plan_device(alpha: float, min_effect: float) -> Plan:
    """What is measured on an accelerator: the parent's wall clock decides, calls are few and checked in full."""
    return Plan(
        looks=(3, 5, 8, 12), calls=6, seconds=1.0, alpha=alpha, min_effect=min_effect, clock="wall", timeout_s=90.0
    )


def has_device() -> bool:
    """Whether kernels of this kind can run on this machine."""
    try:
        check_device()
    except BenchError:
        return False
    return True


def check_device() -> None:
    """Torch and an accelerator are here."""
    try:
        import torch
    except ImportError:
        raise BenchError(
            "There is no torch here.", hint="GPU operators run with the machine's own torch and Triton."
        ) from None
    if find_device() != "cpu" and not torch.cuda.is_available():
        raise BenchError("torch sees no accelerator here.", hint="Run this on the GPU machine; see docs/gpu.md.")


class Accelerator:
    """As `stage.Device` says, for kernels in Triton and torch; on the host (`cpu`) it is rehearsed, not measured."""

    pace: Pace = ACCELERATOR
    values: Values = TorchValues()
    starts_slowly = True
    shares_memory = True
    goes_on = True
    forks = False  # a fork has nothing of the device
    clock = "wall"

    def __init__(self, operator: Operator, name: str) -> None:
        self.name = name
        self.has_events = name != "cpu"
        self.unqueued: set[tuple[str, str]] = set()
        self.trip_ns = 0.0
        on_device = (PROFILER, ROOM) if name != "cpu" else ()
        # sums over nothing where they are exact: the other operators have not been tried with empty extents on a device
        empty = (EMPTY,) if operator.exact is not None else ()
        self.gives = frozenset({STREAM, VIEWS, INSPECTION, *on_device, *empty})

    def check(self) -> None:
        check_device()

    def describe(self, environment: Environment) -> Environment:
        return replace(environment, sandbox=SANDBOX)

    def find_arena_bytes(self, operator: Operator, shapes: tuple[Shape, ...]) -> int:
        """Room for a full request of the largest shape and as much again, so that places rotate past every cache."""
        if self.name == "cpu":
            return 64 << 20
        largest = max(footprint(operator, shape) for shape in shapes)
        wanted = 2 * TOGETHER * min(footprint(operator, shape) for shape in shapes)
        need = max(4 * largest, min(wanted, MOST_ARENA), 2 << 30)
        return -(-int(need) // (1 << 21)) * (1 << 21)

    def count_room(self, stage: Stage, shape: Shape) -> int:
        return stage.arena_bytes // (2 * footprint(stage.operator, shape))

    @contextmanager
    def spread(self) -> Iterator[None]:
        """Nothing: nobody was kept to a core."""
        yield

    def count_lanes(self, stage: Stage) -> int:
        """As many as leave half of the free memory alone, with an arena for each and one more."""
        return count_lanes(self.name, stage.arena_bytes)

    def connect(self, stage: Stage, arm: Arm, built: Built, around: Surroundings) -> tuple[Memory, WorkerProcess]:
        """A process with torch, whose files cannot be hidden, and an arena that is kept for the arm."""
        folder = stage.shop / f"cache-{around.cache}"
        folder.mkdir(exist_ok=True)
        source = Source(
            path=built.path,
            operator=stage.operator,
            cache=folder,
            timeout_s=stage.plan.timeout_s,
            is_profiled=around.is_profiled,
            is_stale=around.is_stale,
        )
        number = _NUMBERS.index(arm) if around.size == stage.arena_bytes else len(_NUMBERS)
        number += around.lane * (len(_NUMBERS) + 1)
        memory = DeviceMemory(stage.operator, take_arena(self.name, number, around.size), stage.rng)
        return memory, TorchWorker(source, memory, stage.shop)

    @contextmanager
    def hold(self, workers: Sequence[Any], stage: Stage) -> Iterator[None]:
        """Nothing: the device is one."""
        del workers, stage
        yield

    def read_instrument(self, worker: Any, environment: Environment) -> tuple[Environment, frozenset[str]]:
        """What the sandbox lacks, and what the device is."""
        told = read_accelerator(worker.versions)
        return replace(environment, weaker=worker.weaker, accelerator=told), frozenset()

    def read_condition(self, where: str) -> str:
        return read_condition(where)

    def look_around(self) -> Look | None:
        return look_around(self.name) if self.name != "cpu" else None

    def find_floors(self, operator: Operator, shapes: tuple[Shape, ...]) -> Floors:
        """What bytes and arithmetic need at the rates torch reaches here, with headroom."""
        ceilings = measure_ceilings(self.name)
        rate, copy = HEADROOM * choose_rate(operator, ceilings), HEADROOM * ceilings.copy_bytes_per_s
        times = {
            (step.name, shape.label): max(step.flops(shape) / rate, step.bytes_moved(shape) / copy) * 1e3
            for step in operator.passes
            for shape in shapes
            if rate
        }
        told = (
            f"copy {ceilings.copy_bytes_per_s / 1e12:.2f} TB/s, bf16 {ceilings.bf16_flops_per_s / 1e12:.0f} TFLOPS, "
            f"fp8 {ceilings.fp8_flops_per_s / 1e12:.0f} TFLOPS"
        )
        return Floors(times=times, told=f"measured in this run with torch: {told}", needs="bytes and arithmetic need")
