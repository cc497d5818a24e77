"""A few files of a tree, some with other text: what one edit touches, read without the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.git.objects import Blob, TreeEntry
from layline.git.overlay import Overlay, hash_blob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Protocol

    from layline.git.repository import Repository

    class Files(Protocol):
        """A tree whose entries are known already."""

        repository: Repository
        commit: str

        @property
        def entries(self) -> dict[str, TreeEntry]: ...


class Narrow(Overlay):
    """Answers as the tree's repository does, but its commit holds only `paths`, with the texts given for some of
    them.
    """

    def __init__(self, tree: Files, texts: Mapping[str, bytes], paths: frozenset[str]) -> None:
        inner = tree.repository
        files = {path: data for path, data in texts.items() if path in paths}
        super().__init__(inner, tree.commit, files)
        self._inner = inner
        known = {path: entry for path in paths if (entry := tree.entries.get(path)) is not None}
        for path, data in files.items():
            mode = known[path].mode if path in known else "100644"
            known[path] = TreeEntry(
                mode, hash_blob(data, "sha256" if len(tree.commit) == 64 else "sha1"), path, len(data)
            )
        self._known = known

    def read_tree(self, commit: str, under: str = "", *, sizes: bool = False) -> Iterator[TreeEntry]:
        if commit != self.over:
            yield from self._inner.read_tree(commit, under, sizes=sizes)
            return
        for path in sorted(self._known):
            if not under or path == under or path.startswith(f"{under.rstrip('/')}/"):
                yield self._known[path]

    def read_entry(self, commit: str, path: str) -> TreeEntry | None:
        return self._known.get(path) if commit == self.over else self._inner.read_entry(commit, path)

    def read_blob(self, oid: str) -> bytes:
        return self._blobs[oid] if oid in self._blobs else self._inner.read_blob(oid)

    def stream_blobs(self, oids: Iterable[str]) -> Iterator[Blob | str]:
        listed = list(oids)
        yield from (Blob(oid, self._blobs[oid]) for oid in listed if oid in self._blobs)
        yield from self._inner.stream_blobs(oid for oid in listed if oid not in self._blobs)
