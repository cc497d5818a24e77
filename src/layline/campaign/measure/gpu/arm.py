"""One leg of a measuring run on an accelerator: a live worker with its memory, fed and checked call by call."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.campaign.devices.gpu_memory import (
    DeviceArena,
    Laid,
    describe,
    fill,
    find_touched,
    find_trespass,
    lay,
    outputs_of,
)
from layline.campaign.devices.gpu_worker_process import Source, TorchWorker
from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.arm import Given, Ran
from layline.campaign.measure.gpu.check import digest, find_noise, find_wrong, fingerprint, measure_error
from layline.campaign.measure.oracle import Error, Wrong
from layline.campaign.values.model import Leg, Operator, Pass, Shape

if TYPE_CHECKING:
    import numpy as np

FLUSH_BYTES = 256 << 20
"""Written and read before every timed request: more than twice the largest L2 cache of today."""
LATE_FREE_NS = 150_000
"""How much longer the fingerprint at return may take than the same right after it; more means work was still going on,
and is charged to the call."""
SETTLE_S = 0.3
"""How long a wrong answer is given to become a late one."""


def synchronize(device: str) -> None:
    """Wait for everything this process gave the device."""
    import torch

    if device != "cpu":
        torch.cuda.synchronize(device)


@cache
def _flush_buffer(device: str) -> Any:
    import torch

    size = FLUSH_BYTES if device != "cpu" else 1 << 20
    return torch.zeros(size // 4, dtype=torch.int32, device=device)


def flush_cache(device: str) -> None:
    """Overwrite the L2 cache."""
    _flush_buffer(device).add_(1)


@dataclass(slots=True)
class _Memory:
    places: dict[tuple[str, str], tuple[tuple[tuple[str, int], ...], ...]] = field(default_factory=dict)
    outputs: deque[int] = field(default_factory=lambda: deque(maxlen=400))


def _read_fingerprints(views: list[dict[str, Any]], start: int) -> tuple[list[int], int]:
    """The outputs' fingerprints as numbers, and the nanoseconds it took to have them."""
    import torch

    began = time.perf_counter_ns()
    found = torch.stack([number for view in views for number in fingerprint(view, start)]).tolist()
    return [int(number) for number in found], time.perf_counter_ns() - began


