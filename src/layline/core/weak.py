"""A method for what its own object holds: a cache, a helper. Else the two hold one another, with every git process they
have, until somebody collects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast
from weakref import WeakMethod

P = ParamSpec("P")
T = TypeVar("T")


def weakly(method: Callable[P, T]) -> Callable[P, T]:
    """The method without a hold on its object, which must outlive whoever asks."""
    held = WeakMethod(method)

    def ask(*given: P.args, **named: P.kwargs) -> T:
        return cast("Callable[P, T]", held())(*given, **named)

    return ask
