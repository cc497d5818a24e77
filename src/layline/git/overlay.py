"""A commit with some files put in the place of its own: uncommitted edits, or edits that are only proposed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from layline.git.objects import Blob, TreeEntry
from layline.git.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Overlay(Repository):
    """Answers as `repository` does, but `commit` holds these files; ids of their blobs are git's own."""

    def __init__(
        self,
        repository: Repository,
        commit: str,
        files: Mapping[str, bytes | None],
        links: Mapping[str, str] | None = None,
    ) -> None:
        """`files`: path → content; None takes the file away. `links`: submodule → commit."""
        super().__init__(repository.git_dir, repository.name)
        self.over = commit
        self._files = dict(files)
        self._links = dict(links or {})
        kind = "sha256" if len(commit) == 64 else "sha1"
        self._oids = {path: hash_blob(data, kind) for path, data in self._files.items() if data is not None}
        self._blobs = {self._oids[path]: data for path, data in self._files.items() if data is not None}

    def read_tree(self, commit: str, under: str = "", *, sizes: bool = False) -> Iterator[TreeEntry]:
        entries = {entry.path: entry for entry in super().read_tree(commit, under, sizes=sizes)}
        if commit != self.over:
            yield from entries.values()
            return
        for path, data in self._files.items():
            held = entries.pop(path, None)
            if data is not None and (not under or path == under or path.startswith(f"{under.rstrip('/')}/")):
                mode = held.mode if held is not None and held.is_file else "100644"
                entries[path] = TreeEntry(mode, self._oids[path], path, len(data) if sizes else None)
        for path, oid in self._links.items():
            if path in entries:
                entries[path] = TreeEntry("160000", oid, path)
        yield from (entries[path] for path in sorted(entries))

    def read_entry(self, commit: str, path: str) -> TreeEntry | None:
        if commit == self.over and (path in self._files or path in self._links):
            return next((entry for entry in self.read_tree(commit, path) if entry.path == path), None)
        return super().read_entry(commit, path)

    def read_blob(self, oid: str) -> bytes:
        return self._blobs[oid] if oid in self._blobs else super().read_blob(oid)

    def read_file(self, commit: str, path: str) -> bytes | None:
        if commit == self.over and path in self._files:
            return self._files[path]
        return super().read_file(commit, path)

    def stream_blobs(self, oids: Iterable[str]) -> Iterator[Blob | str]:
        listed = list(oids)
        yield from (Blob(oid, self._blobs[oid]) for oid in listed if oid in self._blobs)
        yield from super().stream_blobs(oid for oid in listed if oid not in self._blobs)


def hash_blob(data: bytes, kind: str = "sha1") -> str:
    """The id that git gives to these bytes."""
    return hashlib.new(kind, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
