"""What travels, and what may go wrong on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from layline.errors import Error

Plain: TypeAlias = dict[str, Any]
"""A job or an answer: JSON, so that every machine reads the same."""
Tell: TypeAlias = Callable[[str], None]
"""Hears how far a run is, while it runs."""


def ignore(_said: str) -> None:
    """Nobody listens."""


class Lost(Error):
    """The machine went, or the time was up: nothing is said about what it was asked."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what} was lost: {why}.", hint="Its answer is not known: run the command again.")
        self.why = why
