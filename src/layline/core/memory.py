"""When Python looks for garbage: seldom, and never among what is kept for the whole process."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from typing import NoReturn

_OBJECTS_BETWEEN_COLLECTIONS = 2_000_000
"""Syntax trees are many small objects that live long and hold no cycles: looking for cycles every 700 is a quarter of
the time, and every 200,000 still a tenth; the garbage of two million is small beside the trees."""


def collect_seldom() -> None:
    """For a process that reads code."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 50)


def end_at_once(run: Callable[[], NoReturn]) -> NoReturn:
    """Runs the whole program: at its end the system takes all memory back, instead of Python object by object, which is
    a twentieth of the time of an answer about a large project.
    """
    code = 1

    def leave() -> None:  # registered first and so called last: everything else that waits for the end is done by then
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    atexit.register(leave)
    try:
        run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise


def keep_for_good() -> None:
    """What lives now is not looked at again: going through millions of objects holds up the next answer for seconds."""
    gc.freeze()
    gc.collect()  # nothing is left to look at, but the count begins anew
