"""Which config keys and environment variables upstream's code still mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from layline.core.ours import is_own
from layline.core.patch import Inventory
from layline.git import Blob, Repository
from layline.source import Index


def find_keys(inventory: Inventory) -> frozenset[str]:
    """Every config key and `env:NAME` that a patch reads or writes."""
    found: set[str] = set()
    for patch in inventory.patches:
        found.update(patch.guard.keys, patch.body_keys)
        for effect in patch.effects:
            found.update(effect.mutates)
    return frozenset(key for key in found if key)


def read_mentions(index: Index, part: int, keys: Iterable[str]) -> dict[str, str | None]:
    """Key → a module of the backend that mentions it, if one does (`a_b` and `--a-b` are the same key)."""
    words = {key: frozenset(_spellings(key)) for key in sorted(set(keys))}
    entries = (entry for entry in index.every.values() if entry.part == part and is_own(entry.path))
    modules = {entry.blob: entry.name for entry in entries}
    there: dict[bytes, str] = {}
    for blob, found in _read_mentions(index.parts[part].tree.repository, modules, words):
        for word in found:
            there.setdefault(word, modules[blob])
    return {key: next((there[word] for word in sorted(listed) if word in there), None) for key, listed in words.items()}


def find_spellings(key: str) -> list[str]:
    """How upstream may write a key."""
    return [word.decode() for word in _spellings(key)]


def _read_mentions(
    repository: Repository, blobs: Iterable[str], spellings: dict[str, frozenset[bytes]]
) -> Iterator[tuple[str, frozenset[bytes]]]:
    """Which spellings each blob has as words of their own; a blob that both sides hold is read once."""
    words = frozenset(word for listed in spellings.values() for word in listed)
    odd = {word: _pattern(word) for word in words if word.translate(_SPACES).split() != [word]}
    for blob in repository.stream_blobs(sorted(blobs)):
        if isinstance(blob, Blob):
            # one split for all words: hundreds of searches would each read the text again, mostly in vain
            found = words.intersection(blob.data.translate(_SPACES).split())
            yield (
                blob.oid,
                found | {word for word, pattern in odd.items() if word in blob.data and pattern.search(blob.data)},
            )


_SPACES = bytes(byte if re.match(rb"[\w-]", bytes([byte])) else 32 for byte in range(256))
"""Everything that is no letter, digit, underscore or dash parts words."""


def _pattern(word: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w-])" + re.escape(word) + rb"(?![\w-])")


def _spellings(key: str) -> Iterator[bytes]:
    name = key.removeprefix("env:").rpartition(".")[2]
    yield name.encode()
    if not key.startswith("env:") and "_" in name:
        yield f"--{name.replace('_', '-')}".encode()
