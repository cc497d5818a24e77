"""Star imports by their words: what no file behind them names, none of them can hand on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property

from layline.errors import MissingObject
from layline.source.index import Index
from layline.source.names import parents
from layline.source.seen import Asked

_STAR = re.compile(rb"\bimport[\s\\(]*\*")
_SPACED = bytes(code if code >= 128 or chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))
"""Everything that parts words becomes a space: five times as quick as a pattern for words."""


class StarWords:
    """The words of all files that the star imports of a module lead to, read once for each module asked about.

    Large packages have hundreds of stars, and a name they do not have is asked for as often as one they have:
    searching texts costs a hundredth of reading what each of them binds.
    """

    def __init__(self, index: Index, find_sources: Callable[[str], Iterable[str]]) -> None:
        self._index = index
        self._find_sources = find_sources
        self._words: dict[str, tuple[frozenset[bytes] | None, frozenset[str]]] = {}

    def may_bind(self, module: str, name: str) -> bool:
        """False if no star import of the module can bind the name; True where a text is missing."""
        if module not in self._words:
            with self._index.seen.within(set()):
                self._words[module] = self._collect(module)
        words, sources = self._words[module]
        self._index.seen.extend((Asked.STARS, source) for source in sources)
        if len(sources) > 1:  # where there is no star, no name comes by one
            self._index.seen.add(Asked.WORD, name)
        return words is None or name.encode() in words

    def may_mention(self, source: str, name: str) -> bool:
        """False if the text of one file behind a star plainly cannot bind the name."""
        self._index.seen.add(Asked.WORD, name)
        self._index.seen.add(Asked.STARS, source)
        with self._index.seen.within(set()):
            if source not in self._index.every or name.encode() in self._children.get(source, ()):
                return True
            try:
                data = self._index.read_blob(source)
            except MissingObject:
                return True
        return name.encode() in data or is_starred(data)

    def _collect(self, module: str) -> tuple[frozenset[bytes] | None, frozenset[str]]:
        """The words, and whose star imports led to them."""
        words: set[bytes] = set()
        todo = list(self._find_sources(module))
        seen = {module}
        while todo:
            source = todo.pop()
            if source in seen:
                continue
            seen.add(source)
            words |= self._children.get(source, set())
            if source not in self._index.every:
                continue
            try:
                data = self._index.read_blob(source)
            except MissingObject:
                return None, frozenset(seen)
            words.update(split_words(data))
            if _STAR.search(data):
                todo.extend(self._find_sources(source))
        return frozenset(words), frozenset(seen)

    @cached_property
    def _children(self) -> dict[str, set[bytes]]:
        """The submodules of every package."""
        found: dict[str, set[bytes]] = {}
        for name in (*self._index.every, *self._find_packages()):
            package, _, child = name.rpartition(".")
            found.setdefault(package, set()).add(child.encode())
        return found

    def _find_packages(self) -> frozenset[str]:
        return frozenset(above for name in self._index.every for above in parents(name))


def is_starred(data: bytes) -> bool:
    """True if a file may bind names that it does not spell: by a star, or by letters that are read as others."""
    return _STAR.search(data) is not None or not data.isascii()


def split_words(data: bytes) -> list[bytes]:
    """Every name of a text, as Python reads names: `ﬁeld` is `field`."""
    plain = data if data.isascii() else unicodedata.normalize("NFKC", data.decode("utf-8", "replace")).encode()
    return plain.translate(_SPACED).split()
