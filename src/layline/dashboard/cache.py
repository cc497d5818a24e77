"""What was rendered before and would come out the same: kept by content, safe to delete at any time."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from layline import __version__
from layline.source.cache import Cache


@dataclass(slots=True)
class Rendered:
    """Bytes by the digest of everything they depend on, in the cache of all other answers; without one it only
    counts.
    """

    kept: Cache | None = None
    made: int = 0
    reused: int = 0

    def load(self, key: str) -> bytes | None:
        """The bytes kept under a key, if they are whole."""
        text = self.kept.load((key,)).get(key) if self.kept is not None else None
        if text is None:
            return None
        self.reused += 1
        return b64decode(json.loads(text))

    def save(self, key: str, content: bytes) -> None:
        self.made += 1
        if self.kept is not None:
            self.kept.store(((key, json.dumps(b64encode(content).decode())),))

    def render(self, key: str, make: Callable[[], bytes]) -> bytes:
        found = self.load(key)
        if found is None:
            found = make()
            self.save(key, found)
        return found


def digest(*parts: object) -> str:
    """A key for everything that `repr` tells."""
    return hashlib.sha256("\x00".join(repr(part) for part in parts).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def code_digest() -> str:
    """Changes whenever anything that renders or checks does: templates, styles and our own code."""
    found = hashlib.sha256(__version__.encode())
    for package in ("layline.core", "layline.render", "layline.dashboard"):
        for content in _find_sources(resources.files(package)):
            found.update(hashlib.sha256(content).digest())
    return found.hexdigest()


def _find_sources(folder: Traversable) -> Iterator[bytes]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir() and not item.name.startswith("__"):
            yield from _find_sources(item)
        elif item.name.endswith((".py", ".html", ".css", ".js", ".typ")):
            yield item.read_bytes()
