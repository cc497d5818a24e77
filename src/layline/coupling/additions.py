"""Names that a patch adds to upstream's objects for our own code to read: nothing of upstream's is replaced, nothing is
dead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from layline.core.drift import DriftKind
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.drift_model import Drift
from layline.git import Blob
from layline.source import usage
from layline.source.tree import Tree

_NOT_THERE = frozenset({Reason.GUARD_NEVER, Reason.GUARD_NOT_YET})
_TESTS = ("tests/", "test/")


def accept_additions(rows: Iterable[Drift], unknown: frozenset[str], ours: Tree) -> Iterator[Drift]:
    """Rows whose target upstream never had (`unknown`) and our own code reads become additions; the others stay."""
    reads = find_reads(ours, unknown)
    for row in rows:
        place = next((one for one in reads.get(row.target or "", ()) if one != row.location), None)
        arrives = row.comparison is not None and row.comparison.after.exists
        fails = row.effect is not None and row.effect.raises  # it cannot create what is missing
        if row.target not in unknown or row.kind is not DriftKind.DEAD_AT_PIN or arrives or fails or place is None:
            yield row
            continue
        why = Why(Reason.OUR_ADDITION, places=(place,))
        yield row.settle(Finding(kind=DriftKind.EXTERNAL, severity=Severity.OK, why=why))


def accept_placed(rows: list[Drift]) -> Iterator[Drift]:
    """Rows that speak of a name as missing which another row puts there: a class of our own that upstream never had, or
    a mark of ours that an import asks for.
    """
    placed = {row.target: row.location for row in rows if row.target}
    for row in rows:
        owner = next((one.why.name for one in row.findings if one.why.reason is Reason.NEVER_HAD_OWNER), None)
        if owner in placed:
            why = Why(Reason.OWNER_ADDED, owner, places=(placed[owner],))
            yield row.settle(Finding(kind=DriftKind.EXTERNAL, severity=Severity.OK, why=why))
        elif row.kind is DriftKind.DEAD_AT_PIN:
            yield row
        else:
            kept = tuple(one for one in row.findings if not (one.why.reason in _NOT_THERE and _lacks(one.why, placed)))
            yield row if len(kept) == len(row.findings) else replace(row, findings=kept)


def _lacks(why: Why, placed: Collection[str]) -> bool:
    return any(part.reason is Reason.SIDE_LACKS and part.name in placed for part in why.parts)


def find_reads(ours: Tree, targets: frozenset[str]) -> dict[str, list[Location]]:
    """Where our code reads one of these attributes; assignments to it are no reads, and neither is asking for it."""
    found: dict[str, list[Location]] = {name: [] for name in sorted(targets)}
    if not targets:
        return found
    paths: dict[str, str] = {}
    for path in ours.paths(suffix=".py"):
        if not path.startswith(_TESTS) and "/tests/" not in path:
            paths.setdefault(ours.entries[path].oid, path)
    for blob in ours.repository.stream_blobs(sorted(paths)):
        if isinstance(blob, Blob):
            for name in sorted(targets):
                found[name] += [Location(paths[blob.oid], line) for line in usage.find_reads(blob.data, name)]
    return {name: sorted(places, key=lambda one: (one.path, one.line)) for name, places in found.items()}
