"""The inputs of a request."""

from __future__ import annotations

from dataclasses import dataclass

from layline.campaign.devices.device import Arrays
from layline.campaign.values.operator import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The inputs of one request, with the right answers: made by the parent, the same for every arm."""

    shape: Shape
    kind: str
    """How they were drawn: a distribution, `nudged`, `repeated`."""
    inputs: tuple[Arrays, ...]
    right: tuple[tuple[str, tuple[Arrays, ...]], ...]
    """The oracle's outputs by pass."""
    is_exact: bool = False
    is_held_out: bool = False
    on_same_place: bool = False
    """Where the previous call of this shape lay, instead of a fresh place."""
    after: str = ""
    """The pass before it, which had the same inputs on the same place, but for a change."""
    called: tuple[int, ...] = ()
    """Which of the inputs are called, and in which order; the others lie there and must stay as they are.
    Empty: all.
    """
