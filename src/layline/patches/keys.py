"""Which config keys and environment variables upstream's code still mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from layline.git import Blob
from layline.patches.model import Inventory
from layline.source import Index, ModuleEntry

_TESTS = ("tests/", "test/", "docs/", "examples/")


def find_keys(inventory: Inventory) -> frozenset[str]:
    """Every config key and `env:NAME` that a patch reads or writes."""
    found: set[str] = set()
    for patch in inventory.patches:
        found.update(patch.guard.keys, patch.body_keys)
        for effect in patch.effects:
            found.update(effect.mutates)
    return frozenset(key for key in found if key)


def read_mentions(indexes: tuple[Index, Index], part: int, keys: frozenset[str]) -> dict[str, tuple[bool, bool]]:
    """Key → whether the backend's Python code mentions it at pin and at tip (`a_b` and `--a-b` are the same key)."""
    at_pin, at_tip = (frozenset(_find_mentioned(index, part, keys)) for index in indexes)
    return {key: (key in at_pin, key in at_tip) for key in sorted(keys)}


def _find_mentioned(index: Index, part: int, keys: Iterable[str]) -> Iterator[str]:
    missing = {key: list(_spellings(key)) for key in keys}
    entries = [entry for entry in index.entries.values() if entry.part == part and not entry.path.startswith(_TESTS)]
    for data in _read_blobs(index, part, entries):
        for key, words in list(missing.items()):
            # a plain search first: it is many times faster than the pattern, and mostly in vain
            if any(
                word in data and re.search(rb"(?<![\w-])" + re.escape(word) + rb"(?![\w-])", data) for word in words
            ):
                del missing[key]
                yield key


def _spellings(key: str) -> Iterator[bytes]:
    name = key.removeprefix("env:").rpartition(".")[2]
    yield name.encode()
    if not key.startswith("env:") and "_" in name:
        yield f"--{name.replace('_', '-')}".encode()


def _read_blobs(index: Index, part: int, entries: list[ModuleEntry]) -> Iterator[bytes]:
    repository = index.parts[part].tree.repository
    for blob in repository.stream_blobs(dict.fromkeys(entry.blob for entry in entries)):
        if isinstance(blob, Blob):
            yield blob.data
