"""The memory a parent and one worker share: fresh places, poisoned outputs, guard bands, byte-for-byte checks."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline.campaign.values.model import Arrays, Operator, Pass, Shape

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

GUARD = 256
"""Bytes before and after every buffer that nobody may touch."""
_SEALS = 0x0001 | 0x0002 | 0x0004
"""No more seals, no shrinking (it would crash the reader), no growing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBuffers:
    """Where the buffers of one call lie."""

    offsets: tuple[tuple[str, int], ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """One call as it was laid out: what the kernel was given and what surrounded it."""

    step: Pass
    shape: Shape
    place: CallBuffers
    inputs: Arrays
    sentinel: int
    """Bit pattern of the poison (a quiet NaN with a secret payload)."""
    guard: bytes


class Arena:
    """A sealed anonymous file, mapped here and in one worker."""

    def __init__(self, operator: Operator, size: int, rng: np.random.Generator) -> None:
        self.operator = operator
        self.size = size
        self.fd = os.memfd_create("a", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, _SEALS)
        self._map = mmap.mmap(self.fd, size)
        self._rng = rng
        self._cursor = 0

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.fd)
        self._map = None  # type: ignore[assignment]  # arrays may still look into it; the last one frees it

    def place(self, step: Pass, shape: Shape, rng: np.random.Generator) -> CallBuffers:
        """A stretch nobody used lately, at an unpredictable offset: rotation leaves the caches behind."""
        at = self._cursor + 64 * int(rng.integers(4, 64))
        need = self.footprint(step, shape)
        if at + need + 8192 > self.size:
            at = 64 * int(rng.integers(4, 64))
        start, offsets = at, []
        for name in step.buffers:
            at += GUARD
            offsets.append((name, at))
            at += -(-self._bytes(name, shape) // 64) * 64 + GUARD
        self._cursor = at
        return CallBuffers(offsets=tuple(offsets), start=start, end=at)

    def footprint(self, step: Pass, shape: Shape) -> int:
        """Bytes one call needs, guards included."""
        return sum(-(-self._bytes(name, shape) // 64) * 64 + 2 * GUARD for name in step.buffers)

    def fill(self, step: Pass, shape: Shape, place: CallBuffers, inputs: Arrays) -> Filled:
        """Write inputs, poison outputs, raise the guard bands."""
        import numpy as np

        raw = self._bytes_view()
        guard = self._rng.bytes(GUARD)
        sentinel = 0x7FC00000 | int(self._rng.integers(1, 1 << 22))
        for name, at in place.offsets:
            length = self._bytes(name, shape)
            end = at + -(-length // 64) * 64
            raw[at - GUARD : at] = np.frombuffer(guard, dtype=np.uint8)
            raw[end : end + GUARD] = np.frombuffer(guard, dtype=np.uint8)
            raw[at + length : end] = guard[0]
            if name in step.inputs:
                self._view(name, shape, at)[...] = inputs[name]
            else:
                raw[at : at + length].view(np.uint32)[...] = sentinel
        return Filled(step=step, shape=shape, place=place, inputs=inputs, sentinel=sentinel, guard=guard)

    def numbers(self, filled: Filled, *, with_lengths: bool) -> tuple[int, ...]:
        """The arguments of the call, as the worker wants them."""
        offsets = tuple(at for _name, at in filled.place.offsets)
        lengths = tuple(self._bytes(name, filled.shape) for name, _at in filled.place.offsets) if with_lengths else ()
        return (*offsets, *lengths, *(value for _name, value in filled.shape.sizes))

    def copy_outputs(self, filled: Filled) -> dict[str, Array]:
        """The outputs as they are now."""
        offsets = dict(filled.place.offsets)
        return {name: self._view(name, filled.shape, offsets[name]).copy() for name in filled.step.outputs}

    def find_changes(self, filled: Filled, outputs: Arrays) -> Iterator[str]:
        """Outputs that are no longer what they were at return."""
        offsets = dict(filled.place.offsets)
        for name in filled.step.outputs:
            now = self._view(name, filled.shape, offsets[name])
            changed = _differing_bytes(now, outputs[name])
            if changed:
                yield f"{changed} of {now.nbytes} bytes of {name}"

    def find_touched(self, filled: Filled) -> Iterator[str]:
        """Outputs of a call that was not made which are no longer poisoned."""
        import numpy as np

        offsets = dict(filled.place.offsets)
        for name in filled.step.outputs:
            if name in filled.step.inputs:
                continue
            now = self._view(name, filled.shape, offsets[name])
            touched = int((now.ravel().view(np.uint32) != filled.sentinel).sum()) if now.size else 0
            if touched:
                yield f"{touched} of {now.size} elements of {name}"

    def find_trespass(self, filled: Filled) -> Iterator[tuple[str, str]]:
        """Inputs that were modified and guard bands that were written, as (property, what)."""
        import numpy as np

        raw = self._bytes_view()
        guard = np.frombuffer(filled.guard, dtype=np.uint8)
        for name, at in filled.place.offsets:
            length = self._bytes(name, filled.shape)
            end = at + -(-length // 64) * 64
            before, after = raw[at - GUARD : at] != guard, raw[end : end + GUARD] != guard
            tail = raw[at + length : end] != guard[0]
            if before.any():
                yield "guard-band", f"{int(before.sum())} bytes before {name} were written"
            if after.any() or tail.any():
                yield "guard-band", f"{int(after.sum() + tail.sum())} bytes after {name} were written"
            if name in filled.step.inputs and name not in filled.step.outputs:
                changed = _differing_bytes(self._view(name, filled.shape, at), filled.inputs[name])
                if changed:
                    yield "input-modified", f"{changed} of {length} bytes of the input {name} were changed"

    def _bytes(self, name: str, shape: Shape) -> int:
        import numpy as np

        buffer = self.operator.buffer(name)
        count = 1
        for extent in buffer.extent(shape):
            count *= extent
        return count * np.dtype(buffer.dtype).itemsize

    def _bytes_view(self) -> Array:
        import numpy as np

        return np.frombuffer(self._map, dtype=np.uint8)

    def _view(self, name: str, shape: Shape, at: int) -> Array:
        import numpy as np

        buffer = self.operator.buffer(name)
        extent = buffer.extent(shape)
        count = int(np.prod(extent, dtype=np.int64))
        return np.frombuffer(self._map, dtype=buffer.dtype, count=count, offset=at).reshape(extent)


def _differing_bytes(left: Array, right: Array) -> int:
    import numpy as np

    if left.tobytes() == right.tobytes():
        return 0
    return int((left.ravel().view(np.uint8) != np.ascontiguousarray(right).ravel().view(np.uint8)).sum())
