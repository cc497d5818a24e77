"""The files of one commit, as the analysers see them: paths, text, symlinks followed inside the tree."""

from __future__ import annotations

import posixpath
from functools import cached_property
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.errors import MissingObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.git import Repository, TreeEntry

MAX_BLOB_BYTES = 8 * 1024 * 1024
"""A source file larger than this is data."""
_MAX_LINKS = 8


class Tree:
    """One commit of one repository; paths are listed once, contents read on demand."""

    def __init__(self, repository: Repository, commit: str) -> None:
        self.repository = repository
        self.commit = commit

    @cached_property
    def entries(self) -> dict[str, TreeEntry]:
        """Every path of the commit, in order; symlinks as they are."""
        return {entry.path: entry for entry in self.repository.read_tree(self.commit)}

    def paths(self, under: str = "", suffix: str = "") -> Iterator[str]:
        """Files below a folder, in order; a symlink to a file counts under its own path."""
        prefix = "" if under in {"", "."} else under.rstrip("/") + "/"
        for path in self.entries:
            if path.startswith(prefix) and path.endswith(suffix) and self.find(path) is not None:
                yield path

    def find(self, path: str) -> TreeEntry | None:
        """The regular file at `path`, symlinks followed inside the tree."""
        for _ in range(_MAX_LINKS):
            entry = self.entries.get(path)
            if entry is None or entry.is_file:
                return entry
            if not entry.is_symlink:
                return None
            target = self._read_link(entry.oid)
            if target is None:
                return None
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            if target.startswith("/") or path.startswith("../"):
                return None
        return None

    def _read_link(self, oid: str) -> str | None:
        try:
            return self.repository.read_blob(oid).decode("utf-8", "surrogateescape")
        except MissingObject:
            return None

    def read_text(self, path: str) -> str | Skipped:
        """The text at `path`, or why it cannot be read as text."""
        entry = self.find(path)
        if entry is None:
            return Skipped.at(path, None, "no such file in this commit")
        try:
            data = self.repository.read_blob(entry.oid)
        except MissingObject:
            return Skipped.at(path, None, f"blob {entry.oid} is not in this clone")
        return decode_source(path, data)


def decode_source(path: str, data: bytes) -> str | Skipped:
    if len(data) > MAX_BLOB_BYTES:
        return Skipped.at(path, None, f"{len(data)} bytes are more than the {MAX_BLOB_BYTES} that Layline reads")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Skipped.at(path, None, f"byte {error.start} is not UTF-8")
