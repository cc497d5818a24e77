"""One accelerator, one user: a lock on its identity, for as long as a run or a worker lives.

A count of accelerators says nothing about which one somebody uses; two runs on one of them spoil each other's times.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from layline.executors.machine import read_accelerators

VISIBLE = "CUDA_VISIBLE_DEVICES"
_PAUSE_S = 0.5


def find_visible(lines: Sequence[str], visible: str | None) -> tuple[str, ...]:
    """Identities of the accelerators a process may use, in its order: all, or those its environment names."""
    known = tuple(line.partition(",")[0].strip() for line in lines)
    if visible is None:
        return known
    return tuple(found for word in visible.split(",") if (found := _find_named(word.strip(), known)) is not None)


def _find_named(word: str, known: tuple[str, ...]) -> str | None:
    if word.isdecimal():
        return known[int(word)] if int(word) < len(known) else None
    return next((one for one in known if word and one.startswith(word)), None)


@contextmanager
def hold_one(
    identities: Sequence[str],
    folder: Path | None = None,
    wait: Callable[[], None] = lambda: time.sleep(_PAUSE_S),
) -> Iterator[str | None]:
    """The first that is free; waits while all are taken; None where there is none to hold."""
    place = folder or Path(tempfile.gettempdir())
    while True:
        for identity in identities:
            handle = os.open(place / f"layline-{identity}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            try:
                yield identity
            finally:
                os.close(handle)
            return
        if not identities:
            yield None
            return
        wait()


@contextmanager
def hold_first() -> Iterator[str | None]:
    """The accelerator that this process uses anyway, while it measures there."""
    with hold_one(find_visible(read_accelerators(), os.environ.get(VISIBLE))[:1]) as held:
        yield held


@contextmanager
def hold_any() -> Iterator[str | None]:
    """Any accelerator that is free, as the only one this process and its children see from now on."""
    before = os.environ.get(VISIBLE)
    with hold_one(find_visible(read_accelerators(), before)) as held:
        if held is not None:
            os.environ[VISIBLE] = held
        yield held
