"""Drift rows in reading order, and as the JSON contract `layline.drift/1`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from layline.core.drift import UNCOMPARED, DriftKind, Uncompared
from layline.core.evidence import Alert, Evidence, Severity, Skipped, encode_skipped
from layline.core.prose import count, verb
from layline.core.report import Annotation, Bullets, Cell, Inline, Paragraph, Report, Section, Table
from layline.core.revision import Commit
from layline.core.why import Reason, say
from layline.coupling.drift_model import Drift
from layline.coupling.roots import explain
from layline.patches.drift.baseline import Accepted
from layline.patches.drift.elsewhere import (
    Elsewhere,
    annotate_elsewhere,
    encode_accepted,
    encode_elsewhere,
    encode_evidence,
)
from layline.patches.drift.places import Places, count_places
from layline.patches.drift.rules import RULES

if TYPE_CHECKING:
    from layline.core.answers import NamedCommit
    from layline.patches import answers

Row = TypeVar("Row", Drift, Elsewhere)
SCHEMA: Literal["layline.drift/1"] = "layline.drift/1"
_TITLES = {
    Severity.BREAKS: "Breaks at the tip",
    Severity.LOOK: "Worth a look",
    Severity.OK: "Still fits",
}
_FEW = 60
_DEAD = (
    "Upstream does not have these names at the pin. Setting them changes nothing that upstream runs; only "
    "code of ours that reads the name sees the value. The tip does not break them."
)
_RISK = (
    "A module that runs `from … import` before a patch rebinds the name keeps the original. The table names "
    "such modules and other risks."
)


def count_kinds(rows: list[Drift]) -> dict[str, int]:
    """Rows per kind, in the order of the kinds."""
    return {kind.value: number for kind in DriftKind if (number := sum(row.kind is kind for row in rows))}


def number_repeats(rows: Iterable[Row]) -> Iterator[Row]:
    """The same rows, those that would share an id told apart by their order: whoever accepts one accepts no other."""
    seen: Counter[str] = Counter()
    for row in rows:
        yield replace(row, repeat=seen[row.id]) if seen[row.id] else row
        seen[row.id] += 1


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
    to: str = ""
    """The commit compared with as the user named it."""
    since: str = ""
    """The commit compared from as the user named it; empty: the pin."""
    accepted: tuple[tuple[Drift, Accepted], ...] = ()
    stale: tuple[Accepted, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    listed: int = 0
    """How many effects `patches list` has."""
    uncompared: Mapping[Uncompared, int] = field(default_factory=dict)
    culprits: bool = False
    elsewhere: tuple[Elsewhere, ...] = ()
    elsewhere_accepted: tuple[tuple[Elsewhere, Accepted], ...] = ()
    loaders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """File that fails at a line of its own when it is loaded → lines of ours that import it."""

    @property
    def read_keys(self) -> int:
        """Rows about a config key that a patch reads and upstream dropped: no effect of the list."""
        return sum(row.effect is None for row in self.rows)


def build_report(drift: DriftReport) -> Report:
    return Report(
        title=f"{drift.label}: drift of {_say_rows(drift)}",
        meta=(
            ("downstream", f"{drift.downstream.repo} at {drift.downstream.commit}"),
            ("pin", f"{drift.pin.hash} ({drift.pin.date})"),
            ("tip", f"{drift.tip.hash} ({drift.tip.date})"),
        ),
        sections=tuple(_sections(drift)),
        alerts=tuple(_alerts(drift)),
        skipped=drift.skipped,
    )


def _say_rows(drift: DriftReport) -> str:
    keys = f" and {count(drift.read_keys, 'config key')} that a patch reads" if drift.read_keys else ""
    return f"{count(len(drift.rows) - drift.read_keys, 'effect')}{keys}"


def _sections(drift: DriftReport) -> Iterator[Section]:
    yield Section(title="Totals", blocks=(_totals(drift),))
    for severity in (Severity.BREAKS, Severity.LOOK):
        rows = [row for row in drift.rows if row.severity is severity and not row.dead_today]
        if rows:
            yield Section(title=f"{_TITLES[severity]} ({len(rows)})", blocks=(_table(rows, drift),))
    if drift.elsewhere:
        yield Section(title=f"Places outside patches ({len(drift.elsewhere)})", blocks=(_elsewhere(drift),))
    dead = [row for row in drift.rows if row.dead_today]
    if dead:
        intro = Paragraph(_DEAD)
        yield Section(title=f"Dead today ({len(dead)})", blocks=(intro, _table(dead, drift)))
    retire = [row for row in drift.rows if row.retire]
    if retire:
        only = Paragraph("Delete these, unless you also support other versions.")
        names = Bullets(tuple(_retired(row) for row in retire))
        yield Section(title=f"Not needed at pin and tip ({len(retire)})", blocks=(only, names))
    at_risk = [row for row in drift.rows if row.holders or row.risks]
    if at_risk:
        yield Section(title=f"May not take effect ({len(at_risk)})", blocks=(Paragraph(_RISK), _risk_table(at_risk)))
    items = tuple(_accepted(drift))
    if items:
        yield Section(title=f"Accepted ({len(items)})", blocks=(Bullets(items),))
    if drift.stale:
        items = tuple(f"{item.id}: {item.reason} (until {item.until})" for item in drift.stale)
        yield Section(title="Accepted entries that no longer apply", blocks=(Bullets(items),))


def _accepted(drift: DriftReport) -> Iterator[str]:
    for row, item in drift.accepted:
        yield f"{row.target or row.patch} ({row.kind.value}): {item.reason}, until {item.until}"
    for place, item in drift.elsewhere_accepted:
        yield f"{place.location} {place.touch} {place.target}: {item.reason}, until {item.until}"


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
    here = Evidence(
        repo=drift.downstream.repo,
        commit=drift.downstream.commit,
        path=row.location.path,
        lines=(row.location.line, row.location.line),
    )
    target = Cell(row.target or "–", evidence=row.pin_evidence, code=True)
    home = row.suggestion
    suggestion: Inline = (
        "–"
        if home is None
        else (Cell(home.target, evidence=row.tip_evidence, code=True), f" ({home.score:.2f}: {home.reason})")
    )
    copied = (
        "" if row.copied is None else f"our replacement is an edited copy of upstream's body ({row.copied:.0%} alike)"
    )
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
        (
            str(item.location),
            item.touch,
            Cell(item.target, evidence=item.tip_evidence, code=True),
            item.severity.value,
            item.detail or item.new_target or "–",
        )
        for item in drift.elsewhere[:_FEW]
    )
    more = len(drift.elsewhere) - len(rows)
    return Table(
        columns=("Where", "What we do", "Upstream name", "", "Why"), rows=rows, more=more, more_where="`--format json`"
    )


def _retired(row: Drift) -> Inline:
    return f"{row.patch}: {row.target}: {row.retire}"


def _risk_table(rows: list[Drift]) -> Table:
    shown = rows[:_FEW]
    built = tuple(
        (row.patch, Cell(row.target or "–", evidence=row.tip_evidence or row.pin_evidence, code=True), _risk(row))
        for row in shown
    )
    return Table(
        columns=("Patch", "Target", "Risk"), rows=built, more=len(rows) - len(shown), more_where="`--format json`"
    )


def _risk(row: Drift) -> str:
    more = f" and {len(row.holders) - 8} more" if len(row.holders) > 8 else ""
    held = (
        (f"these modules import it with `from … import` and may keep the original: {', '.join(row.holders[:8])}{more}",)
        if row.holders
        else ()
    )
    return "; ".join((*map(say, row.risks), *held))


def _alerts(drift: DriftReport) -> Iterator[Alert]:
    broken = [row for row in drift.rows if row.severity is Severity.BREAKS and not row.fails_already]
    places = count_places(drift.rows)
    if broken:
        effects = f"{count(len(broken), 'effect')} of {count(len({row.patch for row in broken}), 'patch')}"
        said = f"{places.broken} of {count(places.total, 'patched place')} {verb(places.broken, 'breaks')}"
        yield Alert(severity=Severity.BREAKS, message=f"{said} at the tip ({effects}).")
    if places.failing:
        said = f"{count(places.failing, 'patched place')} {verb(places.failing, 'fails')}"
        yield Alert(severity=Severity.BREAKS, message=f"{said} at the pin already.")


def build_findings(drift: DriftReport) -> tuple[Annotation, ...]:
    """Every row for machines that annotate our code: worst first, what is accepted last."""
    order = list(Severity)
    found = sorted(_find_findings(drift), key=lambda one: (one.accepted is not None, order.index(one.severity)))
    return tuple(found)


def _find_findings(drift: DriftReport) -> Iterator[Annotation]:
    for row in drift.rows:
        yield _finding(row, None)
    for item in drift.elsewhere:
        yield annotate_elsewhere(item, None)
    for row, reason in drift.accepted:
        yield _finding(row, f"{reason.reason} (until {reason.until})")
    for item, reason in drift.elsewhere_accepted:
        yield annotate_elsewhere(item, f"{reason.reason} (until {reason.until})")


def _finding(row: Drift, accepted: str | None) -> Annotation:
    home = f" Try {row.suggestion.target} ({row.suggestion.score:.2f})." if row.suggestion is not None else ""
    since = f" Since {row.culprit.hash[:10]} ({row.culprit.date}): {row.culprit.subject}." if row.culprit else ""
    why = f": {row.detail}" if row.detail else ""
    return Annotation(
        id=row.id,
        rule=RULES[row.kind.value],
        severity=row.severity,
        path=row.location.path,
        line=row.location.line,
        upstream=row.tip_evidence or row.pin_evidence,
        accepted=accepted,
        message=f"{row.target or row.patch} {row.kind.value}{why}.{home}{since}",
    )


def encode_drift(drift: DriftReport) -> answers.Drift:
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
        "places": _encode_places(count_places(drift.rows)),
        "listed": drift.listed,
        "not_compared": [
            {"reason": reason.value, "effects": number, "why": UNCOMPARED[reason]}
            for reason, number in drift.uncompared.items()
        ],
        "read_keys": sum(row.effect is None for row in rows),
        "rows": [encode_row(row, accepted.get(id(row))) for row in rows],
        "elsewhere": [
            *(encode_elsewhere(item, None) for item in drift.elsewhere),
            *(encode_elsewhere(item, accepted) for item, accepted in drift.elsewhere_accepted),
        ],
        "stale": [{"id": item.id, "reason": item.reason, "until": item.until.isoformat()} for item in drift.stale],
        "skipped": encode_skipped(drift.skipped),
    }


def _encode_places(places: Places) -> answers.DriftPlaces:
    return {
        "total": places.total,
        "breaks": places.broken,
        "fails_already": places.failing,
        "does_nothing": places.dead,
        "look": places.look,
        "fits": places.fits,
    }


def encode_row(row: Drift, accepted: Accepted | None = None) -> answers.DriftRow:
    suggestion = row.suggestion
    return {
        "id": row.id,
        "effect": row.effect.id if row.effect is not None else None,
        "patch": row.patch,
        "active": row.active,
        "target": row.target,
        "style": row.style.value,
        "kind": row.kind.value,
        "severity": row.severity.value,
        "dead_today": row.dead_today,
        "today": row.today,
        "location": str(row.location),
        "replacement_at": str(row.effect.replacement_at)
        if row.effect is not None and row.effect.replacement_at
        else None,
        "pin_evidence": encode_evidence(row.pin_evidence),
        "tip_evidence": encode_evidence(row.tip_evidence),
        "suggestion": None
        if suggestion is None
        else {"target": suggestion.target, "score": suggestion.score, "reason": suggestion.reason},
        "culprit": encode_commit(row.culprit),
        "culprits": [{"why": say(one.why), "commit": one.commit.hash} for one in row.causes],
        "detail": row.detail,
        "reasons": [one.reason.code for one in row.reasons],
        "explained_by": str(root.location) if (root := explain(row)) is not None else None,
        "once_mended": row.own.severity.value if row.has(Reason.NOT_INSTALLED) else None,
        "problems": [say(item) for item in row.problems],
        "old_object_held_at": list(row.holders),
        "risks": [say(item) for item in row.risks],
        "copied": row.copied,
        "retire": say(row.retire) if row.retire is not None else None,
        "accepted": encode_accepted(accepted),
    }


def encode_commit(commit: Commit | None) -> NamedCommit | None:
    if commit is None:
        return None
    return {
        "commit": commit.hash,
        "date": commit.date,
        "pull_request": commit.pull_request,
        "subject": commit.subject,
    }
