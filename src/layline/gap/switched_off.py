"""Which upstream change took a platform away: the pull request beside what CI no longer runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.evidence import Skipped
from layline.gap.dependencies.model import EVERY_EXTRA, Declaration, Unread
from layline.gap.dependencies.reading import find_declarations, rank_of
from layline.gap.platform import PlatformChange, find_values
from layline.source.memos import Memos
from layline.source.tree import Tree

if TYPE_CHECKING:
    from layline.core.revision import Commit
    from layline.git import Repository

MOST = 100
"""Changes of one file that are looked at."""

Read = Callable[[str, str], "Declared"]


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


class Declared(list["Declaration"]):
    """What one file declares at a commit, and what of it could not be read."""

    def __init__(self, items: Iterable[Declaration] = (), unread: Iterable[Unread] = ()) -> None:
        super().__init__(items)
        self.unread = tuple(unread)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """The same, as it is kept."""

    items: tuple[Declaration, ...]
    unread: tuple[Unread, ...]


def open_reader(upstream: Repository, memos: Memos | None = None) -> Read:
    """Reads what one file declares at a commit; nothing where it is not there. The same text says the same again,
    unless it leaves what a run needs to other files; a commit says the same for ever.
    """
    kept, known = memos or Memos(), dict[tuple[str, str], Declared]()

    @cache
    def read(ref: str, path: str) -> Declared:
        commit = upstream.resolve(ref)

        def make() -> dict[str, Any]:
            found = read_anew(commit, path)
            plain: dict[str, Any] = codec.encode(_Said(items=tuple(found), unread=found.unread))
            return plain

        said = codec.decode_kept(_Said, kept.find(f"{path} at {commit}", kept.key("declared", commit, path), make))
        return Declared(said.items, said.unread) if said is not None else read_anew(commit, path)

    def read_anew(commit: str, path: str) -> Declared:
        rank = rank_of(path)
        entry = upstream.read_entry(commit, path) if rank is not None else None
        if rank is None or entry is None:
            return Declared()
        if (path, entry.oid) in known:
            return known[path, entry.oid]
        found = list(find_declarations(Tree(upstream, commit), rank, path))
        items = [one for one in found if isinstance(one, Declaration) and not one.is_running]
        told = Declared(items, (one for one in found if isinstance(one, Unread)))
        if all(one.place.path == path for one in items) and not any(map(_is_elsewhere, found)):
            known[path, entry.oid] = told
        return told

    return read


def _is_elsewhere(found: Declaration | Skipped) -> bool:
    """A part of what a run needs that other files may tell."""
    if not isinstance(found, Skipped):
        return False
    return not isinstance(found, Unread) or not all(one.startswith(EVERY_EXTRA) for one in found.scopes or ("",))
