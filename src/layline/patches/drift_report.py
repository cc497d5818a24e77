"""Drift rows in reading order, and as the JSON contract `layline.drift/1`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from layline.core.evidence import Alert, Evidence, Location, Severity, Skipped
from layline.core.report import Bullets, Cell, Finding, Inline, Paragraph, Report, Section, Table
from layline.core.revision import Commit
from layline.patches.baseline import Accepted
from layline.patches.drift import Drift, count_kinds

SCHEMA = "layline.drift/1"
_TITLES = {
    Severity.BREAKS: "Breaks at the tip",
    Severity.LOOK: "Worth a look",
    Severity.OK: "Still fits",
}
_FEW = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A place outside patches that no longer fits upstream: an override, or a call."""

    touch: str
    target: str
    location: Location
    severity: Severity
    detail: str
    new_target: str | None = None
    tip_evidence: Evidence | None = None
    culprit: str | None = None

    @property
    def id(self) -> str:
        words = "\0".join((self.touch, self.target, self.location.path))
        return f"drift-{hashlib.blake2b(words.encode(), digest_size=6).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """Everything the report and the data are made of."""

    backend: str
    label: str
    downstream: Evidence
    """The downstream at the commit looked at."""
    pin: Commit
    tip: Commit
    rows: tuple[Drift, ...]
    """Worst first."""
    accepted: tuple[tuple[Drift, Accepted], ...] = ()
    stale: tuple[Accepted, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    culprits: bool = False
    elsewhere: tuple[Elsewhere, ...] = ()


def build_report(drift: DriftReport) -> Report:
    return Report(
        title=f"{drift.label}: drift of {len(drift.rows)} effects",
        meta=(
            ("downstream", f"{drift.downstream.repo} at {drift.downstream.commit}"),
            ("pin", f"{drift.pin.hash} ({drift.pin.date})"),
            ("tip", f"{drift.tip.hash} ({drift.tip.date})"),
        ),
        sections=tuple(_sections(drift)),
        alerts=tuple(_alerts(drift)),
        skipped=drift.skipped,
    )


def _sections(drift: DriftReport) -> Iterator[Section]:
    yield Section(title="Totals", blocks=(_totals(drift),))
    for severity in (Severity.BREAKS, Severity.LOOK):
        rows = [row for row in drift.rows if row.severity is severity and not row.dead_today]
        if rows:
            yield Section(title=f"{_TITLES[severity]} ({len(rows)})", blocks=(_table(rows, drift),))
    if drift.elsewhere:
        yield Section(
            title=f"Overrides and calls outside patches ({len(drift.elsewhere)})", blocks=(_elsewhere(drift),)
        )
    dead = [row for row in drift.rows if row.dead_today]
    if dead:
        intro = Paragraph("These do nothing at the pin already; the tip does not break them.")
        yield Section(title=f"Dead today ({len(dead)})", blocks=(intro, _table(dead, drift)))
    retire = [row for row in drift.rows if row.retire]
    if retire:
        yield Section(title=f"Can go ({len(retire)})", blocks=(Bullets(tuple(_retired(row) for row in retire)),))
    held = [row for row in drift.rows if row.holders and row.severity is not Severity.OK]
    if held:
        intro = Paragraph("Modules that imported the object by value before a patch rebinds it keep the old one.")
        yield Section(title="Importers that may keep the old object", blocks=(intro, Bullets(tuple(map(_held, held)))))
    if drift.accepted:
        items = tuple(f"{row.target or row.patch} ({row.kind.value}): {item.reason}, until {item.until}" for row, item in drift.accepted)  # fmt: skip
        yield Section(title=f"Accepted ({len(items)})", blocks=(Bullets(items),))
    if drift.stale:
        items = tuple(f"{item.id}: {item.reason} (until {item.until})" for item in drift.stale)
        yield Section(title="Accepted entries that no longer apply", blocks=(Bullets(items),))


def _totals(drift: DriftReport) -> Table:
    rows = tuple(
        (kind, str(number), *(str(_count(drift.rows, kind, severity)) for severity in _TITLES))
        for kind, number in count_kinds(list(drift.rows)).items()
    )
    return Table(columns=("Kind", "Effects", "breaks", "look", "ok"), rows=rows, numeric=frozenset({1, 2, 3, 4}))


def _count(rows: Iterable[Drift], kind: str, severity: Severity) -> int:
    return sum(row.kind.value == kind and row.severity is severity for row in rows)


def _table(rows: list[Drift], drift: DriftReport) -> Table:
    columns: tuple[str, ...] = ("Patch", "Target", "Kind", "Why", "Suggestion")
    shown = rows[:_FEW]
    built = tuple(_row(row, drift) for row in shown)
    if drift.culprits:
        columns = (*columns, "Since")
        built = tuple((*cells, _since(row, drift)) for cells, row in zip(built, shown, strict=True))
    return Table(columns=columns, rows=built, more=len(rows) - len(shown), more_where="`--format json`")


def _row(row: Drift, drift: DriftReport) -> tuple[Inline, ...]:
    here = Evidence(repo=drift.downstream.repo, commit=drift.downstream.commit, path=row.location.path, lines=(row.location.line, row.location.line))  # fmt: skip
    target = Cell(row.target or "–", evidence=row.pin_evidence, code=True)
    home = row.suggestion
    suggestion: Inline = "–" if home is None else (Cell(home.target, evidence=row.tip_evidence, code=True), f" ({home.score:.2f}: {home.reason})")  # fmt: skip
    copied = "" if row.copied is None else f"ours is an edited copy ({row.copied:.0%} alike)"
    why = "; ".join(part for part in (row.detail, copied) if part) or "–"
    return (Cell(row.patch, evidence=here), target, row.kind.value, why, suggestion)


def _since(row: Drift, drift: DriftReport) -> Inline:
    if row.culprit is None:
        return "–"
    number = f"#{row.culprit.pull_request} " if row.culprit.pull_request else ""
    repo = next((side.repo for side in (row.pin_evidence, row.tip_evidence) if side is not None), drift.backend)
    return (
        Cell(row.culprit.hash[:10], evidence=Evidence(repo=repo, commit=row.culprit.hash), code=True),
        f" {row.culprit.date} {number}{row.culprit.subject}",
    )


def _elsewhere(drift: DriftReport) -> Table:
    rows = tuple(
        (str(item.location), item.touch, Cell(item.target, evidence=item.tip_evidence, code=True), item.severity.value, item.detail or item.new_target or "–")
        for item in drift.elsewhere[:_FEW]
    )  # fmt: skip
    more = len(drift.elsewhere) - len(rows)
    return Table(columns=("Where", "What we do", "Upstream name", "", "Why"), rows=rows, more=more, more_where="`--format json`")  # fmt: skip


def _retired(row: Drift) -> Inline:
    return f"{row.patch}: {row.target}: {row.retire}"


def _held(row: Drift) -> Inline:
    shown = ", ".join(row.holders[:8]) + (f" and {len(row.holders) - 8} more" if len(row.holders) > 8 else "")
    return f"{row.target} ({row.patch}): {shown}"


def _alerts(drift: DriftReport) -> Iterator[Alert]:
    broken = [row for row in drift.rows if row.severity is Severity.BREAKS]
    if broken:
        patches = len({row.patch for row in broken})
        yield Alert(severity=Severity.BREAKS, message=f"{len(broken)} effects of {patches} patches break at the tip.")


def find_findings(drift: DriftReport) -> Iterator[Finding]:
    """Every row that asks for a look, for machines that annotate our code; accepted ones say so."""
    for row in drift.rows:
        yield _finding(row, None)
    for item in drift.elsewhere:
        yield Finding(
            id=item.id, rule=f"drift/{item.touch}", severity=item.severity, path=item.location.path,
            line=item.location.line, upstream=item.tip_evidence, message=f"{item.touch} {item.target}: {item.detail}",
        )  # fmt: skip
    for row, reason in drift.accepted:
        yield _finding(row, f"{reason.reason} (until {reason.until})")


def _finding(row: Drift, accepted: str | None) -> Finding:
    home = f" Try {row.suggestion.target} ({row.suggestion.score:.2f})." if row.suggestion is not None else ""
    since = f" Since {row.culprit.hash[:10]} ({row.culprit.date}): {row.culprit.subject}." if row.culprit else ""
    why = f": {row.detail}" if row.detail else ""
    return Finding(
        id=row.id, rule=f"drift/{row.kind.value}", severity=row.severity, path=row.location.path,
        line=row.location.line, upstream=row.tip_evidence or row.pin_evidence, accepted=accepted,
        message=f"{row.target or row.patch} {row.kind.value}{why}.{home}{since}",
    )  # fmt: skip


def encode_drift(drift: DriftReport) -> dict[str, Any]:
    """The contract others rely on."""
    accepted = {id(row): item for row, item in drift.accepted}
    rows = [*drift.rows, *(row for row, _ in drift.accepted)]
    return {
        "schema": SCHEMA,
        "backend": drift.backend,
        "downstream_commit": drift.downstream.commit,
        "pin": drift.pin.hash,
        "tip": drift.tip.hash,
        "totals": count_kinds(list(rows)),
        "rows": [encode_row(row, accepted.get(id(row))) for row in rows],
        "elsewhere": [_encode_elsewhere(item) for item in drift.elsewhere],
        "skipped": [{"what": item.what, "why": item.why} for item in drift.skipped],
    }


def _encode_elsewhere(item: Elsewhere) -> dict[str, Any]:
    return {
        "id": item.id, "touch": item.touch, "target": item.target, "location": str(item.location),
        "severity": item.severity.value, "detail": item.detail, "new_target": item.new_target,
        "tip_evidence": encode_evidence(item.tip_evidence), "culprit": item.culprit,
    }  # fmt: skip


def encode_row(row: Drift, accepted: Accepted | None = None) -> dict[str, Any]:
    suggestion = row.suggestion
    culprit = row.culprit
    return {
        "id": row.id,
        "patch": row.patch,
        "active": row.active,
        "target": row.target,
        "style": row.style.value,
        "kind": row.kind.value,
        "severity": row.severity.value,
        "dead_today": row.dead_today,
        "location": str(row.location),
        "replacement_at": str(row.effect.replacement_at) if row.effect is not None and row.effect.replacement_at else None,
        "pin_evidence": encode_evidence(row.pin_evidence),
        "tip_evidence": encode_evidence(row.tip_evidence),
        "suggestion": None if suggestion is None else {"target": suggestion.target, "score": suggestion.score, "reason": suggestion.reason},
        "culprit": None if culprit is None else {"commit": culprit.hash, "date": culprit.date, "pull_request": culprit.pull_request, "subject": culprit.subject},
        "detail": row.detail,
        "problems": list(row.problems),
        "old_object_held_at": list(row.holders),
        "copied": row.copied,
        "retire": row.retire,
        "accepted": None if accepted is None else {"reason": accepted.reason, "until": accepted.until.isoformat()},
    }  # fmt: skip


def encode_evidence(evidence: Evidence | None) -> dict[str, Any] | None:
    if evidence is None:
        return None
    return {
        "repo": evidence.repo,
        "commit": evidence.commit,
        "path": evidence.path,
        "lines": list(evidence.lines) if evidence.lines else None,
        "link": evidence.permalink,
    }
