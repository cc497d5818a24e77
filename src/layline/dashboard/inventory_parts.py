"""A long patch inventory on several pages: what breaks first, then what fits, then what no registry knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layline.dashboard.inventory import Choice, EffectView, InventoryView, PatchView, find_choices

_MOST = 150
"""Effects on one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryPart:
    """One page of an inventory."""

    title: str
    href: str
    rows: tuple[PatchView, ...] = ()
    unregistered: tuple[EffectView, ...] = ()
    choices: tuple[Choice, ...] = ()

    @property
    def size(self) -> int:
        return len(self.rows) or len(self.unregistered)


def split_inventory(view: InventoryView, key: str) -> tuple[InventoryPart, ...]:
    """One page where all fits on it; else errors and warnings, patches that fit, and what stands outside registries."""
    first = f"patches/{key}.html"
    whole = InventoryPart(
        title="All", href=first, rows=view.rows, unregistered=view.unregistered, choices=tuple(find_choices(view.rows))
    )
    if sum(len(row.effects) for row in view.rows) + len(view.unregistered) <= _MOST:
        return (whole,)
    parts: list[InventoryPart] = []
    for title, rows, loose in _find_parts(view):
        href = f"patches/{key}-page-{len(parts) + 1}.html" if parts else first
        choices = tuple(find_choices(rows))
        parts.append(InventoryPart(title=title, href=href, rows=rows, unregistered=loose, choices=choices))
    return tuple(parts)


def _find_parts(view: InventoryView) -> Iterator[tuple[str, tuple[PatchView, ...], tuple[EffectView, ...]]]:
    hurt = [row for row in view.rows if row.severity in {"breaks", "look"}]
    rest = [row for row in view.rows if row not in hurt]
    for title, rows in (
        ("Errors and warnings", hurt),
        ("Patches that fit" if view.has_drift else "Patches", rest),
    ):
        pages = list(_cut(rows))
        for number, page in enumerate(pages, 1):
            yield title + (f", part {number} of {len(pages)}" if len(pages) > 1 else ""), tuple(page), ()
    loose = view.unregistered
    for start in range(0, len(loose), _MOST):
        more = f", part {start // _MOST + 1} of {-(-len(loose) // _MOST)}" if len(loose) > _MOST else ""
        yield f"Outside any registration{more}", (), loose[start : start + _MOST]


def _cut(rows: Iterable[PatchView]) -> Iterator[list[PatchView]]:
    """Pages of patches, none with more effects than a page holds unless one patch alone has them."""
    page: list[PatchView] = []
    for row in rows:
        if page and sum(len(one.effects) for one in (*page, row)) > _MOST:
            yield page
            page = []
        page.append(row)
    if page:
        yield page
