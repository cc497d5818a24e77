"""What was found in single files, by blob: a commit that does not change a file does not look into it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from layline.source.memos import Memos

T = TypeVar("T")


class Answers:
    """Questions about one file each, with plain answers; all of a file in one row."""

    def __init__(self, memos: Memos | None = None) -> None:
        self._memos = memos or Memos()
        self._rows: dict[str, dict[str, Any]] = {}
        self._fresh: set[tuple[str, str]] = set()

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

    def save(self) -> None:
        """Keep what was made."""
        for blob in sorted({blob for blob, _ in self._fresh}):
            self._memos.keep(self._key(blob), self._rows[blob])
        self._memos.save()
        self._fresh = set()

    def _key(self, blob: str) -> str:
        return self._memos.key("blob", blob)
