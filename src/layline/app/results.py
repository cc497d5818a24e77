"""Answers worth keeping: what a pure function of commits, settings and our own code gave, by a digest of all three."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import layline
from layline import codec
from layline.app.workspace import cache_directory
from layline.source import Cache


def result_key(*inputs: object) -> str:
    """A digest of the inputs and of Layline's own source: another version never reads an old answer."""
    plain = [
        item if isinstance(item, str | int | list | dict | tuple | type(None)) else codec.encode(item)
        for item in inputs
    ]
    text = json.dumps([_own_digest(), plain], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class Results:
    """Plain JSON objects by key, in Layline's cache; losing it costs time, never an answer."""

    def __init__(self, kind: str) -> None:
        self._cache = Cache(cache_directory(), f"result-{kind}")

    def load(self, key: str) -> dict[str, Any] | None:
        text = self._cache.load([key]).get(key)
        found = json.loads(text) if text is not None else None
        return found if isinstance(found, dict) else None

    def store(self, key: str, value: dict[str, Any]) -> None:
        self._cache.store([(key, json.dumps(value, ensure_ascii=True))])


@lru_cache(maxsize=1)
def _own_digest() -> str:
    root = Path(layline.__file__).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(path.relative_to(root).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()
