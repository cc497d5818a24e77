"""`ledger.jsonl`: the one truth of a campaign. Append-only, hash-chained, durable before anything else happens.

A line is one entry; its hash covers the line before it. A write that a crash cut short leaves a last line without a
line end: that entry never happened, and the next writer removes it. Anything else that does not fit is tampering and
is refused.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.campaign.ledger.crash_points import crash_point
from layline.errors import BenchError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_NAME = "ledger.jsonl"
LOCK_NAME = ".lock"
GENESIS = "0" * 64
_FIELDS = frozenset({"n", "at", "kind", "data", "previous", "hash"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that happened."""

    n: int
    at: str
    """Minute precision, as the specification asks."""
    kind: str
    data: dict[str, Any]
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class Chain:
    """A ledger as read: its entries, and how many bytes at the end were never finished."""

    entries: tuple[Entry, ...]
    torn: bytes = b""

    @property
    def head(self) -> str:
        return self.entries[-1].hash if self.entries else GENESIS


def compute_hash(n: int, at: str, kind: str, data: dict[str, Any], previous: str) -> str:
    return hashlib.sha256(_canonical({"n": n, "at": at, "kind": kind, "data": data, "previous": previous})).hexdigest()


def parse_ledger(content: bytes, *, where: str) -> Chain:
    """Every entry, checked link by link; a last line without an end is torn, not wrong."""
    *lines, torn = content.split(b"\n")
    entries: list[Entry] = []
    previous = GENESIS
    for number, line in enumerate(lines):
        entry = _parse_line(line, number, previous, where)
        entries.append(entry)
        previous = entry.hash
    return Chain(tuple(entries), torn)


def _parse_line(line: bytes, number: int, previous: str, where: str) -> Entry:
    place = f"{where}:{number + 1}"
    plain = codec.parse_json(line, where=place)
    if not isinstance(plain, dict) or set(plain) != _FIELDS or not isinstance(plain["data"], dict):
        raise RecordError(place, ("is not a ledger entry",), hint=_TAMPERED)
    if plain["n"] != number or plain["previous"] != previous:
        raise RecordError(
            place, ("does not follow the entry before it: a line was removed, added or moved",), hint=_TAMPERED
        )
    body = {key: plain[key] for key in ("n", "at", "kind", "data", "previous")}
    if hashlib.sha256(_canonical(body)).hexdigest() != plain["hash"]:
        raise RecordError(place, ("does not have the hash it claims: it was changed",), hint=_TAMPERED)
    return Entry(**plain)


_TAMPERED = "Restore the ledger from a copy; Layline does not continue a campaign whose record was changed."


class Ledger:
    """Reads and appends; a writer holds the lock of the campaign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self._known: tuple[int, Chain] = (-1, Chain(()))
        """Size of the file when it was last read or written here, and what it held."""

    def read(self) -> Chain:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self._known[0]:
            self._known = (size, self._read())
        return self._known[1]

    def _read(self) -> Chain:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return Chain(())
        except OSError as error:
            raise BenchError(f"{self.path} cannot be read: {error.strerror}.") from None
        return parse_ledger(content, where=str(self.path))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One process at a time; the kernel lets go of it when the process dies, however it dies."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
                raise BenchError(
                    f"Another process (pid {holder}) works on this campaign.",
                    hint="Wait for it, or end it; `layline campaign status` reads without the lock.",
                ) from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(handle)

    def recover(self) -> int:
        """Remove a torn tail; how many bytes it had. Call with the lock held."""
        chain = self.read()
        if chain.torn:
            self._known = (-1, chain)
            size = self.path.stat().st_size - len(chain.torn)
            with self.path.open("r+b") as file:
                file.truncate(size)
                os.fsync(file.fileno())
        return len(chain.torn)

    def append(self, at: str, kind: str, data: dict[str, Any]) -> Entry:
        """Add one entry; it is on the disk when this returns. Call with the lock held."""
        chain = self.read()
        n, previous = len(chain.entries), chain.head
        plain = json.loads(_canonical(data))  # what was hashed is what will be read back
        entry = Entry(
            n=n, at=at, kind=kind, data=plain, previous=previous, hash=compute_hash(n, at, kind, plain, previous)
        )
        body = {"n": n, "at": at, "kind": kind, "data": plain, "previous": previous, "hash": entry.hash}
        crash_point()
        line = _canonical(body) + b"\n"
        self._write(line)
        self._known = (self._known[0] + len(line), Chain((*chain.entries, entry)))
        crash_point()
        return entry

    def _write(self, line: bytes) -> None:
        is_new = not self.path.exists()
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(handle).st_size
            try:
                _write_all(handle, line)
                os.fsync(handle)
            except OSError as error:
                os.ftruncate(handle, size)  # the entry did not happen
                raise BenchError(f"{self.path} cannot be written: {error.strerror}.", hint=_disk_hint(error)) from None
        finally:
            os.close(handle)
        if is_new:
            sync_folder(self.folder)


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    half = len(view) // 2  # two writes, so that tests can tear an entry in the middle
    for part in (view[:half], view[half:]):
        while part:
            part = part[os.write(handle, part) :]  # noqa: PLW2901
        crash_point()


def _disk_hint(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "Free some space, then `layline campaign resume` continues where this stopped."
    return "`layline campaign resume` continues once the file can be written."


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8")
