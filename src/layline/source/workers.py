"""Parses many blobs on all cores, in processes of our own: a blob that kills its parser costs that blob alone."""

from __future__ import annotations

import gc
import json
import os
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import layline
from layline.git import Blob
from layline.source.parsing import encode_module

_FEW_BYTES = 400_000
"""Below this much source, starting processes costs more than it saves."""
_FRAME = struct.Struct(">I")
_CHUNK = 32
_CRASHED = json.dumps("the parser crashed on it")
_START = "import sys; sys.path.insert(0, sys.argv[1]); from layline.source.workers import serve; serve()"


def encode_blobs(blobs: Iterable[Blob], *, workers: int | None = None) -> Iterator[tuple[str, str]]:
    """Blob id and encoded module of each blob, in no particular order."""
    waiting = list(blobs)
    count = min(workers or _cores(), max(1, len(waiting) // 8))
    if count == 1 or sum(len(blob.data) for blob in waiting) < _FEW_BYTES:
        yield from ((blob.oid, encode_module(blob.data)) for blob in waiting)
        return
    chunks: queue.SimpleQueue[list[Blob]] = queue.SimpleQueue()
    # largest first: the last chunks are small, so no core waits long for another
    waiting.sort(key=lambda blob: (-len(blob.data), blob.oid))
    for start in range(0, len(waiting), _CHUNK):
        chunks.put(waiting[start : start + _CHUNK])
    done: queue.SimpleQueue[list[tuple[str, str]] | None] = queue.SimpleQueue()
    threads = [threading.Thread(target=_drive, args=(chunks, done.put), daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    running = count
    while running:
        results = done.get()
        if results is None:
            running -= 1
        else:
            yield from results


def _drive(chunks: queue.SimpleQueue[list[Blob]], report: Callable[[list[tuple[str, str]] | None], None]) -> None:
    """Feeds one worker process until no chunk is left; starts another where it died."""
    process: subprocess.Popen[bytes] | None = None
    try:
        while True:
            try:
                chunk = chunks.get_nowait()
            except queue.Empty:
                return
            results: list[tuple[str, str]] = []
            for blob in chunk:
                process = process or _open_worker()
                text = _ask(process, blob.data)
                if text is None:
                    _stop(process)
                    process = None
                results.append((blob.oid, _CRASHED if text is None else text))
            report(results)
    finally:
        if process is not None:
            _stop(process)
        report(None)


def _open_worker() -> subprocess.Popen[bytes]:
    source = str(Path(layline.__file__).parent.parent)
    # -I: neither the user's environment nor the current folder can slip a module in
    command = [sys.executable, "-I", "-c", _START, source]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _ask(process: subprocess.Popen[bytes], data: bytes) -> str | None:
    if process.stdin is None or process.stdout is None:
        return None
    try:
        _write_frame(process.stdin, data)
    except BrokenPipeError:
        return None
    answer = _read_frame(process.stdout)
    return None if answer is None else answer.decode("ascii")


def _stop(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
    process.kill()
    process.wait()


def serve() -> None:
    """The worker: reads blobs from stdin, writes encoded modules to stdout, until its parent closes the pipe."""
    gc.disable()  # syntax trees hold no cycles; counting them is a fifth of the time
    while (data := _read_frame(sys.stdin.buffer)) is not None:
        _write_frame(sys.stdout.buffer, encode_module(data).encode("ascii"))


def _write_frame(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_FRAME.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def _read_frame(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return None
    size = _FRAME.unpack(head)[0]
    data = pipe.read(size)
    return data if len(data) == size else None


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
