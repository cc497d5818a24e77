"""What lies on disk and is not committed: read as bytes, no filter or hook of the repository runs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from layline.errors import Error, MissingObject
from layline.git.commands import argv, run
from layline.git.overlay import hash_blob
from layline.git.repository import find_git_dir, open_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from layline.git.objects import TreeEntry
    from layline.git.repository import Repository

_LARGEST = 16 * 1024 * 1024
_POINTER = b"version https://git-lfs"
"""What a filter puts into the place of a large file; the file on disk is another by design."""


@dataclass(frozen=True, slots=True)
class Edits:
    """How the work tree differs from a commit."""

    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """Path → content; None: the file is gone."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Path of a submodule → the commit that is checked out there."""
    untracked: frozenset[str] = frozenset()
    """Those of the files that git does not know."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted((*self.files, *self.links)))


def find_work_tree(repository: Repository) -> Path | None:
    """The folder that a repository is checked out in; None for bare ones and those without a checkout."""
    git_dir = repository.git_dir
    if not (git_dir / "index").exists():
        return None
    if git_dir.name == ".git":
        return git_dir.parent
    for name, pattern in (("gitdir", r"(.+)/\.git\s*\Z"), ("config", r"(?im)^\s*worktree\s*=\s*(.+?)\s*$")):
        try:
            found = re.search(pattern, (git_dir / name).read_text(encoding="utf-8", errors="surrogateescape"))
        except OSError:
            continue
        if found:
            return (git_dir / found.group(1)).resolve()
    return None


def find_edits(repository: Repository, commit: str, wanted: Callable[[str], bool]) -> Edits | None:
    """The differences of the files and submodules that are wanted; None where there is no work tree."""
    root = find_work_tree(repository)
    if root is None:
        return None
    entries = {entry.path: entry for entry in repository.read_tree(commit) if wanted(entry.path)}
    files: dict[str, bytes | None] = {}
    links: dict[str, str] = {}
    listed = _list(repository, root)
    for path, entry in entries.items():
        if entry.is_gitlink:
            links |= _find_link(root, entry)
            continue
        data = _read(root / path)
        if data is None and (path in listed.gone or path not in listed.known):
            files[path] = None
        elif data is not None and not _is_same(repository, entry, data):
            files[path] = data
    for path in (listed.known | listed.others) - entries.keys():
        data = _read(root / path) if wanted(path) else None
        if data is not None:
            files[path] = data
    return Edits(files, links, frozenset(files.keys() & listed.others))


def is_ignored(repository: Repository, path: str) -> bool:
    """Whether the work tree has a file that git neither holds nor would add."""
    root = find_work_tree(repository)
    if root is None or not (root / path).is_file():
        return False
    listed = _list(repository, root)
    return path not in listed.known | listed.others


@dataclass(frozen=True, slots=True)
class _Listed:
    """Paths of the index, those of them that are not on disk, and those on disk that the index does not know."""

    known: frozenset[str]
    gone: frozenset[str]
    others: frozenset[str]


def _list(repository: Repository, root: Path) -> _Listed:
    options = ("-z", "-t", "--full-name", "--cached", "--deleted", "--others", "--exclude-standard")
    out = run(argv(repository.git_dir, (f"--work-tree={root}", "ls-files", *options, "--", str(root))))
    found: dict[str, set[str]] = {"R": set(), "?": set(), "known": set()}
    for row in out.decode("utf-8", "surrogateescape").split("\0"):
        tag, _, path = row.partition(" ")
        if path and not path.endswith("/"):
            found[tag if tag in found else "known"].add(path)
    return _Listed(frozenset(found["known"]), frozenset(found["R"]), frozenset(found["?"]))


def _read(place: Path) -> bytes | None:
    """The bytes of a regular file, or where a link points to; None for anything else."""
    try:
        if place.is_symlink():
            return os.fsencode(place.readlink())
        return place.read_bytes() if place.is_file() and place.stat().st_size <= _LARGEST else None
    except OSError:
        return None


def _is_same(repository: Repository, entry: TreeEntry, data: bytes) -> bool:
    """Ends of lines and large files may be written in another way by a checkout; that is no edit."""
    kind = "sha256" if len(entry.oid) == 64 else "sha1"
    if hash_blob(data, kind) == entry.oid:
        return True
    if b"\r\n" in data and hash_blob(data.replace(b"\r\n", b"\n"), kind) == entry.oid:
        return True
    try:
        return repository.read_blob(entry.oid).startswith(_POINTER)
    except MissingObject:
        return False


def _find_link(root: Path, entry: TreeEntry) -> dict[str, str]:
    place = root / entry.path
    if find_git_dir(place) is None:
        return {}  # not checked out
    try:
        found = open_repository(place).resolve("HEAD")
    except Error:
        return {}
    return {} if found == entry.oid else {entry.path: found}
