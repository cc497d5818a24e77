"""The memory a parent and one worker share: fresh places, poisoned outputs, guard bands, byte-for-byte checks."""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline.campaign.devices.device import Arrays, Filled, Place
from layline.campaign.values.operator import Operator, Pass, Shape

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

LINE = 64
GUARD = 256
"""Bytes before and after every buffer that nobody may touch."""
HIDDEN = mmap.PAGESIZE
"""At the end of the file: the worker may not even read there, so that what lies at the very end shows who reads beyond
it.
"""
_SEALS = 0x0001 | 0x0002 | 0x0004
"""No more seals, no shrinking (it would crash the reader), no growing."""


class Arena:
    """A sealed anonymous file, mapped here and in one worker."""

    def __init__(self, operator: Operator, size: int, rng: np.random.Generator) -> None:
        self.operator = operator
        self.size = -(-size // HIDDEN) * HIDDEN
        """Bytes for calls; a hidden page follows."""
        self.fd = os.memfd_create("a", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, self.size + HIDDEN)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, _SEALS)
        self._map = mmap.mmap(self.fd, self.size + HIDDEN)
        self._rng = rng
        self._cursor = 0
        self._is_closed = False
        self._raw: Array = _view_bytes(self._map)
        self._rooms: dict[tuple[str, Shape], Mapping[str, Room]] = {}

    def close(self) -> None:
        """Give the memory back, once."""
        if self._is_closed:
            return
        self._is_closed = True
        os.close(self.fd)
        self._raw = self._map = None  # type: ignore[assignment]  # arrays may still look into it; the last one frees it

    def _lengths(self, step: Pass, shape: Shape) -> Mapping[str, Room]:
        """The buffers of a call; asked for several times with every call."""
        key = (step.name, shape)
        found = self._rooms.get(key)
        if found is None:
            found = self._rooms[key] = {name: _find_room(self.operator, name, shape) for name in step.buffers}
        return found

    def place(self, step: Pass, shape: Shape, rng: np.random.Generator) -> Place:
        """A stretch nobody used lately, at an unpredictable offset: rotation leaves the caches behind."""
        at = self._cursor + 64 * int(rng.integers(4, 64))
        need = self.footprint(step, shape)
        if at + need + 8192 > self.size:
            at = 64 * int(rng.integers(4, 64))
        if at + need > self.size:
            raise ValueError(f"a call of {need} bytes does not fit into {self.size}")
        offsets = []
        for name, room in self._lengths(step, shape).items():
            at += GUARD
            offsets.append((name, at))
            at += room.rounded + GUARD
        self._cursor = at
        return tuple(offsets)

    def place_at_end(self, step: Pass, shape: Shape, name: str, rng: np.random.Generator) -> Place:
        """As `place`, but one buffer ends where the memory does, up to the rest of its last line of the cache."""
        self._cursor = 0
        beside = self.place(step, shape, rng)
        at = self.size - self._lengths(step, shape)[name].rounded
        return tuple((one, at if one == name else where) for one, where in beside)

    def footprint(self, step: Pass, shape: Shape) -> int:
        """Bytes one call needs, guards included."""
        return sum(room.rounded + 2 * GUARD for room in self._lengths(step, shape).values())

    def fill(self, step: Pass, shape: Shape, place: Place, inputs: Arrays) -> Filled:
        """Write inputs, poison outputs, raise the guard bands."""
        import numpy as np

        raw = self._raw
        guard = self._rng.bytes(GUARD)
        band = np.frombuffer(guard, dtype=np.uint8)
        rooms = self._lengths(step, shape)
        poison = {name: draw_poison(rooms[name].dtype, self._rng) for name in step.outputs}
        for name, at in place:
            room = rooms[name]
            end = at + room.rounded
            raw[at - GUARD : at] = band
            raw[end : end + GUARD] = band
            if room.length != room.rounded:
                raw[at + room.length : end] = guard[0]
            if name in step.inputs:
                self._view(room, at)[...] = inputs[name]
            else:
                raw[at : at + room.length].view(find_words(room.dtype))[...] = poison[name]
        return Filled(step=step, shape=shape, place=place, inputs=inputs, poison=poison, guard=guard)

    def numbers(self, filled: Filled, *, with_lengths: bool) -> tuple[int, ...]:
        """The arguments of the call, as the worker wants them."""
        offsets = tuple(at for _name, at in filled.place)
        rooms = self._lengths(filled.step, filled.shape)
        lengths = tuple(rooms[name].length for name, _at in filled.place) if with_lengths else ()
        return (*offsets, *lengths, *(value for _name, value in filled.shape.sizes))

    def copy_outputs(self, filled: Filled) -> dict[str, Array]:
        """The outputs as they are now."""
        offsets = dict(filled.place)
        rooms = self._lengths(filled.step, filled.shape)
        return {name: self._view(rooms[name], offsets[name]).copy() for name in filled.step.outputs}

    def take(self, filled: Sequence[Filled]) -> Copied:
        """The outputs as they are now, copied."""
        return Copied(arena=self, filled=tuple(filled), outputs=tuple(self.copy_outputs(one) for one in filled))

    def flush(self) -> None:
        """Nothing: places rotate past the caches."""

    def find_changes(self, filled: Filled, outputs: Arrays) -> Iterator[str]:
        """Outputs that are no longer what they were at return."""
        offsets, rooms = dict(filled.place), self._lengths(filled.step, filled.shape)
        for name in filled.step.outputs:
            now = self._view(rooms[name], offsets[name])
            changed = _differing_bytes(now, outputs[name])
            if changed:
                yield f"{changed} of {now.nbytes} bytes of {name}"

    def find_touched(self, filled: Filled) -> Iterator[str]:
        """Outputs of a call that was not made which are no longer poisoned."""
        offsets, rooms = dict(filled.place), self._lengths(filled.step, filled.shape)
        for name in filled.step.outputs:
            if name in filled.step.inputs:
                continue
            now = self._view(rooms[name], offsets[name])
            words = now.ravel().view(find_words(now.dtype))
            touched = int((words != filled.poison[name]).sum()) if now.size else 0
            if touched:
                yield f"{touched} of {now.size} elements of {name}"

    def find_trespass(self, filled: Filled) -> Iterator[tuple[str, str]]:
        """Inputs that were modified and guard bands that were written, as (property, what)."""
        rooms = self._lengths(filled.step, filled.shape)
        for name, at in filled.place:
            room = rooms[name]
            tail = filled.guard[:1] * (room.rounded - room.length)
            for where, first, should in (
                ("before", at - GUARD, filled.guard),
                ("after", at + room.length, tail + filled.guard),
            ):
                written = _count_written(self._raw[first : first + len(should)], should)
                if written:
                    yield "guard-band", f"{written} bytes {where} {name} were written"
            if name in filled.step.inputs and name not in filled.step.outputs:
                changed = _differing_bytes(self._view(room, at), filled.inputs[name])
                if changed:
                    yield "input-modified", f"{changed} of {room.length} bytes of the input {name} were changed"

    def _view(self, room: Room, at: int) -> Array:
        import numpy as np

        return np.frombuffer(self._map, dtype=room.dtype, count=room.count, offset=at).reshape(room.extent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Outputs as they were when a request was answered."""

    arena: Arena
    filled: tuple[Filled, ...]
    outputs: tuple[dict[str, Array], ...]
    late_ns: int = 0

    def find_changes(self) -> Iterator[str]:
        """Outputs that are no longer what they were."""
        for one, output in zip(self.filled, self.outputs, strict=True):
            yield from self.arena.find_changes(one, output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What one buffer of a shape takes."""

    dtype: np.dtype[Any]
    extent: tuple[int, ...]
    count: int
    length: int
    """Bytes."""
    rounded: int
    """Bytes, in whole lines of the cache."""


def _find_room(operator: Operator, name: str, shape: Shape) -> Room:
    import numpy as np

    buffer = operator.buffer(name)
    extent = buffer.extent(shape)
    count = math.prod(extent)
    dtype = np.dtype(buffer.dtype)
    length = count * dtype.itemsize
    return Room(dtype=dtype, extent=extent, count=count, length=length, rounded=-(-length // LINE) * LINE)


def find_words(dtype: np.dtype[Any]) -> str:
    """Unsigned integers as wide as an element: in these poison is written and compared."""
    return f"uint{8 * dtype.itemsize}"


def draw_poison(dtype: np.dtype[Any], rng: np.random.Generator) -> int:
    """A quiet NaN with a secret payload; for integers any secret number, and for truth values one that is neither.

    A single byte is met by chance as well: there an element that was never written shows as a wrong one.
    """
    bits = 8 * dtype.itemsize
    if dtype.kind == "f":
        quiet = {16: 0x7E00, 32: 0x7FC00000, 64: 0x7FF8000000000000}[bits]
        return quiet | int(rng.integers(1, min(1 << 22, 1 << {16: 8, 32: 22, 64: 40}[bits])))
    return int(rng.integers(2, 1 << min(bits, 62)))


def _view_bytes(memory: mmap.mmap) -> Array:
    import numpy as np

    return np.frombuffer(memory, dtype=np.uint8)


def _count_written(now: Array, should: bytes) -> int:
    import numpy as np

    return 0 if now.tobytes() == should else int((now != np.frombuffer(should, dtype=np.uint8)).sum())


def _differing_bytes(left: Array, right: Array) -> int:
    import numpy as np

    if left.tobytes() == right.tobytes():
        return 0
    return int((left.ravel().view(np.uint8) != np.ascontiguousarray(right).ravel().view(np.uint8)).sum())
