"""Which upstream change made a run need what it needs at the tip, and what is imported though nobody declares it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from layline.change.options.flags import find_files_with
from layline.core.ours import is_packaged, is_test
from layline.gap.dependencies import Rank
from layline.gap.dependencies.reading import rank_of
from layline.gap.switched_off import MOST, Declared, Read

if TYPE_CHECKING:
    from layline.core.revision import Commit
    from layline.gap.dependencies import Declaration, Difference
    from layline.source.tree import Tree


def name_needs(
    rows: Iterable[Difference], log: Iterable[Commit], touched: Mapping[str, tuple[str, ...]], read: Read
) -> Iterator[Difference]:
    """The same rows; what a run needs with the newest commit before which the file said something else: of a new need
    that there is none, whatever version it asked for first. A state that could not be read says nothing.
    """
    commits = list(log)
    for row in rows:
        if row.rank is not Rank.METADATA or not row.is_runtime:
            yield row
            continue
        said = _read_as_need(row, read)
        inside = [one for one in commits if row.file in touched.get(one.hash, ())][:MOST]
        by = next((one for one in inside if _is_other(row, said(f"{one.hash}^", row.file))), None)
        if by is not None and _is_hidden(row, said(by.hash, row.file)):
            by = None  # what it did to the need, or a later one that cannot be read either, is not known
        old = _find_old_name(row, by, said) if by is not None else ""
        yield replace(row, by=by, bounds=tuple(_date_bounds(row, by, inside, said)), instead_of=old)


def _read_as_need(row: Difference, read: Read) -> Read:
    """A requirement file that the metadata take their needs from says them under its own name: here they are the need's."""
    item = row.now or row.was
    if item is None or rank_of(row.file) is not Rank.REQUIREMENTS:
        return read

    def said(commit: str, path: str) -> Declared:
        found = read(commit, path)
        return Declared((replace(one, scope=item.scope) for one in found), found.unread)

    return said


def _find_old_name(row: Difference, by: Commit, read: Read) -> str:
    """What the change removed that brought a new need: a package may only have another name."""
    now = row.now
    if row.was is not None or now is None:
        return ""
    before, after = (
        {item.name for item in read(commit, row.file) if (item.kind, item.scope) == (row.kind, now.scope)}
        for commit in (f"{by.hash}^", by.hash)
    )
    gone = before - after
    return gone.pop() if after - before == {row.name} and len(gone) == 1 else ""


def _date_bounds(row: Difference, by: Commit | None, inside: list[Commit], read: Read) -> Iterator[tuple[str, Commit]]:
    """What each commit asked for that the one before it did not, the oldest first; a state that returns cancels what
    lay between. None where one commit brought everything.
    """
    if by is None or row.now is None or (row.was is not None and row.was.scope != row.now.scope):
        return
    oldest_first = inside[: inside.index(by) + 1 if row.was is None else None][::-1]
    first = _find_bounds(row, read(f"{oldest_first[0].hash}^", row.file)) if row.was else None
    states: list[tuple[list[str] | None, Commit | None]] = [(first, None)]
    for commit in oldest_first:
        state = _find_bounds(row, read(commit.hash, row.file))
        if state is not None:
            at = next((number for number, (bounds, _) in enumerate(states) if bounds == state), len(states))
            states[at:] = [states[at] if at < len(states) else (state, commit)]
    steps = list(_find_steps(states))
    yield from steps if len(steps) > 1 else ()


def _find_steps(states: list[tuple[list[str] | None, Commit | None]]) -> Iterator[tuple[str, Commit]]:
    for (before, _), (after, commit) in pairwise(states):
        added = [bound for bound in after or () if bound not in (before or ())]
        if commit is not None and (added or before is None):
            yield ",".join(added), commit


def _find_bounds(row: Difference, items: Iterable[Declaration]) -> list[str] | None:
    """What a file asks of the need of a row; None where it does not name it."""
    scope, marker = (row.now.scope, row.now.marker) if row.now else ("", "")
    named = [item for item in items if (item.kind, item.name, item.scope) == (row.kind, row.name, scope)]
    same = [item for item in named if item.marker == marker] or named
    return list(dict.fromkeys(part for item in same for part in _split(item))) if same else None


def _split(item: Declaration) -> list[str]:
    return [part.strip() for part in item.spec.split(",") if part.strip()]


def _is_other(row: Difference, items: Declared) -> bool:
    """Whether a file is known to say something else of the need of a row than the tip."""
    return not _is_hidden(row, items) and not _is_told(row, items)


def _is_hidden(row: Difference, items: Declared) -> bool:
    """Whether what could not be read of a file may hold the need of a row."""
    sides = [one for one in (row.was, row.now) if one is not None]
    return any(one.may_hold(item) for one in items.unread for item in sides)


def _is_told(row: Difference, items: Iterable[Declaration]) -> bool:
    """Whether a file says of the need of a row what the tip says, in the scopes that the row speaks of."""
    scopes = {one.scope for one in (row.was, row.now) if one is not None}
    named = [one for one in items if (one.kind, one.name) == (row.kind, row.name) and one.scope in scopes]
    if row.now is not None and (row.was is None or row.was.scope != row.now.scope):
        return any(one.scope == row.now.scope for one in named)
    return {(one.spec, one.scope) for one in named} == ({(row.now.spec, row.now.scope)} if row.now else set())


def mark_imported(rows: Iterable[Difference], tip: Tree) -> Iterator[Difference]:
    """The same rows; of needs that are no longer declared, a file of the same package that still imports them."""
    for row in rows:
        if row.now is None and row.rank is Rank.METADATA and row.is_runtime:
            yield replace(row, imported_at=find_import(tip, row.name.replace("-", "_"), row.inner))
        else:
            yield row


def find_import(tip: Tree, module: str, folder: str = "") -> str | None:
    """The first file of a package that imports a module."""
    asked = re.compile(rf"^\s*(?:import|from)\s+{re.escape(module)}\b", re.MULTILINE)
    for path in find_files_with(tip, module):
        is_asked = path.endswith(".py") and is_packaged(path) and not is_test(path)
        text = tip.read_text(path) if is_asked and path.startswith(f"{folder}/" if folder else "") else None
        if isinstance(text, str) and asked.search(text):
            return path
    return None
