"""Root causes: an import or a line of ours that fails keeps all from being installed that stands behind it; it is told
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layline.core.drift import DriftKind
from layline.core.evidence import Location
from layline.core.revision import Commit
from layline.core.why import FAILS_FIRST, Reason, Why
from layline.coupling.drift_model import Drift
from layline.coupling.model import Consequence, Coupling
from layline.source.names import is_within

_STAYS = frozenset({DriftKind.UNCHANGED, DriftKind.BODY_CHANGED, DriftKind.SIGNATURE_CHANGED})


@dataclass(frozen=True, slots=True)
class Root:
    """One import of ours that finds nothing at the tip, or a line that reads what is gone."""

    name: str
    """The upstream name, dotted."""
    location: Location
    """Our line that imports or reads it."""
    new_home: str | None
    is_import: bool = True

    @property
    def tell(self) -> str:
        """What fails, in words."""
        return (
            f"the import of {self.name} at {self.location}"
            if self.is_import
            else f"{self.location} ({self.name} is gone)"
        )


def find_roots(rows: Iterable[Drift]) -> dict[Root, list[Drift]]:
    """What fails with the rows that wait behind it, in the order of the rows."""
    found: dict[Root, list[Drift]] = {}
    for row in rows:
        for root in dict.fromkeys(_read(part, row) for part in row.problems if part.reason in FAILS_FIRST):
            found.setdefault(root, []).append(row)
    return found


def explain(row: Drift) -> Root | None:
    """The root cause where it is all that is wrong with a row: the target is not known to be gone, and nothing else is
    said of ours.
    """
    parts = row.problems
    if (
        not (row.kind in _STAYS or row.breaks_elsewhere)
        or not parts
        or any(part.reason not in FAILS_FIRST for part in parts)
    ):
        return None
    return _read(parts[0], row)


def find_commits(row: Drift, root: Root) -> set[Commit]:
    """Who broke what fails on the line of a root, as far as a row knows; another commit may have broken the row first."""
    if not row.causes:
        return {row.culprit} if row.culprit is not None else set()
    told = (one for one in row.causes if one.why.reason in FAILS_FIRST)
    return {one.commit for one in told if _read(one.why, row).location == root.location}


def find_since(name: str, location: Location, couplings: Iterable[Coupling]) -> str | None:
    """The commit that broke an import: what happened to this name (or, of a module, to what we take from it), not to
    another name of the same statement. None where that is not one commit.
    """
    broken = [
        one
        for one in couplings
        if one.location == location and one.culprit and one.consequence is Consequence.WILL_BREAK
    ]
    exact = {one.culprit for one in broken if one.target == name}
    found = exact or {one.culprit for one in broken if is_within(one.target, name)}
    return found.pop() if len(found) == 1 else None


def find_culprit(couplings: Iterable[Coupling], row: Drift) -> str | None:
    """The first commit that broke a patch, for all who order what is to be done: its own; of one that stands behind a
    failing import alone and has none, that of the import.
    """
    if row.culprit is not None:
        return row.culprit.hash
    root = explain(row)
    return find_since(root.name, root.location, couplings) if root is not None else None


def _read(part: Why, row: Drift) -> Root:
    at = part.places[0] if part.reason is Reason.NEEDS_GONE else Location(row.location.path, part.counts[0])
    return Root(part.name, at, part.other or None, part.reason is not Reason.LINE_FAILS)
