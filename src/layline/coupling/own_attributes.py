"""Attributes that upstream's code does not have, at the tip any more or at the pin yet, and that code of ours gives:
what our replacement reads of a value that may be one of theirs is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.ours import is_test_module
from layline.core.why import Reason, Why
from layline.coupling.below import may_give
from layline.coupling.drift_model import Drift
from layline.coupling.unhanded import SETTINGS
from layline.coupling.vanished import find_setting
from layline.git import Blob
from layline.interpreter.modules import read_texts
from layline.source.tree import Tree


def accept_own(rows: list[Drift], ours: Tree) -> Iterator[Drift]:
    """The rows without such reads."""
    read = (one for row in rows for one in row.lost if one.why.reason is Reason.READS_VANISHED)
    held = find_held(ours, {one.attribute for one in read if one.attribute})
    given = find_given(ours, {why.text for row in rows for why in _find_too_new(row)})
    for row in rows:
        named = {one.why for one in row.lost if one.why.reason is Reason.READS_VANISHED and one.attribute in held}
        named |= {why for why in _find_too_new(row) if why.text in given}
        yield _forget(row, named) if named else row


def _find_too_new(row: Drift) -> Iterator[Why]:
    parts = (part for one in row.findings if one.why.reason is Reason.MISREADS_TODAY for part in one.why.parts)
    yield from (part for part in parts if part.reason is Reason.READS_TOO_NEW)


def find_given(ours: Tree, words: Collection[str]) -> frozenset[str]:
    """Which of these words some code or settings of ours may put on an object: it sets such an attribute, or has the
    word as a text, a field or a key.
    """
    if not words:
        return frozenset()
    texts, settings = (
        dict(read_texts(ours, [one for one in ours.paths() if one.endswith(by)])) for by in (".py", SETTINGS)
    )
    said = {word for word in words if any(word.encode() in data for data in settings.values())}
    said |= {word for word in words if any(may_give(data, word) for data in texts.values() if word.encode() in data)}
    return frozenset(said) | find_held(ours, words)


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
    if finding.why.reason not in {Reason.MISREADS, Reason.MISREADS_TODAY}:
        return finding
    parts = tuple(one for one in finding.why.parts if one not in whys)
    return replace(finding, why=replace(finding.why, parts=parts)) if parts else None
