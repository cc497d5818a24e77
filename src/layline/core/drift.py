"""Drift kinds: what became of a symbol between pin and tip."""

from __future__ import annotations

from enum import StrEnum


class DriftKind(StrEnum):
    """In the order of how much is known to be well; `unchanged` first."""

    UNCHANGED = "unchanged"
    BODY_CHANGED = "body-changed"
    SIGNATURE_CHANGED = "signature-changed"
    MOVED = "moved"
    """The same object has a new home."""
    RENAMED = "renamed"
    REMOVED = "removed"
    DEAD_AT_PIN = "dead-at-pin"
    """It is not there at the pin either: what relies on it does nothing today."""
    BINDING_LOST = "binding-lost"
    """The module no longer imports or re-exports the name, though the object lives elsewhere."""
    ANCHOR_LOST = "anchor-lost"
    """A source rewrite searches for text that is gone."""
    EXTERNAL = "external"
    """Not this upstream."""
    UNRESOLVED = "unresolved"
    """Cannot be decided by reading; the detail says why."""


class Uncompared(StrEnum):
    """Why an effect that `patches list` has is no row of `patches drift`."""

    NO_TARGET = "no-target"
    OTHER_PACKAGE = "other-package"
    REPEATED = "repeated"
    FILTERED = "filtered"
