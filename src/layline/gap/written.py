"""One gap report, measured and laid out: two texts, the record and the evidence; what was measured is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.core.evidence import Alert, Severity
from layline.core.progress import Progress, silent
from layline.core.prose import count
from layline.core.records import encode_record
from layline.core.report import Answer, Bullets, Cell, Paragraph, Report, Section
from layline.core.revision import Relation
from layline.gap.endpoints import Endpoints, find_alerts, find_endpoints
from layline.gap.evidence import build_evidence, find_before, render_evidence
from layline.gap.files import Places, find_folder, find_places, refuse_foreign
from layline.gap.measure import Handed, measure_between
from layline.gap.overview import slug_of
from layline.gap.record import build_record
from layline.gap.report import build_report, build_summary
from layline.gap.short import Before
from layline.workspace.guessed import say_guess
from layline.workspace.kept import Results, result_key

if TYPE_CHECKING:
    from layline.gap import answers
    from layline.gap.model import Gap
    from layline.git import Repository
    from layline.workspace.open import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One report ready to be written, and what the answer says about it."""

    key: str
    label: str
    places: Places
    texts: tuple[str, str]
    record: dict[str, Any]
    advice: answers.Advice
    evidence: str
    alerts: tuple[Alert, ...]
    guessed: bool
    """Its pin is a guess of `init`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How reports are asked for."""

    to: str | None
    today: date
    take_over: bool
    patches: bool
    """Ask the patch explorer what became of every patch."""


def make_report(workspace: Workspace, key: str, wanted: Wanted, handed: Handed, progress: Progress = silent) -> Made:
    """Everything about one report but its writing; what was measured is kept."""
    upstream = workspace.open_backend(key)
    ends = find_endpoints(workspace, upstream, key, to=wanted.to)
    places = find_places(workspace.root / workspace.settings.project.docs, key, slug_of(ends.ref))
    if not wanted.take_over:
        refuse_foreign(places)
    before = find_before(places, wanted.today)
    results, name = (
        Results("gap"),
        _result_key(workspace, upstream, key, ends, places, [wanted.today.isoformat(), wanted.patches, repr(before)]),
    )
    found = results.load(name, dict)
    if found is None:
        asked = handed.read_patches if wanted.patches else None
        gap = measure_between(workspace, upstream, key, ends, asked, progress)
        texts, record, evidence = build_texts(workspace, gap, places, wanted.today, before, handed.render)
        found = {
            "texts": texts,
            "record": record,
            "evidence": render_evidence(evidence),
            "relation": gap.distance.relation.value,
            "advice": build_advice(gap),
        }
        results.store(name, found)
    alerts = find_alerts(upstream, ends, Relation(found["relation"]), wanted.today)
    guess = say_guess(workspace.settings.backend(key))
    label = workspace.label(key)
    return Made(
        key=key,
        label=label,
        places=places,
        texts=tuple(found["texts"]),
        record=found["record"],
        advice=found["advice"],
        evidence=found["evidence"],
        alerts=(*([Alert(severity=Severity.LOOK, message=guess)] if guess else []), *alerts),
        guessed=bool(guess),
    )


def _result_key(
    workspace: Workspace, upstream: Repository, key: str, ends: Endpoints, places: Places, rest: list[object]
) -> str:
    settings = workspace.settings
    return result_key(
        settings,
        workspace.commit,
        key,
        ends.pin,
        ends.tip,
        ends.ref,
        rest,
        places.id,
        [one.path for one in places.artifacts],
        upstream.refs("refs/tags"),
    )


def build_texts(
    workspace: Workspace, gap: Gap, places: Places, day: date, before: Before | None, render: Callable[[Report], str]
) -> tuple[tuple[str, str], dict[str, Any], answers.EvidenceFile]:
    """Report and summary as Markdown, the record and the evidence as plain data: a pure function of the gap."""
    where = places.evidence.relative_to(workspace.root).as_posix()
    texts = (
        render(build_report(gap, day=day, evidence_path=where, before=before)),
        render(build_summary(gap, day=day, evidence_path=where, before=before)),
    )
    record = encode_record(build_record(gap, id_=places.id, day=day, artifacts=places.artifacts))
    return texts, record, build_evidence(gap, places.id, day, before)


def build_advice(gap: Gap) -> answers.Advice:
    inputs = gap.recommendation.inputs
    return {
        "label": str(gap.recommendation),
        "rule": gap.recommendation.rule,
        "places_that_break": inputs.will_break,
        "places_to_fix": inputs.will_break if inputs.to_fix is None else inputs.to_fix,
    }


def build_answer(
    workspace: Workspace,
    made: list[Made],
    written: dict[str, list[Path]],
    problems: dict[str, list[tuple[Path, str]]],
    today: date,
) -> Answer:
    sections = []
    reports: list[answers.WrittenReport] = []
    for one in made:
        changed = set(written[one.places.id])
        items = tuple(
            (Cell(_relative(workspace, path), code=True), "" if path in changed else " (unchanged)")
            for path in one.places.all
        )
        summary = one.record["dashboard_summary"]
        lines = (
            summary["headline"],
            f"Recommendation: {summary['recommendation']}.",
            f"Rule: {one.advice['rule']}.",
            *summary["why_it_matters"],
        )
        sections.append(
            Section(
                title=one.label, blocks=(Bullets(lines), Paragraph("Files (read summary.md first):"), Bullets(items))
            )
        )
        found = [f"{_relative(workspace, path)}: {reason}" for path, reason in problems[one.places.id]]
        told = (
            f"Checked after writing: {count(len(found), 'problem')}." if found else "Checked after writing: no problem."
        )
        sections[-1] = replace(
            sections[-1], blocks=(*sections[-1].blocks, Paragraph(told), *([Bullets(tuple(found))] if found else []))
        )
        files: list[answers.WrittenFile] = [
            {"path": _relative(workspace, path), "changed": path in changed} for path in one.places.all
        ]
        reports.append(
            {
                "backend": one.key,
                "id": one.places.id,
                "pin_guessed": one.guessed,
                "files": files,
                "problems": found,
                "recommendation": one.advice,
                "record": one.record,
            }
        )
    alerts = tuple(alert for one in made for alert in one.alerts)
    report = Report(title=_title(workspace, made), sections=tuple(sections), alerts=alerts)
    data: answers.GapReport = {"schema": "layline.gap-report/1", "date": today.isoformat(), "reports": reports}
    return Answer(report=report, data=data)


def _title(workspace: Workspace, made: list[Made]) -> str:
    """Where the files are, first."""
    if len(made) == 1:
        return f"Gap report in {_relative(workspace, made[0].places.summary.parent)}"
    return f"{len(made)} gap reports in {_relative(workspace, find_folder(workspace.root / workspace.settings.project.docs))}"


def _relative(workspace: Workspace, path: Path) -> str:
    return path.relative_to(workspace.root).as_posix()
