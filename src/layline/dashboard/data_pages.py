"""Pages for what other commands produce: patch inventories and campaigns, where their data files exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from layline.dashboard.campaigns import view_campaign
from layline.dashboard.content import Content
from layline.dashboard.inventory import view_inventory
from layline.dashboard.prose import count_words


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
    yield from _find_patch_boards(content)
    yield from _find_campaign_boards(content)


def _find_patch_boards(content: Content) -> Iterator[Board]:
    for key, inventory in content.patches.items():
        label = content.labels.get(key, key)
        view = view_inventory(inventory, content.drifts.get(key), content.repository)
        broken = f", {count_words(view.broken, 'target')} broken upstream" if view.broken else ""
        short = "Patches" if len(content.patches) == 1 else f"{label} patches"
        yield Board(
            title=f"{label} patches",
            short=short,
            href=f"patches/{key}.html",
            template="patches",
            backend=key,
            note=f"{count_words(len(view.rows), 'patch', 'patches')}{broken}",
            context={"view": view, "label": label, "key": key},
        )


def _find_campaign_boards(content: Content) -> Iterator[Board]:
    for key, campaign in content.campaigns.items():
        view = view_campaign(campaign)
        short = "Campaign" if len(content.campaigns) == 1 else view.name
        yield Board(
            title=f"Campaign {view.name}",
            short=short,
            href=f"campaigns/{key}.html",
            template="campaign",
            note=f"{count_words(len(view.rounds), 'round')}, best: {view.best}",
            context={"view": view, "key": key},
        )
