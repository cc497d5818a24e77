"""What is said of names in a word, kept from one tip to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from layline.source.at_tips import AtTips
    from layline.source.seen import Read


class Told:
    """What is said of names in a word, each kept with what it was read from: who builds on it depends on the word."""

    def __init__(self, what: str, tips: AtTips) -> None:
        self._what = what
        self._tips = tips
        self._put: set[str] = set()
        self._known: dict[str, str | None] = {}

    def find(self, name: str) -> str | None:
        """What was found before and still holds."""
        if name not in self._known:
            self._known[name] = self._tips.find(self._key(name), lambda plain, _stamp: str(plain.get("told")))
        return self._known[name]

    def put(self, name: str, told: str, reads: Iterable[Read]) -> None:
        if name in self._put:
            return
        self._put.add(name)
        fresh, compare = {"told": told}, self._tips.memos.compare
        kept = self.find(name) if compare is not None else None
        if kept is not None and compare is not None:
            compare(f"{self._what} of {name}", {"told": kept}, fresh)
        self._tips.keep(self._key(name), fresh, reads)
        self._known[name] = told

    def save(self) -> None:
        self._tips.memos.save()

    def _key(self, name: str) -> str:
        return self._tips.memos.key(self._what, name)
