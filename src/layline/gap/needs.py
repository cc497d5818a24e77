"""Which upstream change made a run need what it needs at the tip, and what is imported though nobody declares it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.change.options.flags import find_files_with
from layline.core.ours import is_packaged, is_test
from layline.gap.dependencies import Rank
from layline.gap.switched_off import MOST, Read

if TYPE_CHECKING:
    from layline.core.revision import Commit
    from layline.gap.dependencies import Declaration, Difference
    from layline.source.tree import Tree


def name_needs(
    rows: Iterable[Difference], log: Iterable[Commit], touched: Mapping[str, tuple[str, ...]], read: Read
) -> Iterator[Difference]:
    """The same rows; what a run needs with the newest commit before which the file said something else: of a new need
    that there is none, whatever version it asked for first.
    """
    commits = list(log)
    for row in rows:
        if row.rank is not Rank.METADATA or not row.is_runtime:
            yield row
            continue
        inside = [one for one in commits if row.file in touched.get(one.hash, ())][:MOST]
        by = next((one for one in inside if not _is_told(row, read(f"{one.hash}^", row.file))), None)
        yield replace(row, by=by, bounds=tuple(_date_bounds(row, by, inside, read)))


def _date_bounds(row: Difference, by: Commit | None, inside: list[Commit], read: Read) -> Iterator[tuple[str, Commit]]:
    """The bounds that the pin has not, each with the newest commit before which the file lacked it; of a new need first
    the commit that asked for it at all, without a bound. None where one commit brought everything.
    """
    if by is None or row.now is None or (row.was is not None and row.was.scope != row.now.scope):
        return
    dated: list[tuple[int, str]] = [] if row.was else [(inside.index(by), "")]
    for bound in [one for one in _split(row.now) if row.was is None or one not in _split(row.was)]:
        for number, one in enumerate(inside):
            if all(bound not in _split(item) for item in read(f"{one.hash}^", row.file) if _is_same(item, row)):
                dated.append((number, bound))
                break
    for number in sorted({number for number, _ in dated}, reverse=True) if len(set(dict(dated))) > 1 else ():
        yield ",".join(bound for at, bound in dated if at == number and bound), inside[number]


def _split(item: Declaration) -> list[str]:
    return [part.strip() for part in item.spec.split(",") if part.strip()]


def _is_same(item: Declaration, row: Difference) -> bool:
    return (item.kind, item.name, item.scope) == (row.kind, row.name, row.now.scope if row.now else "")


def _is_told(row: Difference, items: Iterable[Declaration]) -> bool:
    """Whether a file says of the need of a row what the tip says, in the scopes that the row speaks of."""
    scopes = {one.scope for one in (row.was, row.now) if one is not None}
    named = [one for one in items if (one.kind, one.name) == (row.kind, row.name) and one.scope in scopes]
    if row.now is not None and (row.was is None or row.was.scope != row.now.scope):
        return any(one.scope == row.now.scope for one in named)
    return {(one.spec, one.scope) for one in named} == ({(row.now.spec, row.now.scope)} if row.now else set())


def mark_imported(rows: Iterable[Difference], tip: Tree) -> Iterator[Difference]:
    """The same rows; of needs that are no longer declared, a file of the tip's packages that still imports them."""
    for row in rows:
        if row.now is None and row.rank is Rank.METADATA and row.is_runtime:
            yield replace(row, imported_at=_find_import(tip, row.name.replace("-", "_")))
        else:
            yield row


def _find_import(tip: Tree, module: str) -> str | None:
    asked = re.compile(rf"^\s*(?:import|from)\s+{re.escape(module)}\b", re.MULTILINE)
    for path in find_files_with(tip, module):
        text = tip.read_text(path) if path.endswith(".py") and is_packaged(path) and not is_test(path) else None
        if isinstance(text, str) and asked.search(text):
            return path
    return None
