"""Words in the Python files of one commit: its text is read once, however many words are looked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from layline.git import Blob

if TYPE_CHECKING:
    from layline.source.tree import Tree

_SUFFIX = ".py"


class TextSearch:
    """What `git grep` would find in a tree; a pass of git over a large upstream costs half a second for each word."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @cached_property
    def _texts(self) -> dict[str, bytes]:
        """Path → text; nothing where the objects of the commit are not all here."""
        entries = self._tree.entries.values()
        blobs = {entry.path: entry.oid for entry in entries if entry.is_file and entry.path.endswith(_SUFFIX)}
        data = {
            one.oid: one.data
            for one in self._tree.repository.stream_blobs(set(blobs.values()))
            if isinstance(one, Blob)
        }
        return {path: data[oid] for path, oid in blobs.items()} if all(oid in data for oid in blobs.values()) else {}

    def has(self, text: str) -> bool:
        """Whether any file holds this text."""
        wanted = text.encode("utf-8", "surrogatepass")
        return any(wanted in data for data in self._texts.values())

    def find_files(self, word: str) -> Iterator[str]:
        """The files in which a word stands by itself."""
        wanted, alone = word.encode("utf-8", "surrogatepass"), _alone(word)
        return (path for path, data in self._texts.items() if wanted in data and alone.search(data))

    def find_holders(self, texts: Iterable[str]) -> Iterator[str]:
        """The files that hold one of these texts."""
        wanted = [text.encode("utf-8", "surrogatepass") for text in texts]
        return (path for path, data in self._texts.items() if any(text in data for text in wanted))

    def says(self, name: str, kind: str) -> bool:
        """Whether an annotation of this name has this class: `name: kind`, `name: Optional[kind]`."""
        wanted = kind.encode("utf-8", "surrogatepass")
        written = re.compile(
            rb"\b%s *: *[^=,)\n]*\b%s\b" % (re.escape(name.encode("utf-8", "surrogatepass")), re.escape(wanted))
        )
        return any(wanted in data and written.search(data) for data in self._texts.values())

    def find_first(self, texts: Iterable[str]) -> tuple[str, int] | None:
        """The first file that holds one of these texts, and the line of its first one."""
        wanted = [text.encode("utf-8", "surrogatepass") for text in texts]
        for path, data in self._texts.items():
            found = [at for text in wanted if (at := data.find(text)) >= 0]
            if found:
                return path, data.count(b"\n", 0, min(found)) + 1
        return None

    def find_lines(self, word: str) -> Iterator[str]:
        """Every line in which a word stands by itself."""
        wanted, alone = word.encode("utf-8", "surrogatepass"), _alone(word)
        for data in self._texts.values():
            found = alone.search(data) if wanted in data else None
            while found is not None:  # most lines hold nothing: only those that do are cut out
                first, last = data.rfind(b"\n", 0, found.start()) + 1, data.find(b"\n", found.end())
                yield data[first : last if last >= 0 else len(data)].decode("utf-8", "replace")
                found = alone.search(data, last) if last >= 0 else None


def _alone(word: str) -> re.Pattern[bytes]:
    return re.compile(rb"\b%s\b" % re.escape(word.encode("utf-8", "surrogatepass")))
