"""Where is feature X: ids, descriptions, targets, guards, config keys and YAML files, implementation names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from layline.core.word import Word
from layline.patches.guards.show import show_condition
from layline.patches.report import describe_change

if TYPE_CHECKING:
    from layline.core.evidence import Location
    from layline.core.patch import Effect, Inventory, Patch, Unregistered
    from layline.patches.declared_keys import Schema
    from layline.patches.inner_keys import InnerKey

_NOTHING: Mapping[str, list[InnerKey]] = MappingProxyType({})
_MOST_READERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One place where the word stands."""

    backend: str
    patch: str | None
    """The patch's id, or that of an effect outside any registration; None: a config key that no patch reads, or a
    line that could not be followed."""
    where: str
    text: str
    location: Location
    rank: int
    places: tuple[Location, ...] = ()
    """Further lines that it speaks of."""


def find_keys(schema: Schema, word: str) -> list[str]:
    """The last names of the config keys that a word stands in."""
    wanted = Word(word)
    return [key.rpartition(".")[2] for key in schema.keys if wanted.stands_in(key)]


def find_word(
    inventory: Inventory, schema: Schema, word: str, inner: Mapping[str, list[InnerKey]] = _NOTHING
) -> Iterator[Hit]:
    """Hits of a word or phrase, case ignored; `-`, `_` and spaces count as the same. `inner`: patch → keys that its
    replacements read.
    """
    wanted = Word(word)
    read: set[str] = set()
    for patch in inventory.patches:
        read.update(patch.guard.keys, patch.body_keys)
        texts = (*_texts(patch), ("read when it runs", " ".join(one.key for one in inner.get(patch.id, ()))))
        hits = [(rank, *pair) for rank, pair in enumerate(texts) if wanted.stands_in(pair[1])]
        if hits:  # one row for a patch, however often it speaks of the word
            yield Hit(
                backend=inventory.backend,
                patch=patch.id,
                where=", ".join(where for _, where, _ in hits),
                text=hits[0][2],
                location=patch.location,
                rank=hits[0][0],
                places=tuple(place for effect in patch.effects for place in _find_places(effect)),
            )
    for item in inventory.unregistered:
        found = next((pair for pair in _stray_texts(item) if wanted.stands_in(pair[1])), None)
        if found is not None:
            yield Hit(
                backend=inventory.backend,
                patch=item.effect.id,
                where=found[0],
                text=found[1],
                location=item.effect.location,
                rank=7,
                places=tuple(_find_places(item.effect)),
            )
    for place in inventory.balance.not_read:
        if wanted.stands_in(str(place)):
            text = "this line may change another package, but Layline could not follow what it changes"
            yield Hit(backend=inventory.backend, patch=None, where="not followed", text=text, location=place, rank=9)
    for key, declared in schema.keys.items():
        if wanted.stands_in(key):
            first = declared[0]
            readers = [(name, one) for name, keys in inner.items() for one in keys if one.key == key.rpartition(".")[2]]
            inside = "; ".join(f"read by {name} when it runs, {one.location}" for name, one in readers[:_MOST_READERS])
            note = "" if key in read else f" ({inside or 'read by no guard'})"
            yield Hit(
                backend=inventory.backend,
                patch=None,
                where="config key",
                text=f"{key}: {first.value}{note}",
                location=first.location,
                rank=8,
                places=tuple(one.location for _, one in readers),
            )


def find_near_word(inventory: Inventory, schema: Schema, word: str) -> str | None:
    """The word of a target, an id or a config key that comes closest."""
    names = [effect.target for effect in inventory.every_effect() if effect.target]
    known = {part for name in names for part in name.split(".")}
    known |= {patch.id for patch in inventory.patches} | set(schema.keys)
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.7)
    return near[0] if near else None


def _find_places(effect: Effect) -> Iterator[Location]:
    yield from (place for place in (effect.location, effect.helper, effect.called_at) if place is not None)


def _texts(patch: Patch) -> Iterator[tuple[str, str]]:
    yield "id", " ".join((patch.id, *(effect.id for effect in patch.effects)))
    yield "place", " ".join((str(patch.location), *(str(effect.location) for effect in patch.effects)))
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


def _stray_texts(item: Unregistered) -> Iterator[tuple[str, str]]:
    effect = item.effect
    target = effect.target or ", ".join(effect.mutates)
    yield "target", target
    yield "id", f"{effect.id} {target}"
    yield "place", f"{effect.location} {describe_change(effect)}"
    yield "inside", item.within
    yield "replacement", effect.replacement or ""
    yield "condition", show_condition(effect.when)
