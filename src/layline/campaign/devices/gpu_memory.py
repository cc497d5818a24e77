"""Device memory a parent and one worker share: fresh places, poisoned outputs, guard bands, byte-for-byte checks."""

from __future__ import annotations

import math
import mmap
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from layline.campaign.devices.device import Arrays, Filled, Place
from layline.campaign.values.operator import Operator, Pass, Shape
from layline.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

GUARD = 512
"""Bytes before and after every buffer that nobody may touch."""
ALIGN = 512
WORDS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
"""Integer dtypes of the same width, in which poison and bit patterns are written and compared."""
FLUSH_BYTES = 256 << 20
"""Written and read before every timed request: more than twice the largest L2 cache of today."""
SAMPLE = 61
"""Every so many elements one is part of the fingerprint at return: a prime, so that every tile has some."""
LATE_FREE_NS = 150_000
"""How much longer the fingerprint at return may take than the same right after it; more means work was still going on,
and is charged to the call."""
LEAD_TURNS = 20_000
"""Of the device's empty loop for every copy that is to be launched meanwhile, about ten microseconds."""
STOLEN_SHARE, STOLEN_FREE_MS = 0.2, 0.05
"""How much longer bringing the same inputs may take than it did at best; more is charged to the call that waits for
them: its process had the device meanwhile.
"""
MOST_LANES, FREE_SHARE = 8, 0.5
_TAKING = threading.Lock()
_POOL: dict[tuple[str, int, int], DeviceArena] = {}
_SHORTEST: dict[tuple[str, str, str, int], float] = {}
"""Milliseconds that bringing so many calls' inputs of an operator's pass and shape took at best, for whichever arm."""


class DeviceArena:
    """One large allocation, kept for the life of this process: memory shared with a killed worker cannot be given back."""

    def __init__(self, device: str, size: int) -> None:
        import torch

        self.device = device
        self.size = size
        self.cursor = 0
        self.word = 0
        """The last one written at the very beginning, where queued calls wait for the next."""
        self.fd = -1
        if device == "cpu":
            self.fd = os.memfd_create("a")
            os.ftruncate(self.fd, size)
            self._map = mmap.mmap(self.fd, size)
            self.raw = torch.frombuffer(self._map, dtype=torch.uint8)
        else:
            try:
                self.raw = torch.empty(size, dtype=torch.uint8, device=device)
            except torch.OutOfMemoryError:
                told = f"The device does not have {size / (1 << 30):.1f} GiB free for the buffers of one more process."
                raise BenchError(told, hint="`nvidia-smi` or `rocm-smi` shows who else uses it.") from None

    def share(self) -> dict[str, Any]:
        """What a worker needs to open it."""
        if self.device == "cpu":
            return {"fd": self.fd, "bytes": self.size}
        words = self.raw.untyped_storage()._share_cuda_()
        handle = [{"hex": bytes(word).hex()} if isinstance(word, (bytes, bytearray)) else word for word in words]
        return {"handle": handle, "start": 0, "bytes": self.size}


def take_arena(device: str, number: int, size: int) -> DeviceArena:
    """The arena of one arm; probes beside one another ask at the same time."""
    key = (device, number, size)
    with _TAKING:
        if key not in _POOL:
            _POOL[key] = DeviceArena(device, size)
        return _POOL[key]


