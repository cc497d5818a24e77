"""Star imports by their words: what no file behind them names, none of them can hand on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property

from layline.errors import MissingObject
from layline.source.index import Index

_STAR = re.compile(r"\bimport[\s\\(]*\*")
_WORD = re.compile(r"[^\W\d]\w*")


class StarWords:
    """The words of all files that the star imports of a module lead to, read once for each module asked about.

    Large packages have hundreds of stars, and a name they do not have is asked for as often as one they have:
    searching texts costs a hundredth of reading what each of them binds.
    """

    def __init__(self, index: Index, find_sources: Callable[[str], Iterable[str]]) -> None:
        self._index = index
        self._find_sources = find_sources
        self._words: dict[str, frozenset[str] | None] = {}

    def may_bind(self, module: str, name: str) -> bool:
        """False if no star import of the module can bind the name; True where a text is missing."""
        if module not in self._words:
            self._words[module] = self._collect(module)
        words = self._words[module]
        return words is None or name in words

    def may_mention(self, source: str, name: str) -> bool:
        """False if the text of one file behind a star plainly cannot bind the name."""
        if source not in self._index.entries or name in self._children.get(source, ()):
            return True
        try:
            text = self._index.read_text(source)
        except MissingObject:
            return True
        return name in text or _STAR.search(text) is not None or not text.isascii()

    def _collect(self, module: str) -> frozenset[str] | None:
        words: set[str] = set()
        todo = list(self._find_sources(module))
        seen = {module}
        while todo:
            source = todo.pop()
            if source in seen:
                continue
            seen.add(source)
            words |= self._children.get(source, set())
            if source not in self._index.entries:
                continue
            try:
                text = self._index.read_text(source)
            except MissingObject:
                return None
            words.update(_WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text)))
            if _STAR.search(text):
                todo.extend(self._find_sources(source))
        return frozenset(words)

    @cached_property
    def _children(self) -> dict[str, set[str]]:
        """The submodules of every package."""
        found: dict[str, set[str]] = {}
        for name in (*self._index.entries, *self._index.namespaces):
            package, _, child = name.rpartition(".")
            found.setdefault(package, set()).add(child)
        return found
