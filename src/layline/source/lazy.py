"""An index that reads a module when somebody asks about it: for questions about few names of a large tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.errors import MissingObject
from layline.source.index import ABSENT, Index, find_entries
from layline.source.parsing import encode_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from layline.source.cache import Cache
    from layline.source.index import ModuleEntry, Part


class LazyTexts(dict[str, str]):
    """Blob → encoded module, parsed at the first look; `fresh` holds what a cache does not know yet."""

    def __init__(self, parts: Sequence[Part], entries: Iterable[ModuleEntry]) -> None:
        super().__init__()
        self.fresh: dict[str, str] = {}
        self._trees = {entry.blob: parts[entry.part].tree for entry in entries}

    def __missing__(self, blob: str) -> str:
        try:
            text = encode_module(self._trees[blob].repository.read_blob(blob))
        except MissingObject:
            self[blob] = ABSENT
            return ABSENT
        self[blob] = self.fresh[blob] = text
        return text


def open_index(parts: Sequence[Part], cache: Cache | None = None) -> tuple[Index, LazyTexts]:
    """An index over the parts that has read nothing yet but what the cache holds."""
    entries = [entry for number, part in enumerate(parts) for entry in find_entries(number, part)]
    texts = LazyTexts(parts, entries)
    if cache is not None:
        texts.update(cache.load(entry.blob for entry in entries))
    return Index(parts, entries, texts), texts
