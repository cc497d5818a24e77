"""Which upstream change took a platform away: the pull request beside what CI no longer runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.gap.dependencies.reading import find_declarations, rank_of
from layline.gap.platform import PlatformChange, find_values
from layline.source.tree import Tree

if TYPE_CHECKING:
    from layline.core.revision import Commit
    from layline.gap.dependencies import Declaration
    from layline.git import Repository

MOST = 100
"""Changes of one file that are looked at."""

Read = Callable[[str, str], list["Declaration"]]


def name_switches(
    changes: Iterable[PlatformChange], log: Iterable[Commit], touched: Mapping[str, tuple[str, ...]], read: Read
) -> Iterator[PlatformChange]:
    """The same changes; those that took something away with the commit that did: of several files, in the last."""
    commits = list(log)
    order = {one.hash: number for number, one in enumerate(commits)}
    for change in changes:
        found = [
            switch
            for path in (change.gone_in if change.is_lost else ())
            if (
                switch := find_switch(change, path, [one for one in commits if path in touched.get(one.hash, ())], read)
            )
        ]
        yield replace(change, by=min(found, key=lambda one: order[one.hash])) if found else change


def find_switch(change: PlatformChange, path: str, commits: list[Commit], read: Read) -> Commit | None:
    """The newest commit of the file (`commits` are newest first) that had it before and has it no longer after."""
    for commit in commits[:MOST]:
        before = find_values(change.what, read(f"{commit.hash}^", path))
        if before if not change.keeps else before & set(change.pin):
            return commit
    return None


def open_reader(upstream: Repository) -> Read:
    """Reads what one file declares at a commit; nothing where it is not there."""

    @cache
    def read(ref: str, path: str) -> list[Declaration]:
        rank = rank_of(path)
        tree = Tree(upstream, upstream.resolve(ref))
        if rank is None or path not in tree.entries:
            return []
        return [one for one in find_declarations(tree, rank, path) if not isinstance(one, Skipped)]

    return read
