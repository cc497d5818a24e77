"""Pages for what other commands produce: patch inventories and campaigns, where their data files exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from layline.dashboard.content import Content


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One such page."""

    title: str
    short: str
    """As the navigation names it."""
    href: str
    template: str
    note: str
    backend: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)


def find_boards(content: Content) -> Iterator[Board]:
    """Yields none until there are data files."""
    yield from (Board(title=key, short=key, href="", template="", note="") for key in () if content)
