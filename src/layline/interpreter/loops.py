"""Loops that stop at the first item that fits: after them, a name is what it was at any of the stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.interpreter.branches import merge_names
from layline.interpreter.values import Choice, Unknown, Value

if TYPE_CHECKING:
    from layline.interpreter.state import Loop

_MOST_STOPS = 12
"""A loop over more items is read as if it went on to its end."""


def note_stop(loop: Loop, test: Value, names: dict[str, Value]) -> None:
    """A branch that ends in `break`."""
    loop.stops.append((test, names, [owner.attributes[name] for owner, name in loop.written]))


def settle_loop(loop: Loop, names: dict[str, Value]) -> dict[str, Value]:
    """The names after a loop; attributes of our objects are settled where they are."""
    if len(loop.stops) > _MOST_STOPS:
        return names
    for test, stopped, values in reversed(loop.stops):
        names = merge_names(test, stopped, names)
        for (owner, name), value in dict(zip(loop.written, values, strict=False)).items():
            now = owner.attributes.get(name, Unknown(name))
            if now != value:
                owner.attributes[name] = Choice(test, value, now)
    return names
