"""Modules by blob, whatever commit they stand in: history has many versions that an index or an earlier run has
read.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from layline.core.weak import weakly
from layline.git import Blob
from layline.source.definitions import Module
from layline.source.parsing import decode_module
from layline.source.workers import encode_blobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from layline.git import Repository
    from layline.source.cache import Cache
    from layline.source.index import Index


class Versions:
    """What is known of the blobs of one repository without parsing them here and now."""

    def __init__(self, repository: Repository, indexes: Sequence[Index] = (), cache: Cache | None = None) -> None:
        self._repository = repository
        self._indexes = tuple(indexes)
        self._cache = cache
        self._texts: dict[str, str] = {}
        """As text: modules of a long history, as values, take six times as much."""
        self._decoded = lru_cache(maxsize=256)(weakly(self._decode))

    def find(self, blob: str) -> Module | None:
        """What the blob binds, if it was read before and is Python."""
        for index in self._indexes:
            found = index.find_version(blob)
            if found is not None:
                return found
        return self._decoded(blob) if blob in self._texts else None

    def _decode(self, blob: str) -> Module | None:
        found = decode_module(self._texts[blob])
        return found if isinstance(found, Module) else None

    def read(self, blobs: Iterable[str]) -> None:
        """Read blobs that will be asked for: from the cache, else parsed on all cores and kept for the next run."""
        wanted = {blob for blob in blobs if blob not in self._texts and self.find(blob) is None}
        texts = self._cache.load(wanted) if self._cache is not None and wanted else {}
        missing = sorted(wanted - texts.keys())
        if missing:
            streamed = self._repository.stream_blobs(missing)
            made = dict(encode_blobs(found for found in streamed if isinstance(found, Blob)))
            if self._cache is not None:
                self._cache.store(made.items())
            texts |= made
        self._texts |= texts
