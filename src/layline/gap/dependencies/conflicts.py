"""Ranks that disagree at one commit: shown, never resolved silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from layline.gap.dependencies.model import Declaration, Kind, Rank

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One distribution for which two ranks ask for different versions."""

    name: str
    stronger: Declaration
    weaker: Declaration
    excludes: bool
    """True if no version can satisfy both (an exact pin outside the other's bounds)."""


def find_conflicts(items: tuple[Declaration, ...]) -> Iterator[Conflict]:
    """Runtime metadata against the requirement files: the first disagreement of each name and file."""
    runtime = {
        item.name: item for item in items if _counts(item) and item.rank is Rank.METADATA and item.scope == "runtime"
    }
    seen: set[tuple[str, str]] = set()
    for item in items:
        stronger = runtime.get(item.name)
        if stronger is None or not _counts(item) or item.rank is not Rank.REQUIREMENTS or item.spec == stronger.spec:
            continue
        if (item.name, item.scope) not in seen:
            seen.add((item.name, item.scope))
            yield Conflict(name=item.name, stronger=stronger, weaker=item, excludes=_excludes(stronger.spec, item.spec))


def _counts(item: Declaration) -> bool:
    return item.kind is Kind.REQUIREMENT


def _excludes(one: str, other: str) -> bool:
    try:
        first, second = SpecifierSet(one), SpecifierSet(other)
    except InvalidSpecifier:
        return False
    for exact, bounds in ((first, second), (second, first)):
        for part in exact:
            if (
                part.operator == "=="
                and not part.version.endswith("*")
                and not bounds.contains(part.version, prereleases=True)
            ):
                return True
    return False
