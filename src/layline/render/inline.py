"""Inline text shared by the renderers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from layline.core.report import Cell

if TYPE_CHECKING:
    from layline.core.evidence import Skipped
    from layline.core.report import Inline

_TOGETHER = 3
"""So many with one reason are told below it."""


Tell = Callable[[tuple["Skipped", ...]], Iterable[str]]
_FEW = 2
"""So many are told in full where little room is left."""


def parts(text: Inline) -> Iterator[Cell]:
    """The pieces of an inline text, plain strings as cells."""
    for piece in text if isinstance(text, tuple) else (text,):
        yield piece if isinstance(piece, Cell) else Cell(piece)


def plain(text: Inline) -> str:
    return "".join(cell.text for cell in parts(text))


def skipped_line(item: Skipped) -> Inline:
    """What could not be read, as a link where its place is known, and why."""
    return (Cell(item.what, evidence=item.evidence), f": {item.why}")


def tell_skipped(items: Iterable[Skipped]) -> Iterator[str]:
    """What could not be read, as lines; a reason that several have is said once, above them."""
    known: dict[str, list[str]] = {}
    for item in items:
        known.setdefault(item.why, []).append(item.what)
    for why, whats in known.items():
        if len(whats) < _TOGETHER:
            yield from (f"{what}: {why}" for what in whats)
        else:
            yield f"{len(whats)} times: {why}:"
            yield from (f"  {what}" for what in whats)


def tell_shortly(items: tuple[Skipped, ...]) -> Iterator[str]:
    """The same in one line where there are several: how many, and what tells the rest."""
    if len(items) <= _FEW:
        yield from tell_skipped(items)
        return
    yield f"{len(items)} things were not read or not listed. `-v` says which and why; so does `--format json`."


def link_of(cell: Cell) -> str | None:
    """Where a cell leads: the permalink of its evidence first; https and relative addresses only."""
    if cell.evidence is not None and cell.evidence.permalink:
        return cell.evidence.permalink
    if cell.link is None or cell.link.startswith(("https://", "#")):
        return cell.link
    return None if ":" in cell.link or cell.link.startswith(("/", "\\")) else cell.link
