"""`gap audit`: hold published records, gap and periodic, made by anyone, against git."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.report import Answer, Report
from layline.gap.audit.answer import audit, build_section, encode
from layline.gap.audit.model import AuditVerdict
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.gap import answers
    from layline.workspace.open import Workspace


def gap_audit(workspace: Workspace, paths: tuple[Path, ...]) -> Answer:
    """Every field of every record: confirmed, contradicted with the right value, or not checkable."""
    workspace = know_packages(workspace)
    audited = [(path, tuple(audit(workspace, path))) for path in paths]
    needs = any(field.verdict is AuditVerdict.CONTRADICTED for _, fields in audited for field in fields)
    data: answers.Audit = {
        "schema": "layline.audit/1",
        "records": [
            {"path": path.as_posix(), "fields": [encode(field) for field in fields]} for path, fields in audited
        ],
    }
    sections = tuple(build_section(path, fields) for path, fields in audited)
    return Answer(report=Report(title="Audit", sections=sections), data=data, needs_person=needs)
