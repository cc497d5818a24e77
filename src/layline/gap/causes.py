"""Which upstream change breaks which place of ours: each place once, by the first change that breaks it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from layline.coupling.drift_model import find_breaking
from layline.coupling.model import Consequence
from layline.coupling.roots import explain, find_since
from layline.gap.model import Cause

if TYPE_CHECKING:
    from layline.core.revision import Commit
    from layline.coupling.drift_model import Drift
    from layline.coupling.model import Coupling


def find_causes(log: Iterable[Commit], couplings: Iterable[Coupling], patches: Iterable[Drift]) -> tuple[Cause, ...]:
    """Causes, the weightiest first; the log is newest first. A place whose commit nobody found has no cause."""
    commits, couplings = list(log), list(couplings)
    order = {commit.hash: index for index, commit in enumerate(reversed(commits))}
    numbers = {commit.hash: commit.pull_request for commit in commits}
    first: dict[str, tuple[int, str]] = {}
    broken: dict[str, list[str]] = {}
    unknown: dict[str, list[str]] = {}
    for place, target, culprit in _find_broken(couplings, patches):
        (unknown.setdefault(place, []) if culprit is None else broken.setdefault(culprit, [])).append(target)
        if culprit is not None:
            found = (order.get(culprit, len(order)), culprit)
            first[place] = min(first.get(place, found), found)
    grouped: dict[str, list[str]] = {}
    for place, (_, culprit) in sorted(first.items()):
        grouped.setdefault(culprit, []).append(place)
    causes = (
        Cause(
            commit=culprit,
            number=numbers.get(culprit),
            places=tuple(places),
            targets=tuple(
                dict.fromkeys([*broken[culprit], *(name for place in places for name in unknown.get(place, ()))])
            ),
        )
        for culprit, places in grouped.items()
    )
    return tuple(sorted(causes, key=lambda cause: (-len(cause.places), order.get(cause.commit, len(order)))))


def _find_broken(couplings: Iterable[Coupling], patches: Iterable[Drift]) -> Iterable[tuple[str, str, str | None]]:
    for one in couplings:
        if one.consequence is Consequence.WILL_BREAK:
            yield str(one.location), one.target, one.culprit
    for row in find_breaking(patches):
        yield str(row.location), row.target or row.patch, find_culprit(couplings, row)


def find_culprit(couplings: Iterable[Coupling], row: Drift) -> str | None:
    """What broke a patch: of one that stands behind a failing import alone, what broke the import."""
    root = explain(row)
    if root is not None:
        since = find_since(root.name, root.location, couplings)
        if since is not None:
            return since
    return row.culprit.hash if row.culprit is not None else None