class GpuLeg:
    """A worker and its arena. Every call it makes is checked before its time counts."""

    def __init__(self, leg: Leg, source: Source, arena: DeviceArena, shop: Path, rng: np.random.Generator) -> None:
        self.leg = leg
        self.operator: Operator = source.operator
        self.arena = arena
        self.worker = TorchWorker(source, arena, shop)
        self._rng = rng
        self._memory = _Memory()

    def close(self) -> None:
        """End the worker; the arena is the run's."""
        self.worker.close()

    def run(self, step: Pass, given: Given, *, spin: int = 0, settles: bool = False, is_checked: bool = True) -> Ran:
        """Make the request's calls of one pass, check everything about them, return their times."""
        every = self._fill(step, given)
        called = given.called or tuple(range(len(every)))
        laid = [every[at] for at in called]
        rights = [dict(given.right)[step.name][at] for at in called]
        calls = [describe(self.arena, self.operator, one) for one in laid]
        flush_cache(self.arena.device)
        synchronize(self.arena.device)
        entry = self.operator.passes.index(step)
        answer = self.worker.call(entry, calls, f"{step.name} on {given.shape.label}", spin=spin)
        views = [outputs_of(self.arena, self.operator, one) for one in laid]
        start = int(self._rng.integers(0, 61))
        seen, first_ns = _read_fingerprints(views, start)
        again, second_ns = _read_fingerprints(views, start)
        late = max(0, first_ns - second_ns - LATE_FREE_NS)
        count = len(laid)
        if not is_checked:
            return Ran(wall_ns=answer.wall_ns / count, cpu_ns=answer.device_ns / count, errors=(), outputs=())
        if settles:
            self.worker.settle(0.002)
        self._check_uncalled([one for at, one in enumerate(every) if at not in called])
        errors: list[Error] = []
        for one, view, right in zip(laid, views, rights, strict=True):
            errors += self._check(one, view, right, given)
            self._memory.outputs.extend(digest(output) for output in view.values() if output.numel() > 1)
        self._check_late(laid[0], seen, again, _read_fingerprints(views, start)[0])
        return Ran(
            wall_ns=(answer.wall_ns + late) / count,
            cpu_ns=answer.device_ns / count,
            errors=tuple(errors),
            outputs=tuple(views) if given.kind == "repeated" else (),
        )

    def run_raw(self, step: Pass, given: Given) -> dict[str, Any]:
        """Make one call and give back what it wrote, right or not: for inputs no oracle speaks of."""
        (laid,) = self._fill(step, given)
        synchronize(self.arena.device)
        where = f"{step.name} on {given.shape.label}"
        self.worker.call(self.operator.passes.index(step), [describe(self.arena, self.operator, laid)], where)
        return {name: view.clone() for name, view in outputs_of(self.arena, self.operator, laid).items()}

    def run_ordered(self, step: Pass, given: Given, stale: Given) -> None:
        """One call on the caller's stream: until its turn comes, other inputs lie on its places."""
        places = [lay(self.arena, self.operator, step, given.shape, self._rng) for _ in range(3)]
        values = (stale.inputs[0], given.inputs[0], stale.inputs[0])
        call, staged, taken = (
            fill(self.arena, self.operator, step, given.shape, place, (inputs, self._rng))
            for place, inputs in zip(places, values, strict=True)
        )
        views = [
            dict(zip((*step.inputs, *step.outputs), describe(self.arena, self.operator, one), strict=True))
            for one in (call, staged, taken)
        ]
        moves = (
            [[views[0][name], views[1][name]] for name in step.inputs],
            [[views[2][name], views[0][name]] for name in step.outputs],
        )
        synchronize(self.arena.device)
        where = f"{step.name} on {given.shape.label}"
        self.worker.order(self.operator.passes.index(step), list(views[0].values()), moves, where)
        found = outputs_of(self.arena, self.operator, taken)
        right: Any = dict(given.right)[step.name][0]
        for wrong in find_wrong(self.operator, taken, found, right, is_exact=False):
            raise Fault(
                "stream-order",
                f"{step.symbol} on {given.shape.label} does not keep the order of the stream it is called on: {wrong.reason}",
                "inputs were written on the caller's stream just before the call, outputs read on it right after",
                *wrong.evidence,
            )

    def _check_uncalled(self, uncalled: list[Laid]) -> None:
        """Buffers of calls that were not made: nobody may have written there."""
        for one in uncalled:
            for what in find_touched(self.arena, self.operator, one):
                raise Fault(
                    "own-buffers",
                    f"{one.step.symbol} on {one.shape.label} writes to buffers of a call that was not made: {what}.",
                    "it remembers where earlier calls lay and works ahead",
                )

    def watch(self, step: Pass, given: Given) -> dict[str, float]:
        """Make the calls of one pass under the profiler; device microseconds by name. The outputs are checked as
        ever.
        """
        laid = self._fill(step, given)
        calls = [describe(self.arena, self.operator, one) for one in laid]
        synchronize(self.arena.device)
        where = f"{step.name} on {given.shape.label}"
        seen = self.worker.watch(self.operator.passes.index(step), calls, where)
        for one, right in zip(laid, dict(given.right)[step.name], strict=True):
            self._check(one, outputs_of(self.arena, self.operator, one), right, given)
        return seen

    def read_memory(self) -> int:
        """Bytes in use on the device, by anybody, and by the worker on the host."""
        import torch

        on_device = 0
        if self.arena.device != "cpu":
            free, whole = torch.cuda.mem_get_info()
            on_device = int(whole - free)
        return on_device + self.worker.resident_bytes()

    def describe_all(self, shape: Shape) -> list[list[list[Any]]]:
        """The arguments of one call of every pass, on fresh places with whatever lies there."""
        empty = {"inputs": {}, "sentinels": (), "guard": 0}
        found = []
        for step in self.operator.passes:
            offsets = lay(self.arena, self.operator, step, shape, self._rng)
            found.append(describe(self.arena, self.operator, Laid(step=step, shape=shape, offsets=offsets, **empty)))  # type: ignore[arg-type]
        return found

    def _fill(self, step: Pass, given: Given) -> list[Laid]:
        key = (step.name, given.shape.label)
        places = self._memory.places.get(key, ())
        if not given.on_same_place or len(places) < len(given.inputs):
            places = tuple(lay(self.arena, self.operator, step, given.shape, self._rng) for _ in given.inputs)
            self._memory.places[key] = places
        return [
            fill(self.arena, self.operator, step, given.shape, place, (inputs, self._rng))
            for place, inputs in zip(places, given.inputs, strict=False)
        ]

    def _check(self, laid: Laid, view: dict[str, Any], right: Any, given: Given) -> list[Error]:
        wrong = next(find_wrong(self.operator, laid, view, right, is_exact=given.is_exact), None)
        if wrong is not None:
            raise self._diagnose(wrong, laid, view, given)
        for property_, what in find_trespass(self.arena, self.operator, laid):
            raise Fault(property_, f"{laid.step.symbol} on {laid.shape.label}: {what}.")
        errors = [measure_error(name, output, right[name]) for name, output in view.items()]
        noisy = next(find_noise(self.operator, errors), None)
        if noisy is not None:
            raise self._diagnose(noisy, laid, view, given)
        return errors

    def _check_late(self, laid: Laid, seen: list[int], *later: list[int]) -> None:
        for now in later:
            if now != seen:
                differing = sum(a != b for a, b in zip(now, seen, strict=True))
                raise Fault(
                    "late-write",
                    f"{laid.step.symbol} on {laid.shape.label} went on writing after it had returned.",
                    f"{differing} of {len(seen)} fingerprints differ between return and a moment later",
                )

    def _diagnose(self, wrong: Wrong, laid: Laid, view: dict[str, Any], given: Given) -> Fault:
        """The most telling name for a wrong answer."""
        where = f"{laid.step.symbol} on {laid.shape.label}"
        evidence = (wrong.reason, *wrong.evidence, f"inputs: {given.kind}")
        before = [digest(output) for output in view.values()]
        self.worker.settle(SETTLE_S)
        synchronize(self.arena.device)
        if [digest(output) for output in view.values()] != before:
            return Fault("late-write", f"{where} went on writing after it had returned.", *evidence)
        for property_, what in find_trespass(self.arena, self.operator, laid):
            if property_ == "input-modified":
                return Fault(property_, f"{where}: {what}.", *evidence)
        for name, seen in zip(view, before, strict=True):
            if view[name].numel() > 1 and seen in self._memory.outputs:
                return Fault("replay", f"{where} returned an earlier call's {name} for new inputs.", *evidence)
        return Fault(self._context(wrong.property, given), f"{where}: {wrong.reason}", *evidence)

    def _context(self, property_: str, given: Given) -> str:
        if given.kind == "nudged":
            return "follows-inputs"
        if property_ in ("exact-integers", "writes-every-output"):
            return property_
        if given.is_held_out:
            return "held-out-shape"
        return property_ if given.kind in (self.operator.distributions[0], "repeated") else "hard-inputs"
