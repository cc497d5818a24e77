"""Which upstream change breaks which place of ours: each place once, by the first change that breaks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from layline.coupling.drift_model import find_breaking
from layline.coupling.model import Consequence
from layline.coupling.roots import find_culprit
from layline.gap.model import NOTHING, Cause

if TYPE_CHECKING:
    from layline.core.revision import Commit
    from layline.coupling.drift_model import Drift
    from layline.coupling.model import Coupling
    from layline.gap.model import Demand


def find_causes(
    log: Iterable[Commit],
    couplings: Iterable[Coupling],
    patches: Iterable[Drift],
    demands: Mapping[str, Demand] | None = None,
) -> tuple[Cause, ...]:
    """Changes that break places of ours, the weightiest first; the log is newest first. A place belongs to the first
    change that breaks it and is told again under the others; one whose commit nobody found has no cause. `demands`:
    commits with what they ask of us beside our code.
    """
    commits, couplings = list(log), list(couplings)
    order = {commit.hash: index for index, commit in enumerate(reversed(commits))}
    numbers = {commit.hash: commit.pull_request for commit in commits}
    by_place: dict[str, set[str]] = {}
    broken: dict[str, list[str]] = {commit: [] for commit in demands or {}}
    unknown: dict[str, list[str]] = {}
    for place, target, found in _find_broken(couplings, patches):
        known = [*found[:1], *(one for one in found[1:] if order.get(one, -1) > order.get(found[0], len(order)))]
        by_place.setdefault(place, set()).update(known)
        for commit in known:
            broken.setdefault(commit, []).append(target)
        if not known:
            unknown.setdefault(place, []).append(target)
    first = {
        place: min(found, key=lambda one: (order.get(one, len(order)), one))
        for place, found in by_place.items()
        if found
    }
    causes = []
    for commit, targets in broken.items():
        places = tuple(sorted(place for place, one in first.items() if one == commit))
        again = tuple(sorted(place for place, found in by_place.items() if commit in found and first[place] != commit))
        more = (name for place in places for name in unknown.get(place, ()))
        causes.append(
            Cause(
                commit=commit,
                number=numbers.get(commit),
                places=places,
                targets=tuple(dict.fromkeys([*targets, *more])),
                again=again,
                asks=(demands or {}).get(commit, NOTHING),
            )
        )
    return tuple(sorted(causes, key=lambda cause: (-len(cause.places), order.get(cause.commit, len(order)))))


def _find_broken(couplings: Iterable[Coupling], patches: Iterable[Drift]) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """Each place with the name it uses and the commits that take that away, the first of them first."""
    for one in couplings:
        if one.consequence is Consequence.WILL_BREAK:
            yield str(one.location), one.target, (one.culprit, *one.later) if one.culprit else ()
    for row in find_breaking(patches):
        culprit = find_culprit(couplings, row)
        yield str(row.location), row.target or row.patch, (culprit, *row.commits) if culprit else ()
