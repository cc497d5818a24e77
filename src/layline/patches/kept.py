"""Inventories kept by a digest of what they were read from; the downstream is read where none was kept."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from layline import codec
from layline.config import miss_backend
from layline.core.patch import Inventory
from layline.core.progress import Progress, silent
from layline.workspace.kept import Results, find_judged, result_key
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.workspace.open import Workspace

_READER = "layline.patches.opened"
"""By its name: it brings in the analysers, which a kept answer does not need."""


class Opened(Protocol):
    """A downstream that was read (`patches.opened.OpenedInventory`)."""

    def read(self, key: str) -> Inventory: ...

    def save(self) -> tuple[int, int]: ...


RECALLED = "modules taken from an earlier answer"
"""What is told, with how many of how many, once an inventory has been read."""


def read_inventories(workspace: Workspace, backends: tuple[str, ...], progress: Progress = silent) -> list[Inventory]:
    """The inventories of several backends over one reading of the downstream."""
    for key in backends:
        workspace.settings.backend(key)
    if not backends:
        raise miss_backend()
    known = know_packages(workspace)

    def open_() -> Opened:
        found: Opened = importlib.import_module(_READER).open_reading(known, progress)
        return found

    return find_inventories(known, backends, open_, progress)


def load_kept(workspace: Workspace) -> list[Inventory]:
    """The inventories that an earlier answer has left in the cache; nothing is read anew."""
    known = know_packages(workspace)
    results, inputs = Results("inventory"), find_judged(known)
    loaded = (results.load(result_key("inventory", key, *inputs), _decode) for key in known.settings.backends)
    return [one for one in loaded if one is not None]


def find_inventories(
    workspace: Workspace, backends: tuple[str, ...], open_: Callable[[], Opened], progress: Progress = silent
) -> list[Inventory]:
    """An inventory is a function of files, pins, settings and our own code: read once, kept by a digest of all four."""
    results, inputs = Results("inventory"), find_judged(workspace)
    keys = {key: result_key("inventory", key, *inputs) for key in backends}
    kept = {key: results.load(keys[key], _decode) for key in backends}
    found = {key: replace(one, commit=workspace.commit) for key, one in kept.items() if one is not None}
    missing = [key for key in backends if key not in found]
    if missing:
        opened = open_()
        for key in missing:
            progress(f"finding what our functions change in {key}", 0, 0)
            found[key] = opened.read(key)
            results.store(keys[key], codec.encode(found[key]))
        progress(RECALLED, *opened.save())
    return [found[key] for key in backends]


def _decode(plain: dict[str, Any]) -> Inventory:
    return codec.decode(Inventory, plain, where="cache")
