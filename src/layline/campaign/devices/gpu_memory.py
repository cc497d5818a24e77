"""Device memory a parent and one worker share: fresh places, poisoned outputs, guard bands, byte-for-byte checks."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline.campaign.values.model import Operator, Pass, Shape

if TYPE_CHECKING:
    import numpy as np

GUARD = 512
"""Bytes before and after every buffer that nobody may touch."""
ALIGN = 512
WORDS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
"""Integer dtypes of the same width, in which poison and bit patterns are written and compared."""
_POOL: dict[tuple[str, int, int], DeviceArena] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """One call as it was laid out."""

    step: Pass
    shape: Shape
    offsets: tuple[tuple[str, int], ...]
    inputs: dict[str, Any]
    sentinels: tuple[tuple[str, int], ...]
    """Bit pattern of the poison of each output: a NaN with a secret payload."""
    guard: int


class DeviceArena:
    """One large allocation; calls lie at unpredictable places in it and come round only after the cache was
    overwritten.
    """

    def __init__(self, device: str, size: int) -> None:
        import torch

        self.device = device
        self.size = size
        self.cursor = 0
        self.fd = -1
        if device == "cpu":
            self.fd = os.memfd_create("a")
            os.ftruncate(self.fd, size)
            self._map = mmap.mmap(self.fd, size)
            self.raw = torch.frombuffer(self._map, dtype=torch.uint8)
        else:
            self.raw = torch.empty(size, dtype=torch.uint8, device=device)

    def share(self) -> dict[str, Any]:
        """What a worker needs to open it."""
        if self.device == "cpu":
            return {"fd": self.fd, "bytes": self.size}
        words = self.raw.untyped_storage()._share_cuda_()
        handle = [{"hex": bytes(word).hex()} if isinstance(word, (bytes, bytearray)) else word for word in words]
        return {"handle": handle, "start": 0, "bytes": self.size}

    def typed(self, dtype: str, at: int, extent: tuple[int, ...]) -> Any:
        """A contiguous view."""
        import torch

        kind = getattr(torch, dtype)
        count = 1
        for size in extent:
            count *= size
        width = kind.itemsize
        return self.raw[at : at + count * width].view(kind).view(extent)


def take_arena(device: str, number: int, size: int) -> DeviceArena:
    """The arena of one leg, kept for the life of this process: memory shared with a killed worker cannot be given
    back.
    """
    key = (device, number, size)
    if key not in _POOL:
        _POOL[key] = DeviceArena(device, size)
    return _POOL[key]


def width(operator: Operator, name: str) -> int:
    """Bytes of one element."""
    import torch

    return int(getattr(torch, operator.buffer(name).dtype).itemsize)


def length(operator: Operator, name: str, shape: Shape) -> int:
    """Bytes of one buffer."""
    count = 1
    for extent in operator.buffer(name).extent(shape):
        count *= extent
    return count * width(operator, name)


def footprint(operator: Operator, shape: Shape) -> int:
    """Bytes the largest pass of one call needs, guards included."""
    return max(
        sum(_round(length(operator, name, shape)) + 2 * GUARD for name in (*step.inputs, *step.outputs))
        for step in operator.passes
    )


def _round(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def lay(
    arena: DeviceArena, operator: Operator, step: Pass, shape: Shape, rng: np.random.Generator
) -> tuple[tuple[str, int], ...]:
    """Offsets of a call's buffers on a stretch nobody used lately."""
    at = arena.cursor + ALIGN * int(rng.integers(1, 64))
    if at + footprint(operator, shape) + 64 * ALIGN > arena.size:
        at = ALIGN * int(rng.integers(1, 64))
    offsets = []
    for name in (*step.inputs, *step.outputs):
        at += GUARD
        offsets.append((name, at))
        at += _round(length(operator, name, shape)) + GUARD
    arena.cursor = at
    return tuple(offsets)


def fill(
    arena: DeviceArena, operator: Operator, step: Pass, shape: Shape, laid: tuple[tuple[str, int], ...], given: Any
) -> Laid:
    """Write inputs, poison outputs, raise the guard bands."""
    inputs, rng = given
    guard = int(rng.integers(1, 255))
    sentinels = []
    for name, at in laid:
        size = length(operator, name, shape)
        arena.raw[at - GUARD : at] = guard
        arena.raw[at + size : at + _round(size) + GUARD] = guard
        extent = operator.buffer(name).extent(shape)
        if name in step.inputs:
            arena.typed(operator.buffer(name).dtype, at, extent).copy_(inputs[name])
        else:
            wide = width(operator, name)
            # a quiet NaN: 0x7FC0 with a payload in bf16, 0x7FC00000 in f32
            sentinel = 0x7FC0 | int(rng.integers(1, 62)) if wide == 2 else 0x7FC00000 | int(rng.integers(1, 1 << 21))
            arena.typed(WORDS[wide], at, extent).fill_(sentinel)
            sentinels.append((name, sentinel))
    return Laid(step=step, shape=shape, offsets=laid, inputs=inputs, sentinels=tuple(sentinels), guard=guard)


def describe(arena: DeviceArena, operator: Operator, laid: Laid) -> list[list[Any]]:
    """The call's arguments as the worker wants them: dtype, offset in elements, extents."""
    del arena
    described = []
    for name, at in laid.offsets:
        buffer = operator.buffer(name)
        described.append([buffer.dtype, at // width(operator, name), list(buffer.extent(laid.shape))])
    return described


def outputs_of(arena: DeviceArena, operator: Operator, laid: Laid) -> dict[str, Any]:
    """Live views of the outputs."""
    offsets = dict(laid.offsets)
    return {
        name: arena.typed(operator.buffer(name).dtype, offsets[name], operator.buffer(name).extent(laid.shape))
        for name in laid.step.outputs
    }


def find_touched(arena: DeviceArena, operator: Operator, laid: Laid) -> Iterator[str]:
    """Outputs of a call that was not made which are no longer poisoned."""
    offsets = dict(laid.offsets)
    for name, sentinel in laid.sentinels:
        extent = operator.buffer(name).extent(laid.shape)
        now = arena.typed(WORDS[width(operator, name)], offsets[name], extent)
        touched = int((now != sentinel).sum()) if now.numel() else 0
        if touched:
            yield f"{touched} of {now.numel()} elements of {name}"


def find_trespass(arena: DeviceArena, operator: Operator, laid: Laid) -> Iterator[tuple[str, str]]:
    """Inputs that were modified and guard bands that were written, as (property, what)."""
    import torch

    bands = []
    for name, at in laid.offsets:
        size = length(operator, name, laid.shape)
        bands += [arena.raw[at - GUARD : at], arena.raw[at + size : at + _round(size) + GUARD]]
    written = int((torch.cat(bands) != laid.guard).sum())
    if written:
        yield "guard-band", f"{written} bytes outside the buffers were written"
    offsets = dict(laid.offsets)
    for name in laid.step.inputs:
        buffer = operator.buffer(name)
        now = arena.typed(WORDS[width(operator, name)], offsets[name], buffer.extent(laid.shape))
        given = laid.inputs[name].view(now.dtype)
        if now.numel() and not torch.equal(now, given):
            changed = int((now != given).sum())
            yield "input-modified", f"{changed} of {now.numel()} elements of the input {name} were changed"
