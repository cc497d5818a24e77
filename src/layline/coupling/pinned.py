"""A backend's upstream at its pin; light, for the patch explorer reads it without comparing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.source import Part, Tree

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def read_pinned_part(workspace: Workspace, key: str) -> Part:
    """A backend's upstream at its pin, as a part of an index."""
    pinned = workspace.find_pinned(key)
    return Part(
        tree=Tree(pinned.repository, pinned.commit),
        source_roots=pinned.backend.source_roots,
        packages=pinned.backend.packages,
    )
