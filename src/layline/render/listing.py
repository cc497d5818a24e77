"""Listing → text: one line for one finding, never broken inside a word, plain in a pipe, coloured on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.render.inline import Tell, tell_skipped
from layline.render.text import COLOURS, safe

if TYPE_CHECKING:
    from layline.core.listing import Diagnostic, Group, Listing

_CODES = {"bold red": "1;31", "yellow": "33", "green": "32", "bold": "1", "dim": "2"}
_LABEL = 8
"""Columns of the word before a detail."""
_TAIL = 100
"""Characters of a condition on a terminal; a pipe gets all of it."""


def render_listing(
    listing: Listing, *, width: int | None = None, color: bool = False, tell: Tell = tell_skipped
) -> str:
    """`width` is where details wrap; None: nowhere. The line of a finding is never wrapped: it is to be searched.
    `tell`: how what was skipped is told.
    """
    lines = _render(listing, width, tell, color=color)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _render(listing: Listing, width: int | None, tell: Tell, *, color: bool) -> Iterator[str]:
    yield _paint(safe(listing.title), "bold", color)
    yield from (_paint(safe(line), "dim", color) for line in listing.meta)
    for alert in listing.alerts:
        yield _paint(f"{alert.severity.word}: {safe(alert.message)}", COLOURS[alert.severity], color)
    for group in listing.groups:
        yield from _render_group(group, width, color=color)
    if listing.skipped:
        yield ""
        yield _paint("Skipped", "bold", color)
        yield from (f"  {safe(line)}" for line in tell(listing.skipped))


def _render_group(group: Group, width: int | None, *, color: bool) -> Iterator[str]:
    yield ""
    if group.title:
        yield _paint(safe(group.title), "bold", color)
    for item in group.items:
        yield _render_line(item, color=color) + _render_tail(item, width)
        for label, text in item.details:
            yield from _wrap(f"  {label:<{_LABEL}} ", _flat(text), width)
    digits = max((len(str(number)) for number, _ in group.counts), default=0)
    for number, text in group.counts:
        yield from _wrap(f"  {number:>{digits}} ", _flat(text), width)
    for line in group.lines:
        yield from _wrap("", _flat(line), width)


def _render_line(item: Diagnostic, *, color: bool) -> str:
    place = _paint(safe(str(item.location)), "bold", color)
    if not item.code:
        return f"{place}: {_flat(item.message)}"
    head = _paint(f"{item.severity.word}[{item.code}]", COLOURS[item.severity], color)
    return f"{place}: {head}: {_flat(item.message)}"


def _render_tail(item: Diagnostic, width: int | None) -> str:
    flat = _flat(item.tail)
    if width is not None and len(flat) > _TAIL:
        flat = _flat(item.short) or flat
    return f" {flat}" if flat else ""


def _wrap(head: str, text: str, width: int | None) -> Iterator[str]:
    if width is None or len(head) + len(text) <= width:
        yield f"{head}{text}"
        return
    indent = " " * (len(head) + (0 if head else 2))
    yield from textwrap.wrap(
        text,
        width=max(width, len(indent) + 20),
        initial_indent=head,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _flat(text: str) -> str:
    return " ".join(safe(text).split())


def _paint(text: str, style: str, color: bool) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color else text
