"""What git tells of two upstream commits and of all that lies between. It says the same whatever our own commit is, and
following renames through a large diff takes seconds: it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from layline import codec
from layline.core.revision import Commit
from layline.coupling.own_code import find_version
from layline.gap.overview import read_side
from layline.history.changes import Diff, read_diff
from layline.history.commits import Distance, compare_commits, find_copied, read_log
from layline.history.tags import (
    Release,
    find_other_tags,
    find_release,
    find_release_branch,
    find_releases,
)
from layline.history.touched import read_touched_files
from layline.workspace.kept import find_kept, open_memos

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.gap.endpoints import Endpoints
    from layline.gap.model import Side
    from layline.git import Repository
    from layline.history.tags import ReleaseBranch


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """What follows from the two commits and the tags alone."""

    distance: Distance
    diff: Diff
    log: tuple[Commit, ...]
    copied: tuple[str, ...]
    """Commits whose change the pin's own branch has under another hash."""
    touched: dict[str, tuple[str, ...]]
    releases: tuple[tuple[str, str], ...]
    other_tags: tuple[str, ...]
    release: Release | None


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Between):
    """The same with what the trees of both sides declare."""

    sides: tuple[Side, Side]
    branch: ReleaseBranch | None

    @property
    def age_days(self) -> int:
        before, after = (date.fromisoformat(side.commit.date) for side in self.sides)
        return (after - before).days


def read_history(upstream: Repository, backend: Backend, ends: Endpoints) -> History:
    found = _read_between(upstream, ends.pin, ends.tip)
    return History(
        sides=(read_side(upstream, ends.pin, backend), read_side(upstream, ends.tip, backend)),
        branch=find_release_branch(
            upstream, ends.pin, ends.tip, lambda commit: find_version(upstream, commit, backend.packages)
        ),
        distance=found.distance,
        diff=found.diff,
        log=found.log,
        copied=found.copied,
        touched=found.touched,
        releases=found.releases,
        other_tags=found.other_tags,
        release=found.release,
    )


def _read_between(upstream: Repository, pin: str, tip: str) -> Between:
    def read() -> Between:
        distance = compare_commits(upstream, pin, tip)
        return Between(
            distance=distance,
            copied=tuple(sorted(find_copied(upstream, pin, tip))) if distance.ahead else (),
            diff=read_diff(upstream, pin, tip),
            log=tuple(read_log(upstream, pin, tip)),
            touched=read_touched_files(upstream, pin, tip),
            releases=find_releases(upstream, pin, tip),
            other_tags=find_other_tags(upstream, pin, tip),
            release=find_release(upstream, pin, tip),
        )

    if upstream.is_shallow:  # more history may come
        return read()
    return find_kept(Between, "between", read, pin, tip, upstream.refs("refs/tags"))


class Copies:
    """Commits against their first parents, with what their new files were copied from."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._memos = open_memos("copies")

    def read(self, commit: str) -> Diff:
        def make() -> Diff:
            return read_diff(self._repository, f"{commit}^", commit, copies=True)

        found = self._memos.find(f"copies of {commit}", self._memos.key("copies", commit), lambda: codec.encode(make()))
        return codec.decode_kept(Diff, found) or make()

    def save(self) -> None:
        """Keep what was read."""
        self._memos.save()
