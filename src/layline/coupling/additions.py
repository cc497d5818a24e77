"""Names that a patch adds to upstream's objects for our own code to read: nothing of upstream's is replaced, nothing is
dead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from layline.core.drift import DriftKind
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.drift_model import Drift
from layline.git import Blob
from layline.source import usage
from layline.source.tree import Tree

_MISSING = frozenset({Reason.NEVER_HAD_OWNER, Reason.GUARD_NEVER, Reason.GUARD_NOT_YET})
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
    """Rows that speak of a name as missing which another row puts there: a class of our own, or a mark of ours."""
    placed = {row.target: row.location for row in rows if row.target}
    for row in rows:
        missing = {part.name for one in row.findings if one.why.reason in _MISSING for part in _find_lacking(one.why)}
        name = next((one for one in sorted(missing) if one in placed and one != row.target), None)
        if name is None:
            yield row
        elif row.kind is DriftKind.DEAD_AT_PIN:
            why = Why(Reason.OWNER_ADDED, name, places=(placed[name],))
            yield row.settle(Finding(kind=DriftKind.EXTERNAL, severity=Severity.OK, why=why))
        else:
            yield replace(row, findings=tuple(one for one in row.findings if one.why.reason not in _MISSING))


def _find_lacking(why: Why) -> Iterable[Why]:
    """What of upstream's a reason calls missing."""
    return (why,) if why.reason is Reason.NEVER_HAD_OWNER else why.parts


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
