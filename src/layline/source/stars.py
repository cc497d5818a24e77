"""Star imports by what the files behind them bind, or, where nobody has parsed them, by their words: what none of
them has, none of them can hand on.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from layline.git import Blob
from layline.source.index import Index
from layline.source.names import parents
from layline.source.seen import Asked, Read

_STAR = re.compile(rb"\bimport[\s\\(]*\*")
_SPACED = bytes(code if code >= 128 or chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))
"""Everything that parts words becomes a space: five times as quick as a pattern for words."""
_STARRED = "*"
_MOST = 20_000
"""Files whose words are remembered."""


@dataclass(frozen=True, slots=True)
class _Text:
    words: bytes
    """Each once, with a space on both sides."""
    has_star: bool
    is_ascii: bool
    """False: letters of it are read as others."""

    def split(self) -> list[str]:
        return self.words.decode("utf-8", "replace").split(" ")


@dataclass(frozen=True, slots=True)
class _Bound:
    """What one file may bind."""

    words: Iterable[str]
    has_star: bool
    is_sure: bool = True
    """False: it may bind others, too."""


class _Texts:
    """The words of files by blob: read once, whichever commit asks."""

    def __init__(self) -> None:
        self._known: dict[str, _Text] = {}

    def read(self, index: Index, modules: list[str]) -> list[_Text] | None:
        """Of each module; None where a text is missing."""
        if len(self._known) > _MOST:
            self._known = {}
        known = self._known
        entries = [index.every[module] for module in modules]
        for blob in index.stream_blobs(one for one in entries if one.blob not in known):
            if not isinstance(blob, Blob):
                return None
            words = b" ".join((b"", *set(split_words(blob.data)), b""))
            known[blob.oid] = _Text(words, has_star(blob.data), blob.data.isascii())
        return [known[one.blob] for one in entries]


class StarWords:
    """The names of all files that the star imports of a module lead to, read once for each module asked about.

    Large packages have hundreds of stars, and a name they do not have is asked for as often as one they have. Of files
    that are parsed anyway the names are known; of others the words: searching texts costs a hundredth of parsing.
    """

    _texts = _Texts()

    def __init__(self, index: Index, find_sources: Callable[[str], Iterable[str]]) -> None:
        self._index = index
        self._find_sources = find_sources
        self._words: dict[str, tuple[frozenset[str] | None, tuple[Read, ...]]] = {}
        self._said: dict[str, frozenset[str] | None] = {}
        """Of one source: its own names and those that its stars lead to; None where it may bind any name."""

    def may_bind(self, module: str, name: str) -> bool:
        """False if no star import of the module can bind the name; True where a text is missing."""
        if module not in self._words:
            with self._index.seen.within(set()):
                words, sources = self._collect(module)
            self._words[module] = words, tuple((Asked.STARS, source) for source in sources)
        words, reads = self._words[module]
        self._index.seen.extend(reads)
        if len(reads) > 1:  # where there is no star, no name comes by one
            self._index.seen.add(Asked.WORD, name)
        return words is None or name in words

    def may_mention(self, source: str, name: str) -> bool:
        """False if one file behind a star, and what its own stars lead to, plainly cannot bind the name: `may_bind` of
        the module that has the star has noted what is read for that.
        """
        if source not in self._said:
            with self._index.seen.within(set()):
                self._said[source] = self._say(source)
        words = self._said[source]
        return words is None or name in words

    def _say(self, source: str) -> frozenset[str] | None:
        read = self._read([source]) if source in self._index.every else None
        if read is None or not read[0].is_sure:
            return None
        behind, _ = self._collect(source) if read[0].has_star else (frozenset[str](), None)
        if behind is None:
            return None
        return frozenset({*read[0].words, *behind, *self._children.get(source, ())})

    def _collect(self, module: str) -> tuple[frozenset[str] | None, frozenset[str]]:
        """The names, and whose star imports led to them."""
        words: set[str] = set()
        todo = set(self._find_sources(module))
        seen = {module}
        while todo := todo - seen:
            seen |= todo
            for source in todo:
                words |= self._children.get(source, set())
            held = [source for source in todo if source in self._index.every]
            read = self._read(held)
            if read is None:
                return None, frozenset(seen)
            for text in read:
                words.update(text.words)
            starred = [source for source, text in zip(held, read, strict=True) if text.has_star]
            todo = {behind for source in starred for behind in self._find_sources(source)}
        return frozenset(words), frozenset(seen)

    def _read(self, modules: list[str]) -> list[_Bound] | None:
        """What each module may bind; None where a text is missing."""
        known = {module: one for module in modules if (one := self._index.peek_known(module)) is not None}
        rest = [module for module in modules if module not in known]
        texts = self._texts.read(self._index, rest)
        if texts is None:
            return None
        said = {
            module: _Bound(text.split(), text.has_star, text.is_ascii) for module, text in zip(rest, texts, strict=True)
        }
        said |= {module: _Bound(names := one.bound_names(), _STARRED in names) for module, one in known.items()}
        return [said[module] for module in modules]

    @cached_property
    def _children(self) -> dict[str, set[str]]:
        """The submodules of every package."""
        found: dict[str, set[str]] = {}
        for name in (*self._index.every, *self._find_packages()):
            package, _, child = name.rpartition(".")
            found.setdefault(package, set()).add(child)
        return found

    def _find_packages(self) -> frozenset[str]:
        return frozenset(above for name in self._index.every for above in parents(name))


def has_star(data: bytes) -> bool:
    """True if a file may take all that another binds."""
    return _STAR.search(data) is not None


def is_starred(data: bytes) -> bool:
    """True if a file may bind names that it does not spell: by a star, or by letters that are read as others."""
    return has_star(data) or not data.isascii()


def split_words(data: bytes) -> list[bytes]:
    """Every name of a text, as Python reads names: `ﬁeld` is `field`."""
    plain = data if data.isascii() else unicodedata.normalize("NFKC", data.decode("utf-8", "replace")).encode()
    return plain.translate(_SPACED).split()
