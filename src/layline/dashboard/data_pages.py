"""Pages for what other commands produce: patch inventories and campaigns, where their data files exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from layline.dashboard.campaigns import view_campaign
from layline.dashboard.content import Content
from layline.dashboard.inventory import view_inventory
from layline.dashboard.inventory_parts import split_inventory
from layline.dashboard.prose import count_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One such page."""

    title: str
    href: str
    template: str
    note: str
    backend: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    more: tuple[Board, ...] = ()
    """Its further pages; only this one is listed."""


def find_boards(content: Content) -> Iterator[Board]:
    yield from _find_patch_boards(content)
    yield from _find_campaign_boards(content)


def _find_patch_boards(content: Content) -> Iterator[Board]:
    for key, inventory in content.patches.items():
        label = content.labels.get(key, key)
        view = view_inventory(inventory, content.drifts.get(key), content.repository, _upstream(content, key))
        broken = f"; {view.broken:,} of {view.places:,} patched places break at the tip" if view.has_drift else ""
        parts = split_inventory(view, key)
        note = f"{count_words(len(view.rows), 'patch', 'patches')}{broken}"
        boards = [
            Board(
                title=f"{label} patches",
                href=part.href,
                template="patches",
                backend=key,
                note=note,
                context={"view": view, "part": part, "parts": parts, "label": label, "key": key},
            )
            for part in parts
        ]
        yield replace(boards[0], more=tuple(boards[1:]))


def _upstream(content: Content, key: str) -> str | None:
    """The upstream's address: as configured, else as the newest gap report names it."""
    told = [record.upstream.repo for record in content.gaps if record.backend.key == key]
    return content.upstreams.get(key) or next((repo for repo in told if repo.startswith("https://")), None)


def _find_campaign_boards(content: Content) -> Iterator[Board]:
    for key, campaign in content.campaigns.items():
        view = view_campaign(campaign)
        yield Board(
            title=f"Campaign {view.name}",
            href=f"campaigns/{key}.html",
            template="campaign",
            note=f"{count_words(len(view.rounds), 'round')}, best: {view.best}",
            context={"view": view, "key": key},
        )
