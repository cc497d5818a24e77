"""The files that differ between two commits, with pinned diff semantics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.git import DIFF_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.git import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file of a diff; a rename carries both paths, a binary file counts no lines."""

    path: str
    old_path: str | None
    """Another path than `path` for a rename or a copy, None otherwise."""
    status: str
    """A added, C copied (where asked for), D deleted, M modified, R renamed, T type changed."""
    insertions: int
    deletions: int
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Diff:
    """All files that differ, in git's order."""

    files: tuple[FileChange, ...]

    @property
    def insertions(self) -> int:
        return sum(change.insertions for change in self.files)

    @property
    def deletions(self) -> int:
        return sum(change.deletions for change in self.files)


def read_diff(repository: Repository, old: str, new: str, *, copies: bool = False) -> Diff:
    """Both trees compared file by file; `git diff --shortstat` with DIFF_SETTINGS gives the same totals. With `copies`,
    a new file may come from one that stays.
    """
    asked = ("--find-copies=50%",) if copies else ()
    out = repository.git("diff", "--raw", "--numstat", "-z", "--abbrev=40", *DIFF_SETTINGS, *asked, old, new)
    return Diff(tuple(_parse(out.decode("utf-8", "surrogateescape"))))


def _parse(out: str) -> Iterator[FileChange]:
    """`--raw --numstat -z` prints all raw rows, then all number rows, in the same order."""
    words = out.split("\0")
    statuses: list[str] = []
    place = 0
    while place < len(words) and words[place].startswith(":"):
        status = words[place].rsplit(" ", 1)[-1]
        statuses.append(status[0])
        place += 3 if status[0] in "RC" else 2
    for status in statuses:
        added, deleted, path = words[place].split("\t", 2)
        place += 1
        old_path = None
        if not path:
            old_path, path = words[place], words[place + 1]
            place += 2
        yield FileChange(
            path=path,
            old_path=old_path,
            status=status,
            insertions=0 if added == "-" else int(added),
            deletions=0 if deleted == "-" else int(deleted),
            binary=added == "-",
        )
