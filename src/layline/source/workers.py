"""Parses many blobs on all cores, in processes of our own: a blob that kills its parser costs that blob alone."""

from __future__ import annotations

import gc
import importlib
import json
import os
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, TypeAlias, TypeVar

import layline
from layline.git import Blob
from layline.source.parsing import encode_module

T = TypeVar("T")
_FEW_BYTES = 400_000
"""Below this much source, starting processes costs more than it saves."""
_FEW = 16
_FRAME = struct.Struct(">I")
_CHUNK = 32
_TELL_S = 0.5
"""While somebody waits for a thread: between two looks at how far it is."""
_CHUNK_BYTES = 200_000
_CRASHED = json.dumps("the parser crashed on it")
_START = "import sys; sys.path.insert(0, sys.argv[1]); from layline.source.workers import serve; serve(sys.argv[2])"
Encoder: TypeAlias = Callable[[bytes], str]
"""A function at the top of a module of ours: blob → ASCII text, no state, the standard library alone."""
Report: TypeAlias = "list[tuple[str, str]] | BaseException | None"
"""Results of a chunk, what reading the blobs raised, or that a worker has no more to do."""


def encode_blobs(
    blobs: Iterable[Blob], encoder: Encoder = encode_module, *, workers: int | None = None
) -> Iterator[tuple[str, str]]:
    """Blob id and what the encoder makes of each blob, in no particular order; work begins while others are still
    read.
    """
    coming = iter(blobs)
    first = list(_take_few(coming))
    count = workers or _cores()
    if count == 1 or len(first) < _FEW or sum(len(blob.data) for blob in first) < _FEW_BYTES:
        yield from ((blob.oid, encoder(blob.data)) for blob in chain(first, coming))
        return
    chunks: queue.SimpleQueue[list[Blob] | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[Report] = queue.SimpleQueue()
    feeder = threading.Thread(target=_feed, args=(chain(first, coming), chunks, done.put, count), daemon=True)
    threads = [threading.Thread(target=_drive, args=(chunks, done.put, encoder), daemon=True) for _ in range(count)]
    for thread in (feeder, *threads):
        thread.start()
    running = count
    while running:
        results = done.get()
        if results is None:
            running -= 1
        elif isinstance(results, BaseException):
            raise results
        else:
            yield from results


def _take_few(blobs: Iterator[Blob]) -> Iterator[Blob]:
    """So many that it can be told whether processes are worth it."""
    count = size = 0
    for blob in blobs:
        yield blob
        count, size = count + 1, size + len(blob.data)
        if count >= _FEW and size >= _FEW_BYTES:
            return


def _feed(
    blobs: Iterator[Blob], chunks: queue.SimpleQueue[list[Blob] | None], report: Callable[[Report], None], count: int
) -> None:
    """Cuts what comes into chunks; small ones, so that no core waits long for another at the end."""
    chunk: list[Blob] = []
    try:
        for blob in blobs:
            chunk.append(blob)
            if len(chunk) == _CHUNK or sum(len(one.data) for one in chunk) >= _CHUNK_BYTES:
                chunks.put(chunk)
                chunk = []
    except BaseException as error:  # noqa: BLE001  raised again where the results are read
        report(error)
    if chunk:
        chunks.put(chunk)
    for _ in range(count):
        chunks.put(None)


def _drive(chunks: queue.SimpleQueue[list[Blob] | None], report: Callable[[Report], None], encoder: Encoder) -> None:
    """Feeds one worker process until no chunk is left; starts another where it died."""
    process: subprocess.Popen[bytes] | None = None
    try:
        while (whole := chunks.get()) is not None:
            waiting = [whole]
            while waiting:
                chunk = waiting.pop()
                try:
                    process = process or _open_worker(encoder)
                except OSError:  # no memory or no right for another process: slower, not wrong
                    report([(blob.oid, encoder(blob.data)) for blob in chunk])
                    continue
                texts = _ask(process, [blob.data for blob in chunk])
                if texts is not None:
                    report([(blob.oid, text) for blob, text in zip(chunk, texts, strict=True)])
                    continue
                _stop(process)
                process = None
                if len(chunk) == 1:
                    report([(chunk[0].oid, _CRASHED)])
                else:
                    waiting += [[blob] for blob in chunk]  # one of them killed it: each alone
    finally:
        if process is not None:
            _stop(process)
        report(None)


def _open_worker(encoder: Encoder) -> subprocess.Popen[bytes]:
    source = str(Path(layline.__file__).parent.parent)
    # -I: neither the user's environment nor the current folder can slip a module in
    command = [sys.executable, "-I", "-c", _START, source, f"{encoder.__module__}:{encoder.__qualname__}"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _ask(process: subprocess.Popen[bytes], blobs: list[bytes]) -> list[str] | None:
    """Many blobs in one exchange: each costs a turn among the threads of a process that may be busy otherwise."""
    if process.stdin is None or process.stdout is None:
        return None
    try:
        _write_frames(process.stdin, blobs)
    except BrokenPipeError:
        return None
    answers = _read_frames(process.stdout)
    return None if answers is None else [answer.decode("ascii") for answer in answers]


def _stop(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
    process.kill()
    process.wait()


def serve(name: str) -> None:
    """The worker: reads blobs from stdin, writes what the encoder makes of them to stdout, until its parent closes the
    pipe.
    """
    gc.disable()  # syntax trees hold no cycles; counting them is a fifth of the time
    module, _, function = name.partition(":")
    encoder = getattr(importlib.import_module(module), function)
    while (blobs := _read_frames(sys.stdin.buffer)) is not None:
        _write_frames(sys.stdout.buffer, [encoder(data).encode("ascii") for data in blobs])


def _write_frames(pipe: IO[bytes], frames: list[bytes]) -> None:
    pipe.write(_FRAME.pack(len(frames)))
    for data in frames:
        pipe.write(_FRAME.pack(len(data)))
        pipe.write(data)
    pipe.flush()


def _read_frames(pipe: IO[bytes]) -> list[bytes] | None:
    """All frames of one exchange; None where the other side has gone."""
    count = _read_number(pipe)
    frames: list[bytes] = []
    for _ in range(count or 0):
        size = _read_number(pipe)
        data = pipe.read(size) if size is not None else b""
        if size is None or len(data) != size:
            return None
        frames.append(data)
    return None if count is None else frames


def _read_number(pipe: IO[bytes]) -> int | None:
    head = pipe.read(_FRAME.size)
    return int(_FRAME.unpack(head)[0]) if len(head) == _FRAME.size else None


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def begin_reading(read: Callable[[], T]) -> Callable[[Callable[[], None]], T]:
    """Start to read, in a thread; what comes back waits for the answer, or raises what reading raised, and meanwhile
    calls what it is given now and then.

    Python runs one thread at a time, so this is for work that other processes do. The thread does not outlive an
    interrupted command.
    """
    answers: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(read())
        except BaseException as error:  # noqa: BLE001  raised again where the answer is asked for
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def wait(tell: Callable[[], None]) -> T:
        while thread.is_alive():
            tell()
            thread.join(_TELL_S)
        if errors:
            raise errors[0]
        return answers[0]

    return wait
