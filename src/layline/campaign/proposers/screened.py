"""What a quick look says of a candidate."""

from __future__ import annotations

from dataclasses import dataclass

TODAY = "today"
"""The working kernel among the candidates: it goes on to every look, as the yardstick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """What a quick look saw of one candidate: mean log CPU milliseconds over shapes, or why there is no time."""

    name: str
    score: float | None
    reason: str = ""
    is_out: bool = False
    """Left behind by an earlier, shorter look; its score is that look's."""
    times: tuple[tuple[str, str, float], ...] = ()
    """(pass, shape, milliseconds) where every pass was timed by itself."""
