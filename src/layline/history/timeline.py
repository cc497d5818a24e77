"""Every change of the files of a kind between two commits, in order: one pass over the history, blob ids and all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.git import Repository

_NONE = "0"
_GITLINK = "160000"


@dataclass(frozen=True, slots=True)
class BlobChange:
    """One file in one commit, against its first parent."""

    path: str
    before: str | None
    """Blob id; None where the commit adds the file."""
    after: str | None
    """None where it deletes it."""


@dataclass(frozen=True, slots=True)
class TimelineCommit:
    commit: str
    changes: tuple[BlobChange, ...]


class Timeline:
    """Steps along first parents, oldest first; commits that touch no such file are left out."""

    def __init__(self, steps: tuple[TimelineCommit, ...]) -> None:
        self.steps = steps

    @cached_property
    def by_path(self) -> dict[str, tuple[tuple[int, BlobChange], ...]]:
        """Path → its changes, each with the number of its step."""
        found: dict[str, list[tuple[int, BlobChange]]] = defaultdict(list)
        for number, step in enumerate(self.steps):
            for change in step.changes:
                found[change.path].append((number, change))
        return {path: tuple(changes) for path, changes in found.items()}


def read_timeline(
    repository: Repository, base: str | None, tip: str, patterns: tuple[str, ...] = ("*.py",)
) -> Timeline:
    """Along first parents: a merge counts as one step with all it brings. Renames show as a deletion and an addition.

    Without a base the whole history up to the tip is read.
    """
    out = repository.git(
        "log",
        "--first-parent",
        "-m",
        "--reverse",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        "-z",
        "--format=%x01%H",
        tip if base is None else f"{base}..{tip}",
        "--",
        *patterns,
    )
    return Timeline(tuple(_parse(out.decode("utf-8", "surrogateescape"))))


def read_touched(repository: Repository, one: str, two: str) -> dict[str, frozenset[str | None]] | None:
    """Paths that were changed on the way along first parents from one commit to the other, whichever is the older, each
    with all its versions; None where neither follows the other.
    """
    for old, new in ((one, two), (two, one)):
        if one == two or follows(repository, new, old):
            found = read_timeline(repository, old, new).by_path
            blobs = {path: [(one.before, one.after) for _, one in changes] for path, changes in found.items()}
            return {path: frozenset(blob for pair in pairs for blob in pair) for path, pairs in blobs.items()}
    return None


def follows(repository: Repository, new: str, old: str) -> bool:
    """Whether first parents lead from one commit to the other."""
    chain = repository.git("rev-list", "--first-parent", "--parents", f"{old}..{new}").decode().splitlines()
    return bool(chain) and chain[-1].split()[1:2] == [old]


def _parse(out: str) -> Iterator[TimelineCommit]:
    for block in out.split("\x01")[1:]:
        commit, _, rest = block.partition("\0")
        words = rest.lstrip("\n").split("\0")
        pairs = zip(words[::2], words[1::2], strict=False)
        yield TimelineCommit(
            commit.strip(), tuple(_change(head, path) for head, path in pairs if _GITLINK not in head.split()[:2])
        )


def _change(head: str, path: str) -> BlobChange:
    before, after = head.split()[2:4]
    return BlobChange(path, None if before.strip(_NONE) == "" else before, None if after.strip(_NONE) == "" else after)
