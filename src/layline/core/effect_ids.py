"""Ids of effects: short, the same after lines moved, and unique in one inventory."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from layline.core.patch import Effect, Inventory

_ID = re.compile(r"e-[0-9a-f]{7,}\Z")
_SHORT = 7


def is_effect_id(text: str) -> bool:
    """Whether a text has the form of an effect's id."""
    return _ID.match(text) is not None


def name_effects(inventory: Inventory) -> Inventory:
    """The inventory with an id for every effect: from its file, its scope and its target, never from its line.

    Effects that share all three are told apart by their order.
    """
    name = _open_names()
    patches = tuple(
        replace(patch, effects=tuple(name(effect, patch.id) for effect in patch.effects)) for patch in inventory.patches
    )
    unregistered = tuple(replace(item, effect=name(item.effect, item.within)) for item in inventory.unregistered)
    return replace(inventory, patches=patches, unregistered=unregistered)


def _open_names() -> Callable[[Effect, str], Effect]:
    seen: Counter[tuple[str, ...]] = Counter()
    taken: set[str] = set()

    def name(effect: Effect, scope: str) -> Effect:
        words = (effect.location.path, scope, effect.target or ",".join(effect.mutates))
        ordinal = seen[words]
        seen[words] += 1
        digest = hashlib.blake2b(chr(0).join((*words, str(ordinal))).encode(), digest_size=20).hexdigest()
        length = next(size for size in range(_SHORT, len(digest) + 1) if digest[:size] not in taken)
        taken.add(digest[:length])
        return replace(effect, id=f"e-{digest[:length]}")

    return name
