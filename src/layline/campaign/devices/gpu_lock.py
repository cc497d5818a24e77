"""One accelerator, one user: a lock on its identity, for as long as a run or a worker lives.

A count of accelerators says nothing about which one somebody uses; two runs on one of them spoil each other's times.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from layline.errors import BenchError
from layline.executors.machine import name_product, read_accelerators

VISIBLE = "CUDA_VISIBLE_DEVICES"
_PAUSE_S = 0.5
_FULL = len("GPU-00000000-0000-0000-0000-000000000000")
_taken: dict[str, ExitStack] = {}
"""What this process holds until it ends."""


def find_visible(lines: Sequence[str], visible: str | None) -> tuple[str, ...]:
    """Identities of the accelerators a process may use, in its order: all, or those its environment names."""
    known = tuple(line.partition(",")[0].strip() for line in lines)
    if visible is None:
        return known
    return tuple(found for word in visible.split(",") if (found := _find_named(word.strip(), known)) is not None)


def name_first(visible: str | None) -> str | None:
    """How the driver's tool is asked for the accelerator that a process uses first; None where it may use none."""
    word = (visible if visible is not None else "0").partition(",")[0].strip()
    if word.isdecimal() or len(word) == _FULL:
        return word
    return next(iter(find_visible(read_accelerators(), word)), None)


def find_fitting(lines: Sequence[str], visible: str | None, kind: str) -> tuple[str, ...]:
    """Of the accelerators a process may use those of one product; an error where there are only others."""
    products = {line.partition(",")[0].strip(): name_product(line) for line in lines}
    usable = find_visible(lines, visible)
    fitting = tuple(one for one in usable if products[one] == kind)
    if usable and not fitting:
        raise BenchError(
            f"None of the accelerators that may be used here is of kind {kind}.",
            hint="Times of two kinds of machine cannot be compared.",
        )
    return fitting


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
            handle = _open_lock(place / f"layline-{identity}.lock")
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


def _open_lock(path: Path) -> int:
    """Another user's file can be locked as well, though not written."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)


@contextmanager
def hold_first() -> Iterator[str | None]:
    """The accelerator that this process uses anyway, while it measures there."""
    with hold_one(find_visible(read_accelerators(), os.environ.get(VISIBLE))[:1]) as held:
        yield held


def take_one(kind: str) -> str | None:
    """Any accelerator of this kind that is free, as the only one this process and its children see until they end.

    It is kept between two jobs: a process that has used one accelerator cannot change to another.
    """
    if not _taken:
        held = ExitStack()
        identities = find_fitting(read_accelerators(), os.environ.get(VISIBLE), kind)
        identity = held.enter_context(hold_one(identities))
        if identity is None:
            return None
        os.environ[VISIBLE] = identity
        _taken[identity] = held
    return next(iter(_taken))
