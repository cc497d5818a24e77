"""Functions that install patches and that nothing of ours runs: their registration is gone, or was never written."""

from __future__ import annotations

from layline.core.patch import Inventory


def find_idle(inventory: Inventory) -> frozenset[str]:
    """Plain functions outside any registration that nothing calls, imports or hands on.

    Only where the downstream registers its patches: elsewhere such functions are for its users to call. Methods do not
    count, since upstream may call them, and neither do modules, which an import runs.
    """
    if not inventory.patches:
        return frozenset()
    return frozenset(
        item.within
        for item in inventory.unregistered
        if not item.called_from
        and not item.unknown_callers
        and item.registry is None
        and _is_plain(item.within)
        and any(folder in item.effect.location.path for folder in ("/patches/", "/patch/"))
    )


def _is_plain(within: str) -> bool:
    """True if no part of the name looks like a class: a function of a module, or one in such a function."""
    return "." in within and not any(part[:1].isupper() for part in within.split("."))
