"""What the legs of one measuring run on an accelerator share, and how they come to life together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.campaign.devices.gpu_memory import footprint, take_arena
from layline.campaign.devices.gpu_worker_process import Source
from layline.campaign.measure.arm import Given
from layline.campaign.measure.build import Built, NotBuilt, build_kernel
from layline.campaign.measure.gpu.arm import GpuLeg
from layline.campaign.measure.inputs import draw
from layline.campaign.values.model import Leg, Operator, Plan, Shape, Snapshot
from layline.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

REQUEST_MS = 8.0
"""Short calls are made several to a request, on as many distinct inputs, until a request takes about this long."""
MOST_CALLS = 16
LEGS = (Leg.BEST, Leg.CANDIDATE, Leg.AGAIN, Leg.CANARY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Operator, plan, folder, device."""

    operator: Operator
    shapes: tuple[Shape, ...]
    plan: Plan
    shop: Path
    device: str
    arena_bytes: int
    rng: np.random.Generator

    def open_alone(self, built: Built, cache: str, size: int) -> GpuLeg:
        """A worker with memory of its own size, for a call that is larger than all others."""
        return replace(self, arena_bytes=size)._start(Leg.AGAIN, built, cache, len(LEGS))

    def open(self, leg: Leg, built: Built, cache: str) -> GpuLeg:
        """Start one worker; it has torch and its memory, but not yet the kernel."""
        return self._start(leg, built, cache, LEGS.index(leg))

    def _start(self, leg: Leg, built: Built, cache: str, number: int) -> GpuLeg:
        folder = self.shop / f"cache-{cache}"
        folder.mkdir(exist_ok=True)
        source = Source(path=built.path, operator=self.operator, cache=folder, timeout_s=self.plan.timeout_s)
        arena = take_arena(self.device, number, self.arena_bytes)
        return GpuLeg(leg, source, arena, self.shop, self.rng)


def find_arena_bytes(operator: Operator, shapes: tuple[Shape, ...], device: str) -> int:
    """Room for a full request of the largest shape and as much again, so that places rotate past every cache."""
    if device == "cpu":
        return 64 << 20
    largest = max(footprint(operator, shape) for shape in shapes)
    wanted = 2 * MOST_CALLS * min(footprint(operator, shape) for shape in shapes)
    need = max(4 * largest, min(wanted, 12 << 30), 2 << 30)
    return -(-int(need) // (1 << 21)) * (1 << 21)


def take_kernel(stage: Stage, snapshot: Snapshot) -> Built | NotBuilt:
    """The snapshot's Python files in a folder of their own; Triton compiles in the worker."""
    return build_kernel(snapshot, stage.operator, stage.shop)


def take_own(stage: Stage, source: str) -> Built:
    """One of our own kernels."""
    built = take_kernel(stage, Snapshot(files=(("kernel.py", source),)))
    if isinstance(built, NotBuilt):
        raise BenchError(f"One of Layline's own kernels cannot be used: {built.reason}")
    return built


@contextmanager
def live(legs: list[GpuLeg]) -> Iterator[list[GpuLeg]]:
    """Wait until all are ready; end them all."""
    try:
        for leg in legs:
            leg.worker.wait_ready()
        yield legs
    finally:
        for leg in legs:
            leg.close()


def open_legs(stage: Stage, builts: Mapping[Leg, Built]) -> list[GpuLeg]:
    """One worker per leg; the best's twins compile from its own cache."""
    same = {Leg.AGAIN: Leg.BEST, Leg.CANARY: Leg.BEST}
    return [stage.open(leg, built, same.get(leg, leg).value) for leg, built in builts.items()]


def draw_given(stage: Stage, shape: Shape, kind: str | None = None, *, count: int = 1) -> Given:
    """Fresh inputs with their right answers."""
    return draw(stage.operator, shape, stage.rng, kind or stage.operator.distributions[0], count=count)


def nudge(stage: Stage, given: Given) -> Given:
    """The same place and values, but one element of one input changed by much: the output must follow."""
    import torch

    operator, rng = stage.operator, stage.rng
    inputs: dict[str, Any] = dict(given.inputs[0])
    changed = {name: value.clone() for name, value in inputs.items()}
    names = [
        name for name, value in changed.items() if value.dtype in (torch.bfloat16, torch.float32) and value.numel()
    ]
    if names:
        array = changed[str(rng.choice(names))].view(-1)
        at = int(rng.integers(0, array.numel()))
        spread = float(array[: 1 << 20].float().pow(2).mean().sqrt()) or 1.0
        array[at] = float(array[at]) + float(rng.choice((-8.0, 8.0))) * spread
    right = tuple((step.name, (operator.oracle(step.name, given.shape, changed),)) for step in operator.passes)
    return replace(given, kind="nudged", inputs=(changed,), right=right, on_same_place=True, is_exact=False, called=())


def permute(stage: Stage, given: Given, name: str) -> Given:
    """The same place and values, but two elements of an input have changed places: every sum over it stays what it was."""
    inputs: dict[str, Any] = dict(given.inputs[0])
    changed = {one: value.clone() for one, value in inputs.items()}
    flat = changed[name].view(-1)
    if flat.numel() > 1:
        low, high = int(flat.float().argmin()), int(flat.float().argmax())
        kept = flat[low].clone()
        flat[low] = flat[high]
        flat[high] = kept
    operator = stage.operator
    right = tuple((step.name, (operator.oracle(step.name, given.shape, changed),)) for step in operator.passes)
    return replace(given, kind="nudged", inputs=(changed,), right=right, on_same_place=True, is_exact=False, called=())


def plan_count(stage: Stage, shape: Shape, slowest_ms: float) -> int:
    """Calls per request for a shape whose step takes that long on the slowest leg."""
    room = stage.arena_bytes // (2 * footprint(stage.operator, shape))
    wanted = round(REQUEST_MS * len(stage.operator.passes) / max(slowest_ms, 0.01))
    return max(1, min(MOST_CALLS, room, wanted))
