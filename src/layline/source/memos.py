"""What readers said about parts of a project, each under a digest of everything the part can see.

Nothing is ever invalidated: another input is another key. `LAYLINE_CHECK=1` reads every part anew and compares it with
the row that would have been believed.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from layline.source.cache import Cache


class Memos:
    """Plain JSON values by key. Losing them costs time; a row that cannot be decoded is a miss."""

    def __init__(
        self,
        cache: Cache | None = None,
        base: str = "",
        compare: Callable[[str, dict[str, Any] | None, dict[str, Any]], None] | None = None,
    ) -> None:
        """`base` stands for what all rows depend on: our code, settings, pins.

        With `compare` nothing is believed: what would be is read anew, and the two are compared.
        """
        self._cache = cache
        self._base = base
        self.compare = compare
        self._fresh: dict[str, dict[str, Any]] = {}
        self.recalled = 0
        self.made = 0

    def key(self, kind: str, *inputs: object) -> str:
        text = json.dumps([self._base, kind, inputs], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def recall(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """What is kept under these keys."""
        found = self._cache.load(keys) if self._cache is not None else {}
        return {key: value for key, text in found.items() if (value := _decode(text)) is not None}

    def keep(self, key: str, value: dict[str, Any]) -> None:
        """Hold a fresh value for `save`."""
        self._fresh[key] = value

    def save(self) -> None:
        """Write what was made."""
        if self._cache is not None and self._fresh:
            self._cache.store((key, json.dumps(value)) for key, value in self._fresh.items())
        self._fresh = {}


def _decode(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
