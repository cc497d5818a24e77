"""Texts of many files as they are searched again and again: packed, and told apart by the words that stand in them.

Where a word is no part of any word of a text, it is not in the text either: only the others are unpacked. The words are
kept: of a file that somebody has searched before, only a text that holds the word is read at all.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.source.cache import Cache

WORDS = "words-1"
"""As what the words of a file are kept; another way to cut them has another number."""
_WORD = re.compile(rb"[\w\x80-\xff]+")


class PackedTexts:
    """Texts by blob id."""

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache
        self._texts: dict[str, bytes] = {}
        self._words: dict[str, bytes] = {}
        """Each word of the text once."""
        self._fresh: list[str] = []

    def __contains__(self, blob: str) -> bool:
        """Whether its text is here."""
        return blob in self._texts

    def find_unknown(self, blobs: Iterable[str]) -> list[str]:
        """Those whose words nobody has read."""
        unknown = [blob for blob in blobs if blob not in self._words]
        if self._cache is not None and unknown:
            kept = self._cache.load(unknown)
            self._words.update({blob: str(json.loads(text)).encode("latin-1") for blob, text in kept.items()})
        return [blob for blob in unknown if blob not in self._words]

    def put(self, blob: str, data: bytes) -> None:
        self._texts[blob] = zlib.compress(data, 1)
        if blob not in self._words:
            self._words[blob] = b"\n".join(sorted(set(_WORD.findall(data))))
            self._fresh.append(blob)

    def save(self) -> None:
        """Keep the words of what was put."""
        if self._cache is not None and self._fresh:
            self._cache.store((blob, json.dumps(self._words[blob].decode("latin-1"))) for blob in self._fresh)
        self._fresh = []

    def holds(self, blob: str, words: Iterable[bytes]) -> bool:
        """Whether one of these words, or parts of words, stands in a text."""
        held = self._words.get(blob, b"")
        return any(word in held for word in words)

    def read(self, blob: str) -> bytes:
        return zlib.decompress(self._texts[blob])
