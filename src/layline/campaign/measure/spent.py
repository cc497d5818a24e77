"""Where the seconds of a measuring run go: each is counted once, for what is done innermost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Spent:
    """Seconds by what they were spent on."""

    seconds: dict[str, float] = field(default_factory=dict)
    _nested: list[float] = field(default_factory=list)
    """Of those still going on: seconds that something inside was counted for."""

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Count what happens meanwhile, except what is counted inside."""
        began = time.monotonic()
        self._nested.append(0.0)
        try:
            yield
        finally:
            took = time.monotonic() - began
            self._add(what, took - self._nested.pop(), took)

    def move(self, what: str, seconds: float) -> None:
        """So many of the seconds that are being counted were this."""
        self._add(what, seconds, seconds)

    def _add(self, what: str, seconds: float, inside: float) -> None:
        self.seconds[what] = self.seconds.get(what, 0.0) + seconds
        if self._nested:
            self._nested[-1] += inside
