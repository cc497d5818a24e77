"""Shares of work at the same time: in forked processes where only the processor is at stake, else in threads."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from layline.errors import BenchError

PR_SET_PDEATHSIG = 1
Run = Callable[[Any, int, Any], Any]


class Line:
    """Things that stand in line: whoever is free next, in whichever fork or thread, gets the next of them."""

    def __init__(self, things: Sequence[Any]) -> None:
        self._things = things
        self._next, writer = os.pipe()
        os.write(writer, bytes(range(len(things))))
        os.close(writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._next)

    def __iter__(self) -> Iterator[Any]:
        while taken := os.read(self._next, 1):
            yield self._things[taken[0]]


def run_lanes(run: Run, on: Any, shares: Sequence[Any], *, forks: bool) -> list[Any]:
    """What `run(share, lane, on)` answers for every share that is not empty; lane 0 is made in this process."""
    work = [(lane, share) for lane, share in enumerate(shares) if share]
    if not forks:
        with ThreadPoolExecutor(max_workers=max(1, len(work))) as pool:
            return list(pool.map(lambda one: run(one[1], one[0], on), work))
    begun = [(pipe, pid) for lane, share in work if lane for pipe, pid in (_fork(run, share, lane, on),)]
    here: list[Any] = []
    try:
        here = [run(share, lane, on) for lane, share in work if not lane]
    finally:
        answers = [_collect(pipe, pid, is_wanted=bool(here) or work[0][0] > 0) for pipe, pid in begun]
    return [*here, *answers]


def _fork(run: Run, share: Any, lane: int, on: Any) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return reader, pid
    code = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with os.fdopen(writer, "wb") as to:
            to.write(pickle.dumps(run(share, lane, on)))
        code = 0
    finally:
        os._exit(code)


def _collect(pipe: int, pid: int, *, is_wanted: bool) -> Any:
    with os.fdopen(pipe, "rb") as source:
        if not is_wanted:  # an interrupt: nobody waits for what they find
            os.kill(pid, signal.SIGKILL)
        data = source.read()
    _pid, status = os.waitpid(pid, 0)
    if not data or status:
        raise BenchError(
            "A process that checks the kernel ended without an answer.",
            hint="Check that enough memory is free, then run it again.",
        )
    return pickle.loads(data)  # noqa: S301  what our own fork has written
