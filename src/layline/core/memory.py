"""When Python looks for garbage: seldom, and never among what is kept for the whole process."""

from __future__ import annotations

import gc

_OBJECTS_BETWEEN_COLLECTIONS = 2_000_000
"""Syntax trees are many small objects that live long and hold no cycles: looking for cycles every 700 is a quarter of
the time, and every 200,000 still a tenth; the garbage of two million is small beside the trees."""


def collect_seldom() -> None:
    """For a process that reads code."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 50)


def keep_for_good() -> None:
    """What lives now is not looked at again: going through millions of objects holds up the next answer for seconds."""
    gc.freeze()
    gc.collect()  # nothing is left to look at, but the count begins anew
