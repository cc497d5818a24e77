"""What was rendered before and would come out the same: kept by content, safe to delete at any time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from layline import __version__

MOST_ENTRIES = 4_000


@dataclass(slots=True)
class Cache:
    """Bytes by the digest of everything they depend on; without a folder it only counts."""

    folder: Path | None = None
    made: int = 0
    reused: int = 0

    def load(self, key: str) -> bytes | None:
        """The bytes kept under a key, if they are whole."""
        if self.folder is None:
            return None
        try:
            kept = (self.folder / key).read_bytes()
        except OSError:
            return None
        digest, content = kept[:64], kept[64:]
        if digest != hashlib.sha256(content).hexdigest().encode():
            return None  # cut short or tampered with: made again
        self.reused += 1
        return content

    def save(self, key: str, content: bytes) -> None:
        self.made += 1
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            part = self.folder / f".{key}.{os.getpid()}"
            part.write_bytes(hashlib.sha256(content).hexdigest().encode() + content)
            part.replace(self.folder / key)
        except OSError:
            return  # a cache that cannot be written costs time, nothing else

    def render(self, key: str, make: Callable[[], bytes]) -> bytes:
        found = self.load(key)
        if found is None:
            found = make()
            self.save(key, found)
        return found

    def prune(self) -> None:
        """Drop the entries that were made longest ago once there are too many."""
        if self.folder is None or not self.folder.is_dir():
            return
        entries = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(self.folder) if entry.is_file())
        for _, path in entries[: max(len(entries) - MOST_ENTRIES, 0)]:
            Path(path).unlink(missing_ok=True)


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
