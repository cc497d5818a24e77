"""What readers said about parts of a project, each under a digest of everything the part can see.

Nothing is ever invalidated: another input is another key. `LAYLINE_CHECK=1` reads every part anew and compares it with
the row that would have been believed.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from layline.source.cache import Cache

T = TypeVar("T")


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
        self._fresh: dict[str, str] = {}
        """As text: rows of a large project, as values, take ten times as much."""
        self.recalled = 0
        self.made = 0

    def key(self, kind: str, *inputs: object) -> str:
        text = json.dumps([self._base, kind, inputs], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def recall(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """What is kept under these keys."""
        found = self._cache.load(keys) if self._cache is not None else {}
        return {key: value for key, text in found.items() if (value := _decode(text)) is not None}

    def find(self, what: str, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The kept value, or the one that is made now."""
        kept = _decode(self._fresh[key]) if key in self._fresh else None
        if kept is not None:
            return kept
        kept = self.recall([key]).get(key)
        if kept is None or self.compare is not None:
            fresh = make()
            if self.compare is not None:
                self.compare(what, kept, fresh)
            self.keep(key, fresh)
            kept = fresh
        return kept

    def keep(self, key: str, value: dict[str, Any]) -> None:
        """Hold a fresh value for `save`."""
        self._fresh[key] = json.dumps(value)

    def save(self) -> None:
        """Write what was made."""
        if self._cache is not None and self._fresh:
            self._cache.store(self._fresh.items())
        self._fresh = {}


def _decode(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class Answers:
    """Questions about one file each, with plain answers; all of a file in one row."""

    def __init__(self, memos: Memos | None = None) -> None:
        self._memos = memos or Memos()
        self._rows: dict[str, dict[str, Any]] = {}
        self._fresh: set[tuple[str, str]] = set()
        """Found now; what is saved stays found."""
        self._unsaved: set[str] = set()

    def load(self, blobs: Iterable[str]) -> None:
        """Read what is kept of many files at once."""
        keys = {self._key(blob): blob for blob in blobs if blob not in self._rows}
        kept = self._memos.recall(keys) if keys else {}
        self._rows.update({blob: kept.get(key, {}) for key, blob in keys.items()})

    def find(self, blob: str, question: str, make: Callable[[], T]) -> T:
        """The kept answer, or the one that is made now."""
        if self.trusts(blob, question):
            kept: T = self._rows[blob][question]
            return kept
        made = make()
        self.put(blob, question, made)
        return made

    def trusts(self, blob: str, question: str) -> bool:
        """Whether an answer is there that need not be found anew."""
        self.load([blob])
        return question in self._rows[blob] and (self._memos.compare is None or (blob, question) in self._fresh)

    def get(self, blob: str, question: str) -> Any:
        """The answer that is there, if one is."""
        self.load([blob])
        return self._rows[blob].get(question)

    def put(self, blob: str, question: str, answer: object, *, same: bool = True) -> None:
        """Keep an answer found now; with `compare`, held against the kept one, unless that was asked for less."""
        row = self._rows[blob]
        if same and question in row and self._memos.compare is not None and (blob, question) not in self._fresh:
            self._memos.compare(f"{question} of {blob}", {"": row[question]}, {"": answer})
        row[question] = answer
        self._fresh.add((blob, question))
        self._unsaved.add(blob)

    def save(self) -> None:
        """Keep what was made."""
        for blob in sorted(self._unsaved):
            self._memos.keep(self._key(blob), self._rows[blob])
        self._memos.save()
        self._unsaved = set()

    def _key(self, blob: str) -> str:
        return self._memos.key("blob", blob)
