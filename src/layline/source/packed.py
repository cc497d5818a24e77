"""Texts of many files as they are searched again and again: packed, and told apart by the words that stand in them.

Where a word is no part of any word of a text, it is not in the text either: only the others are unpacked.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

_WORD = re.compile(rb"[\w\x80-\xff]+")


class PackedTexts:
    """Texts by blob id."""

    def __init__(self) -> None:
        self._texts: dict[str, bytes] = {}
        self._words: dict[str, bytes] = {}
        """Each word of the text once."""

    def __contains__(self, blob: str) -> bool:
        return blob in self._texts

    def put(self, blob: str, data: bytes) -> None:
        self._texts[blob] = zlib.compress(data, 1)
        self._words[blob] = b"\n".join(set(_WORD.findall(data)))

    def holds(self, blob: str, words: Iterable[bytes]) -> bool:
        """Whether one of these words, or parts of words, stands in a text."""
        held = self._words[blob]
        return any(word in held for word in words)

    def read(self, blob: str) -> bytes:
        return zlib.decompress(self._texts[blob])
