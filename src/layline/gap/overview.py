"""The measured frame of a gap: both sides, the footprint, locks, and the inputs of the recommendation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.core.evidence import Severity
from layline.core.policy import Inputs
from layline.core.why import Reason
from layline.coupling.drift_model import find_breaking
from layline.coupling.model import Consequence, Touch
from layline.coupling.roots import find_roots
from layline.gap.dependencies import Kind, Rank
from layline.gap.dependencies.bounds import Change as BoundChange
from layline.gap.model import Footprint, Side
from layline.gap.reach import list_beyond
from layline.history.commits import read_commit
from layline.history.tags import nearest_tag
from layline.source.declared_version import read_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.config import Backend
    from layline.core.evidence import Location
    from layline.coupling.drift_model import Drift
    from layline.coupling.model import Coupling
    from layline.gap.dependencies import Difference, LockedSet
    from layline.git import Repository

_RAISES = {BoundChange.RAISED, BoundChange.FLOORED, BoundChange.PINNED, BoundChange.REPINNED}


def read_side(upstream: Repository, commit: str, backend: Backend) -> Side:
    return Side(
        commit=read_commit(upstream, commit),
        version=read_version(upstream, commit, backend.packages),
        tag=nearest_tag(upstream, commit),
    )


def measure_footprint(downstream: Repository, commit: str, backend: Backend, key: str) -> Footprint:
    """Tracked, non-empty and Python files below the integration and patch folders; what is called alike elsewhere."""
    folders = tuple(dict.fromkeys(folder.rstrip("/") for folder in (*backend.integration, *backend.patches)))
    entries = {entry.path: entry for folder in folders for entry in downstream.read_tree(commit, folder, sizes=True)}
    return Footprint(
        folders=tuple(folder for folder in folders if not any(_is_below(folder, other) for other in folders)),
        tracked=len(entries),
        non_empty=sum(1 for entry in entries.values() if entry.size),
        python=sum(1 for path in entries if path.endswith(".py")),
        beyond=list_beyond((entry.path for entry in downstream.read_tree(commit) if entry.is_file), key, backend),
    )


def pair_locks(
    pin: Iterable[LockedSet], tip: Iterable[LockedSet]
) -> Iterator[tuple[LockedSet | None, LockedSet | None]]:
    before, after = {lock.path: lock for lock in pin}, {lock.path: lock for lock in tip}
    for path in sorted(before | after):
        yield before.get(path), after.get(path)


def find_floor_moves(differences: Iterable[Difference]) -> Iterator[Difference]:
    """Runtime requirements, and Python itself, whose floor went up in the package metadata."""
    for row in differences:
        if row.rank is not Rank.METADATA or row.now is None or "/" in row.file:
            continue
        runtime = row.kind is Kind.PYTHON or row.now.scope == "runtime"
        if runtime and row.was is not None and _RAISES & set(row.changes):
            yield row


def policy_inputs(
    behind: int, age_days: int, broken: tuple[int, int] | None, differences: Iterable[Difference]
) -> Inputs:
    """What the recommendation is made from; `broken`: places that break, and those of them to fix."""
    floors = [f"{row.name}{row.now.spec}" for row in find_floor_moves(differences) if row.now]
    floor = ", ".join(floors) if floors else None
    breaks, to_fix = broken or (None, None)
    return Inputs(behind=behind, age_days=age_days, will_break=breaks, to_fix=to_fix, dependency_floor=floor)


def find_broken_places(couplings: Iterable[Coupling], patches: Iterable[Drift]) -> frozenset[str]:
    """Places of ours (`file:line`) that an upgrade breaks, whatever stands there: the one figure for breakage."""
    used = {str(one.location) for one in couplings if one.consequence is Consequence.WILL_BREAK}
    return frozenset(used | {str(row.location) for row in find_breaking(patches)})


def find_fixes(couplings: Iterable[Coupling], patches: Iterable[Drift]) -> frozenset[str]:
    """The places to edit for all of them to hold: what only waits behind a line that fails is mended with that line."""
    patches = list(patches)
    judged = {(row.location, row.target) for row in patches}
    used = {
        str(one.location)
        for one in couplings
        if one.consequence is Consequence.WILL_BREAK
        and not (one.touch is Touch.PATCH and (one.location, one.target) in judged)
    }
    return frozenset(used | {str(place) for row in find_breaking(patches) for place in _find_edits(row)})


def _find_edits(row: Drift) -> Iterator[Location]:
    """The failing import; of a replacement that fails by its calls alone, these calls; else the place itself."""
    if row.own.severity is not Severity.BREAKS:
        yield from (root.location for root in find_roots([row]))
        return
    problems = row.own.problems if row.own.fails_by_itself else ()
    by_calls = bool(problems) and all(one.reason is Reason.CALLS_REFUSING and one.places for one in problems)
    yield from (one.places[0] for one in problems) if by_calls else (row.location,)


def slug_of(ref: str) -> str:
    """`main` → `upstream-main`; what a file name cannot hold becomes a dash."""
    bare = ref.removeprefix("refs/").removeprefix("remotes/").removeprefix("heads/").removeprefix("tags/")
    bare = bare.removeprefix("origin/").removeprefix("upstream/")
    if re.fullmatch(r"[0-9a-f]{13,64}", bare):
        bare = bare[:12]
    return "upstream-" + (re.sub(r"[^A-Za-z0-9._-]+", "-", bare).strip("-.") or "ref")


def _is_below(folder: str, other: str) -> bool:
    return folder != other and folder.startswith(f"{other}/")
