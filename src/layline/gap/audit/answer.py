"""Published records, gap and periodic, made by anyone, held against git."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.period import Cadence
from layline.core.records import GapRecord, PeriodicRecord, read_gap_record, read_periodic_record
from layline.core.report import Cell, Paragraph, Section, Table
from layline.errors import ConfigError, Error, GitError, MissingObject, RecordError, say_error
from layline.gap.audit.gap_record import audit_gap_record
from layline.gap.audit.ground import MeasuredPair
from layline.gap.audit.model import AuditedField, AuditVerdict, leave
from layline.gap.audit.periodic_record import Surroundings, audit_periodic_record
from layline.gap.audit.report_text import audit_report_text
from layline.history.commits import find_tip_at

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.gap import answers
    from layline.git import Repository
    from layline.workspace.open import Workspace


def audit(workspace: Workspace, path: Path) -> Any:
    record = load_record(path)
    if isinstance(record, GapRecord):
        try:
            ground = _find_ground(workspace, record)
        except GitError as error:
            return _leave_all(record, error.message)
        docs = workspace.settings.project.docs
        return (*audit_gap_record(record, ground), *audit_report_text(record, ground, workspace.commit, docs))
    return audit_periodic_record(record, _surroundings(workspace))


def _leave_all(record: GapRecord, why: str) -> tuple[AuditedField, ...]:
    """Of commits that are not here nothing can be said; other records still can be audited."""
    told = {"local.commit": record.local.commit, "upstream.commit": record.upstream.commit}
    return tuple(
        leave(field, value, why) for field, value in (told | {"stats.commit_gap": record.stats.commit_gap}).items()
    )


def load_record(path: Path) -> GapRecord | PeriodicRecord:
    """A record of either kind; what it is, it says itself."""
    try:
        plain = codec.parse_json(path.read_bytes(), where=str(path))
    except OSError as error:
        raise Error(
            f"{path} cannot be read: {say_error(error)}.", hint="Name the JSON of a published record."
        ) from None
    if isinstance(plain, dict) and "content_type" in plain:
        monthly = plain["content_type"] == Cadence.MONTHLY.content_type
        found: Any = read_periodic_record(plain, Cadence.MONTHLY if monthly else Cadence.WEEKLY)
    else:
        found = read_gap_record(plain)
    if isinstance(found, GapRecord | PeriodicRecord):
        return found
    raise RecordError(str(path), tuple(str(problem) for problem in found))


def _find_ground(workspace: Workspace, record: GapRecord) -> MeasuredPair:
    backend = workspace.settings.backend(record.backend.key)
    upstream = workspace.open_backend(record.backend.key)
    moment = datetime.combine(record.date, time(23, 59, 59), tzinfo=UTC)
    made = find_tip_at(workspace.downstream, workspace.commit, moment)
    if made is None:
        raise MissingObject(f"a commit of {record.generated_at} or before", workspace.downstream.name)
    return MeasuredPair(
        backend=backend,
        upstream=upstream,
        pin=upstream.resolve(record.local.commit),
        tip=upstream.resolve(record.upstream.commit),
        downstream=workspace.downstream,
        downstream_commit=made,
    )


def _surroundings(workspace: Workspace) -> Surroundings:
    opened: dict[str, Repository] = {}

    def open_(key: str) -> Repository | None:
        if key not in opened:
            try:
                opened[key] = workspace.open_backend(key)
            except ConfigError:
                return None
        return opened[key]

    def find(status: str, address: str | None) -> tuple[str, Backend, Repository] | None:
        for key, backend in workspace.settings.backends.items():
            same = (
                address is not None
                and backend.upstream is not None
                and backend.upstream.rstrip("/") == address.rstrip("/")
            )
            if same or (key == status and address is None):
                repository = open_(key)
                return (key, backend, repository) if repository is not None else None
        return None

    def every() -> list[Repository]:
        return [repository for key in workspace.settings.backends if (repository := open_(key)) is not None]

    return Surroundings(downstream=workspace.downstream, line=workspace.commit, find_backend=find, repositories=every)


def encode(field: AuditedField) -> answers.AuditedField:
    return {
        "field": field.field,
        "published": field.published,
        "computed": field.computed,
        "verdict": field.verdict.value,
        "evidence": field.evidence,
    }


_ORDER = {AuditVerdict.CONTRADICTED: 0, AuditVerdict.CONFIRMED: 1, AuditVerdict.NOT_CHECKABLE: 2}


def build_section(path: Path, fields: tuple[AuditedField, ...]) -> Section:
    counted = Counter(field.verdict for field in fields)
    text = (
        f"{counted[AuditVerdict.CONFIRMED]} confirmed, {counted[AuditVerdict.CONTRADICTED]} contradicted, "
        f"{counted[AuditVerdict.NOT_CHECKABLE]} not checkable."
    )
    rows = tuple(
        (field.verdict.value, Cell(field.field, code=True), _short(field.published), _short(field.computed))
        for field in sorted(fields, key=lambda field: _ORDER[field.verdict])
    )
    return Section(
        title=path.name,
        blocks=(Paragraph(text), Table(columns=("verdict", "field", "published", "computed"), rows=rows)),
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 160 else text[:159] + "…"
