"""Where is feature X: ids, descriptions, targets, guards, config keys and YAML files, implementation names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.core.patch import Inventory, Patch
    from layline.patches.declared_keys import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One place where the word stands."""

    backend: str
    patch: str | None
    """None: a config key that no patch reads."""
    where: str
    text: str
    location: str
    rank: int


def find_word(inventory: Inventory, schema: Schema, word: str) -> Iterator[Hit]:
    """Hits of a word or phrase, case ignored; `-`, `_` and spaces count as the same."""
    wanted = _plain(word)
    read: set[str] = set()
    for patch in inventory.patches:
        read.update(patch.guard.keys, patch.body_keys)
        for rank, (where, text) in enumerate(_texts(patch)):
            if wanted in _plain(text):
                yield Hit(
                    backend=inventory.backend,
                    patch=patch.id,
                    where=where,
                    text=text,
                    location=str(patch.location),
                    rank=rank,
                )
    for item in inventory.unregistered:
        if wanted in _plain(f"{item.effect.target} {item.within}"):
            yield Hit(
                backend=inventory.backend,
                patch=None,
                where="unregistered",
                text=item.effect.target or item.within,
                location=str(item.effect.location),
                rank=6,
            )
    for key, declared in schema.keys.items():
        if wanted in _plain(key):
            first = declared[0]
            note = "" if key in read else " (read by no guard)"
            yield Hit(
                backend=inventory.backend,
                patch=None,
                where="config key",
                text=f"{key}: {first.value}{note}",
                location=str(first.location),
                rank=7,
            )


def _texts(patch: Patch) -> Iterator[tuple[str, str]]:
    yield "id", patch.id
    yield "guard", " ".join((*patch.guard.keys, *patch.guard.other, *patch.body_keys))
    yield "description", patch.description
    yield "target", " ".join(effect.target or "" for effect in patch.effects).strip()
    yield "config key set", " ".join(key for effect in patch.effects for key in effect.mutates)
    yield (
        "implementation",
        " ".join(
            (*patch.implementation, patch.file, patch.handler, *(effect.replacement or "" for effect in patch.effects))
        ),
    )


def _plain(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum() or character == ".")
