"""Parts of a drift row that judges find and culprits ask for: values alone, so that a kept answer needs no judge."""

from __future__ import annotations

from dataclasses import dataclass

from layline.core.why import Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Calls at the tip that pass what our replacement refuses."""

    name: str
    """The last word of what they call."""
    arguments: tuple[str, ...]
    """Sorted: what is kept must be the same in every process."""
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRead:
    """One thing that our replacement reads and the tip does not have."""

    line: int
    why: Why
    certain: bool
    """False: our code asks before it reads, or something may still set it."""
    name: str
    """Dotted, as it was at the pin."""
    asked: bool = False
    """Our code asks before it reads."""
    attribute: str | None = None
    """Of an attribute that the methods of a class set: `name` is that class."""
    since: str | None = None
    """The commit that took it away, where whoever found it knows."""
    result: str | None = None
    """Of what a call returns: the class at the tip of which it is; `name` is the function at the pin."""
