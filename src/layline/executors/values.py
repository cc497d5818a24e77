"""What travels, and what may go wrong on the way."""

from __future__ import annotations

from typing import Any, TypeAlias

from layline.errors import Error

Plain: TypeAlias = dict[str, Any]
"""A job or an answer: JSON, so that every machine reads the same."""


class Lost(Error):
    """The machine went, or the time was up: nothing is said about what it was asked."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what} was lost: {why}.", hint="Nothing is known about its answer.")
        self.why = why
