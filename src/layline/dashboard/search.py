"""Everything a reader may look for, one line each: a page that works from disk and without a script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from layline.dashboard.archive import Entry
from layline.dashboard.breakage import Breakage
from layline.dashboard.data_pages import Board
from layline.dashboard.inventory_parts import InventoryPart
from layline.dashboard.rows import BackendRow

PAGE = "search/index.html"
_LONGEST = 400
"""Characters of one line's hidden words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line of the search page."""

    kind: str
    title: str
    page: str
    text: str
    note: str = ""


def find_hits(
    rows: Sequence[BackendRow],
    boards: Sequence[Board],
    breakages: Mapping[str, Breakage],
    entries: Sequence[Entry],
) -> Iterator[Hit]:
    """Yields backends, patches, campaigns, places that break, and reports."""
    for row in rows:
        yield _hit("backend", row.standing.label, row.page, row.next_step, note=row.next_step)
    for board in boards:
        yield _hit("page", board.title, board.href, board.note, note=board.note)
        for page in (board, *board.more):
            yield from _find_patches(page)
    for key, breakage in breakages.items():
        for one in breakage.places:
            names = " ".join(name for name, _ in one.targets)
            yield _hit("breaks", one.place, f"backends/{key}.html#breakage", f"{names} {one.patch}", note=names)
    for entry in entries:
        yield _hit(entry.kind, entry.title, entry.page, entry.text, note=entry.note)


def _find_patches(board: Board) -> Iterator[Hit]:
    part = board.context.get("part")
    if isinstance(part, InventoryPart):
        for row in part.rows:
            yield _hit("patch", row.id, f"{board.href}#{row.anchor}", row.text, note=row.description)


def _hit(kind: str, title: str, page: str, text: str, *, note: str) -> Hit:
    return Hit(kind=kind, title=title, page=page, text=f"{title} {text}"[:_LONGEST], note=note[:160])
