"""Rows of drift as tests need them: one finding, nothing else."""

from __future__ import annotations

from layline.core.drift import DriftKind
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.patch import Style
from layline.core.revision import Commit
from layline.core.why import Reason, Why
from layline.coupling.drift_model import Drift


def drift_row(
    severity: str, kind: str, location: str, target: str, *, active: bool = True, culprit: Commit | None = None
) -> Drift:
    path, _, line = location.rpartition(":")
    finding = Finding(severity=Severity(severity), kind=DriftKind(kind), why=Why(Reason.REFUSES, text="mode"))
    return Drift(
        patch="p",
        active=active,
        target=target,
        style=Style.BINDING_REPLACEMENT,
        location=Location(path, int(line)),
        findings=(finding,),
        culprit=culprit,
    )
