"""Attributes that no code of upstream has any more and that classes of ours have: what our replacement reads of a value
that may be one of theirs is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.ours import is_test_module
from layline.core.why import Reason, Why
from layline.coupling.drift_model import Drift
from layline.coupling.vanished import find_setting
from layline.git import Blob
from layline.source.tree import Tree


def accept_own(rows: list[Drift], ours: Tree) -> Iterator[Drift]:
    """The rows without such reads."""
    read = (one for row in rows for one in row.lost if one.why.reason is Reason.READS_VANISHED)
    held = find_held(ours, {one.attribute for one in read if one.attribute})
    for row in rows:
        named = {one.why for one in row.lost if one.why.reason is Reason.READS_VANISHED and one.attribute in held}
        yield _forget(row, named) if named else row


def find_held(ours: Tree, words: Collection[str]) -> frozenset[str]:
    """Which of these words a class of ours defines, or sets on its objects."""
    paths = [path for path in ours.paths(suffix=".py") if not is_test_module(path[:-3].replace("/", "."))]
    blobs = ours.repository.stream_blobs(sorted({ours.entries[path].oid for path in paths})) if words else ()
    texts = [blob.data for blob in blobs if isinstance(blob, Blob)]
    return frozenset(word for word in words if any(any(find_setting(data, word)) for data in texts))


def _forget(row: Drift, whys: Collection[Why]) -> Drift:
    kept = tuple(found for one in row.findings if (found := _leave_out(one, whys)) is not None)
    settled = replace(row, findings=kept, lost=tuple(one for one in row.lost if one.why not in whys))
    causes = tuple(one for one in row.causes if one.why not in whys)
    mended = settled.severity is not Severity.BREAKS
    return replace(settled, causes=causes, culprit=None if mended else row.culprit)


def _leave_out(finding: Finding, whys: Collection[Why]) -> Finding | None:
    if finding.why.reason is not Reason.MISREADS:
        return finding
    parts = tuple(one for one in finding.why.parts if one not in whys)
    return replace(finding, why=replace(finding.why, parts=parts)) if parts else None
