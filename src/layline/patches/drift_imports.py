"""Imports of ours that fail at the tip and keep patches from being installed: each is a finding of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layline.core.evidence import Severity
from layline.core.prose import count
from layline.core.why import Reason, Why, say
from layline.coupling.drift_model import Drift
from layline.coupling.roots import explain, find_roots
from layline.patches.drift_report import IMPORTS, Elsewhere


def find_failing_imports(rows: Iterable[Drift]) -> Iterator[Elsewhere]:
    """Root causes of drift rows, each once."""
    for root, behind in find_roots(rows).items():
        yield Elsewhere(
            touch=IMPORTS,
            target=root.name,
            location=root.location,
            severity=Severity.BREAKS,
            detail=say(Why(Reason.IMPORT_FAILS, f"{count(len(behind), 'effect')} of our patches")),
            new_target=root.new_home,
            culprit=next((row.culprit.hash for row in behind if row.culprit and explain(row) == root), None),
        )