@cache
def count_lanes(device: str, size: int) -> int:
    """How many probes may have arenas of that size beside the arms', asked once: what they take is kept."""
    import torch

    if device == "cpu":
        return MOST_LANES
    free, _whole = torch.cuda.mem_get_info()
    return max(0, min(MOST_LANES, int(FREE_SHARE * free // size) - 1))


class DeviceMemory:
    """Calls lie at unpredictable places of an arena and come round only after the cache was overwritten."""

    def __init__(self, operator: Operator, arena: DeviceArena, rng: np.random.Generator) -> None:
        self.operator = operator
        self.arena = arena
        self.size = arena.size
        self._rng = rng

    def close(self) -> None:
        """The arena is kept; see there."""

    def flush(self) -> None:
        """Overwrite the L2 cache, then wait for everything this process gave the device."""
        flush_cache(self.arena.device)
        synchronize(self.arena.device)

    def place(self, step: Pass, shape: Shape, rng: np.random.Generator) -> Place:
        """Offsets of a call's buffers on a stretch nobody used lately."""
        at = self.arena.cursor + ALIGN * int(rng.integers(1, 64))
        if at + footprint(self.operator, shape) + 64 * ALIGN > self.size:
            at = ALIGN * int(rng.integers(1, 64))
        offsets = []
        for name in step.buffers:
            at += GUARD
            offsets.append((name, at))
            at += _round(self._bytes(name, shape)) + GUARD
        self.arena.cursor = at
        return tuple(offsets)

    def footprint(self, step: Pass, shape: Shape) -> int:
        """Bytes one call needs, guards included."""
        return sum(_round(self._bytes(name, shape)) + 2 * GUARD for name in step.buffers)

    def fill(self, step: Pass, shape: Shape, place: Place, inputs: Arrays, *, is_queued: bool = False) -> Filled:
        """Write inputs, unless they are brought later, poison outputs, raise the guard bands."""
        guard = int(self._rng.integers(1, 255))
        poison = {}
        raw = self.arena.raw
        for name, at in place:
            size = self._bytes(name, shape)
            raw[at - GUARD : at] = guard
            raw[at + size : at + _round(size) + GUARD] = guard
            if name in step.inputs:
                if not is_queued:
                    self._view(name, shape, at).copy_(inputs[name])
            else:
                poison[name] = draw_poison(self.operator.buffer(name).dtype, width(self.operator, name), self._rng)
                self._words(name, shape, at).fill_(poison[name])
        band = bytes((guard,))
        return Filled(
            step=step, shape=shape, place=place, inputs=inputs, poison=poison, guard=band, is_queued=is_queued
        )

    def next_word(self) -> int:
        """What the calls that are queued next wait for."""
        self.arena.word = self.arena.word % 0x7FFFFFFF + 1
        return self.arena.word

    def bring(self, filled: Sequence[Filled]) -> int:
        """Inputs of queued calls, an overwritten cache, then the word they wait for: without a pause, so that the worker, which
        the device serves in turn with us, has nothing of it in between unless this takes longer. Nanoseconds it took longer.
        """
        word = self.arena.raw[:4].view(_import_torch().int32)
        pairs = [
            (self._view(name, one.shape, at), one.inputs[name])
            for one in filled
            for name, at in one.place
            if name in one.step.inputs
        ]
        with _Lap(self.arena.device, LEAD_TURNS * (len(pairs) + 4)) as lap:
            for view, array in pairs:
                view.copy_(array)
            flush_cache(self.arena.device)
            word.fill_(self.arena.word)
        key = (self.operator.name, filled[0].step.name, filled[0].shape.label, len(filled))
        shortest = _SHORTEST[key] = min(lap.ms, _SHORTEST.get(key, lap.ms))
        return int(max(0.0, lap.ms - (1 + STOLEN_SHARE) * shortest - STOLEN_FREE_MS) * 1e6)

    def describe(self, filled: Filled) -> list[list[Any]]:
        """The call's arguments as the worker wants them: dtype, offset in elements, extents."""
        described: list[list[Any]] = []
        for name, at in filled.place:
            buffer = self.operator.buffer(name)
            extents = list(buffer.extent(filled.shape))
            described.append([buffer.dtype, at // width(self.operator, name), extents])
            if name in filled.turned:
                described[-1].append([*_find_strides(extents)[:-2], 1, extents[-2]])
        return described

    def turn(self, filled: Filled) -> Filled:
        """The same call with every matrix among its inputs lying the other way round, handed over as a view."""
        offsets, turned = dict(filled.place), []
        for name in filled.step.inputs:
            buffer = self.operator.buffer(name)
            extents = buffer.extent(filled.shape)
            if len(extents) > 1 and min(extents) > 1 and name not in filled.step.outputs:
                other = (*extents[:-2], extents[-1], extents[-2])
                self._typed(buffer.dtype, offsets[name], other).copy_(filled.inputs[name].transpose(-1, -2))
                turned.append(name)
        return replace(filled, turned=tuple(turned))

    def view_outputs(self, filled: Filled) -> dict[str, Any]:
        """Live views of the outputs."""
        offsets = dict(filled.place)
        return {name: self._view(name, filled.shape, offsets[name]) for name in filled.step.outputs}

    def take(self, filled: Sequence[Filled]) -> Watched:
        """Live views of the outputs with their fingerprints now; how long it took to have them tells of work still
        going on.
        """
        views = tuple(self.view_outputs(one) for one in filled)
        start = int(self._rng.integers(0, SAMPLE))
        seen, first_ns = read_fingerprints(views, start)
        again, second_ns = read_fingerprints(views, start)
        late = max(0, first_ns - second_ns - LATE_FREE_NS)
        return Watched(outputs=views, late_ns=late, start=start, seen=tuple(seen), again=tuple(again))

    def find_touched(self, filled: Filled) -> Iterator[str]:
        """Outputs of a call that was not made which are no longer poisoned."""
        offsets = dict(filled.place)
        for name, sentinel in filled.poison.items():
            now = self._words(name, filled.shape, offsets[name])
            touched = int((now != sentinel).sum()) if now.numel() else 0
            if touched:
                yield f"{touched} of {now.numel()} elements of {name}"

    def find_trespass(self, filled: Filled) -> Iterator[tuple[str, str]]:
        """Inputs that were modified and guard bands that were written, as (property, what)."""
        import torch

        bands = []
        raw = self.arena.raw
        for name, at in filled.place:
            size = self._bytes(name, filled.shape)
            bands += [raw[at - GUARD : at], raw[at + size : at + _round(size) + GUARD]]
        written = int((torch.cat(bands) != filled.guard[0]).sum())
        if written:
            yield "guard-band", f"{written} bytes outside the buffers were written"
        offsets = dict(filled.place)
        for name in filled.step.inputs:
            if name in filled.step.outputs:
                continue
            now = self._words(name, filled.shape, offsets[name])
            given = filled.inputs[name].view(now.dtype)
            if now.numel() and not torch.equal(now, given):
                changed = int((now != given).sum())
                yield "input-modified", f"{changed} of {now.numel()} elements of the input {name} were changed"

    def _bytes(self, name: str, shape: Shape) -> int:
        return math.prod(self.operator.buffer(name).extent(shape)) * width(self.operator, name)

    def _view(self, name: str, shape: Shape, at: int) -> Any:
        buffer = self.operator.buffer(name)
        return self._typed(buffer.dtype, at, buffer.extent(shape))

    def _words(self, name: str, shape: Shape, at: int) -> Any:
        return self._typed(WORDS[width(self.operator, name)], at, self.operator.buffer(name).extent(shape))

    def _typed(self, dtype: str, at: int, extent: tuple[int, ...]) -> Any:
        import torch

        kind = getattr(torch, dtype)
        return self.arena.raw[at : at + math.prod(extent) * kind.itemsize].view(kind).view(extent)


class _Lap:
    """What is launched inside runs in one go, behind a wait in which all of it can be launched."""

    ms = 0.0

    def __init__(self, device: str, turns: int) -> None:
        self._is_device = device != "cpu"
        self._turns = turns

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        if self._is_device:
            cuda = _import_torch().cuda
            self._first, self._last = (cuda.Event(enable_timing=True) for _ in range(2))
            cuda._sleep(self._turns)
            self._first.record()
        return self

    def __exit__(self, *_raised: object) -> None:
        if not self._is_device:
            self.ms = (time.perf_counter() - self._began) * 1e3
            return
        self._last.record()
        self._last.synchronize()
        self.ms = float(self._first.elapsed_time(self._last))


def _import_torch() -> Any:
    import torch

    return torch


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Outputs, live, and what they were when a request was answered: the device goes on when its process is stopped."""

    outputs: tuple[dict[str, Any], ...]
    late_ns: int
    start: int
    seen: tuple[int, ...]
    again: tuple[int, ...]

    def find_changes(self) -> Iterator[str]:
        """Fingerprints that are no longer what they were."""
        for now in (self.again, tuple(read_fingerprints(self.outputs, self.start)[0])):
            differing = sum(a != b for a, b in zip(now, self.seen, strict=True))
            if differing:
                yield f"{differing} of {len(self.seen)} fingerprints"
                return


def read_fingerprints(views: Sequence[Arrays], start: int) -> tuple[list[int], int]:
    """What a sample of each output's elements sums up to, and the nanoseconds it took to have it."""
    import torch

    began = time.perf_counter_ns()
    found = []
    for view in views:
        for output in view.values():
            words = output.view(getattr(torch, WORDS[output.element_size()])).flatten()
            found.append(words[start % max(1, min(SAMPLE, words.numel())) :: SAMPLE].sum(dtype=torch.int64))
    numbers = [int(number) for number in torch.stack(found).tolist()] if found else []
    return numbers, time.perf_counter_ns() - began


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


def width(operator: Operator, name: str) -> int:
    """Bytes of one element."""
    import torch

    return int(getattr(torch, operator.buffer(name).dtype).itemsize)


def draw_poison(dtype: str, wide: int, rng: np.random.Generator) -> int:
    """A quiet NaN with a payload: 0x7FC0 in bf16, 0x7FC00000 in f32; the one NaN of fp8; for integers any secret
    number.
    """
    if "float" not in dtype:
        return int(rng.integers(2, 1 << min(62, 8 * wide - 1)))
    if wide == 1:
        return 0x7F
    if wide == 2:
        return 0x7E00 | int(rng.integers(1, 256)) if dtype == "float16" else 0x7FC0 | int(rng.integers(1, 62))
    return 0x7FC00000 | int(rng.integers(1, 1 << 21)) if wide == 4 else 0x7FF8 << 48 | int(rng.integers(1, 1 << 40))


def footprint(operator: Operator, shape: Shape) -> int:
    """Bytes the largest pass of one call needs, guards included."""
    return max(
        sum(
            _round(math.prod(operator.buffer(name).extent(shape)) * width(operator, name)) + 2 * GUARD
            for name in step.buffers
        )
        for step in operator.passes
    )


def _find_strides(extents: list[int]) -> list[int]:
    return [math.prod(extents[at + 1 :]) for at in range(len(extents))]


def _round(size: int) -> int:
    return -(-size // ALIGN) * ALIGN
