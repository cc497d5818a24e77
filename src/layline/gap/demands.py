"""What upstream changes ask of us beside our code: settings, packages that our YAML names, needs, platforms."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.gap.dependencies import Kind, Rank
from layline.gap.dependencies.bounds import are_apart, is_met
from layline.gap.model import Demand
from layline.gap.platform import IN_CI

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from layline.change.surface import StaleKey
    from layline.gap.dependencies import Declaration, Difference
    from layline.gap.follow import Follow
    from layline.gap.model import Dependencies


@dataclass(frozen=True, slots=True)
class OwnNeeds:
    """What our own metadata ask for: where they meet a need of upstream's already, it asks nothing of us."""

    items: tuple[Declaration, ...] = ()
    installed: bool = False
    """Upstream is installed as a package: its own metadata bring what it needs, unless ours refuse that."""

    def meet(self, kind: Kind, name: str, bound: str) -> bool:
        specs = [
            one.spec
            for one in self.items
            if (one.kind, one.name) == (kind, name) and not one.marker
            if one.rank is Rank.METADATA and (kind is Kind.PYTHON or one.scope == "runtime")
        ]
        if self.installed and kind is not Kind.PYTHON:
            return not any(are_apart(spec, bound) for spec in specs)
        return bool(specs) and all(is_met(spec, bound) for spec in specs)


_NONE = OwnNeeds()


def find_demands(
    deleted: Mapping[str, Iterable[str]],
    dependencies: Dependencies,
    stale: Iterable[StaleKey],
    follows: Iterable[Follow] = (),
    own: OwnNeeds = _NONE,
) -> dict[str, Demand]:
    """Commit → what it asks for; only what can be dated, and what ours do not meet already."""
    keys: dict[str, list[StaleKey]] = defaultdict(list)
    for one in stale:
        if one.culprit is not None:
            keys[one.culprit].append(one)
    needs: dict[str, list[str]] = defaultdict(list)
    for row in dependencies.differences:
        for commit, need, bound in _tell_needs(row):
            if not own.meet(row.kind, row.name, bound):
                needs[commit].append(need)
    off: dict[str, list[str]] = defaultdict(list)
    for change in dependencies.platform:
        if change.is_switched_off and change.by is not None and change.what.endswith(IN_CI):
            off[change.by.hash].append(change.what.removesuffix(IN_CI))
    methods = Counter(change.commit for one in follows for change in one.changes)
    needed = (commit for commit, told in needs.items() if told)
    commits = dict.fromkeys((*deleted, *keys, *needed, *off, *methods))
    return {
        commit: Demand(
            deletes=tuple(deleted.get(commit, ())),
            keys=tuple(one.key for one in keys[commit]),
            lines=sum(one.lines for one in keys[commit]),
            needs=tuple(needs[commit]),
            off=tuple(off[commit]),
            methods=methods[commit],
        )
        for commit in commits
    }


def _tell_needs(row: Difference) -> Iterator[tuple[str, str, str]]:
    """Commit, `Python >=3.11` or `grain==0.2.18`, and the bound alone; nothing where upstream needs less than before. What it asked for
    only on the way counts where nothing that the pin takes fits any more.
    """
    if row.now is None or row.by is None:
        return
    name = "Python " if row.kind is Kind.PYTHON else row.name
    asked, was = {*row.now.spec.split(","), ""}, row.was.spec if row.was is not None else ""
    bounds = row.bounds or ((row.now.spec, row.by),)
    first = next((commit for bound, commit in bounds if are_apart(was, bound)), None)
    for bound, commit in bounds:
        if asked >= set(bound.split(",")):
            yield commit.hash, f"{name}{bound}", bound
        elif commit == first:
            yield commit.hash, f"{name}{bound}, which the pin's {was} does not allow", bound
