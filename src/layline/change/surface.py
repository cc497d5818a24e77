"""The surface of an upstream and how it changed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from layline.core.evidence import Evidence, Location


class SurfaceChange(StrEnum):
    """What became of one definition, field or flag."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    RENAMED = "renamed"
    SIGNATURE = "signature changed"
    BODY = "body changed"
    DEFAULT = "default changed"
    EXPORT_LOST = "re-export lost"
    EXPORT_KEPT = "re-export kept"
    """It moved, and the old address still leads to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceRow:
    """One change of the surface."""

    change: SurfaceChange
    kind: str
    """function, class, field, flag or module."""
    name: str
    was: str | None
    now: str | None
    pin_evidence: Evidence | None
    tip_evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """All changes of the surface, with how much there is on both sides."""

    definitions: tuple[SurfaceRow, ...]
    fields: tuple[SurfaceRow, ...]
    flags: tuple[SurfaceRow, ...]
    sizes: tuple[tuple[str, int, int], ...]
    """What is counted (modules, definitions, config fields, flags), at the pin, at the tip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleKey:
    """A key of our YAML files that upstream knew at the pin and no longer knows at the tip."""

    key: str
    location: Location
    others: int
    """Further places of ours that use it."""
    suggestion: str | None
    pin_evidence: Evidence | None
    written: str = ""
    """The key with all that stands above it in our file; `key` is what upstream called it."""
    culprit: str | None = None
    """The upstream commit after which it is unknown."""

    @property
    def lines(self) -> int:
        """Lines of our files that set it."""
        return 1 + self.others
