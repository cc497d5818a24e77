"""`gap report`: the detailed report, the summary, the dashboard record and the evidence of one backend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.app.gap import find_alerts
from layline.app.gap_files import Places, find_places, refuse_foreign, write_gap
from layline.app.gap_measure import measure_gap
from layline.core.progress import Progress, silent
from layline.core.records import encode_record
from layline.core.report import Answer, Bullets, Cell, Report, Section
from layline.errors import ConfigError
from layline.gap.facts import find_facts
from layline.gap.record import build_record
from layline.gap.report import build_report, build_summary
from layline.render import render_markdown

if TYPE_CHECKING:
    from datetime import date

    from layline.app.workspace import Workspace
    from layline.core.evidence import Evidence, Fact
    from layline.gap.model import Gap

SCHEMA = "layline.evidence/1"


def gap_report(
    workspace: Workspace, keys: tuple[str, ...], *, to: str | None = None, today: date, take_over: bool = False,
    progress: Progress = silent,
) -> Answer:  # fmt: skip
    """Write the report of every backend named; nothing is written if one of them cannot be measured."""
    if not keys:
        raise ConfigError("No backend is configured.", hint="`layline init` looks for them.")
    made = [_make(workspace, key, to=to, today=today, take_over=take_over, progress=progress) for key in keys]
    written = {place.id: write_gap(place, texts, record, evidence) for _, place, texts, record, evidence in made}
    return _build_answer(workspace, [(gap, place, record) for gap, place, _, record, _ in made], written, today)


Made = tuple["Gap", Places, tuple[str, str], dict[str, Any], dict[str, Any]]


def _make(workspace: Workspace, key: str, *, to: str | None, today: date, take_over: bool, progress: Progress) -> Made:
    gap = measure_gap(workspace, key, to=to, progress=progress).gap
    places = find_places(workspace.root / workspace.settings.project.docs, key, gap.slug)
    if not take_over:
        refuse_foreign(places)
    return gap, places, *build_texts(workspace, gap, places, today)


def build_texts(
    workspace: Workspace, gap: Gap, places: Places, day: date
) -> tuple[tuple[str, str], dict[str, Any], dict[str, Any]]:
    """Report and summary as Markdown, the record and the evidence as plain data: a pure function of the gap."""
    where = places.evidence.relative_to(workspace.root).as_posix()
    texts = (
        render_markdown(build_report(gap, day=day, evidence_path=where)),
        render_markdown(build_summary(gap, day=day)),
    )
    record = encode_record(build_record(gap, id_=places.id, day=day, artifacts=places.artifacts))
    return texts, record, build_evidence(gap, places.id, day)


def build_evidence(gap: Gap, id_: str, day: date) -> dict[str, Any]:
    """Every fact with its evidence; repositories and commits are named once and referred to by number."""
    commits: dict[tuple[str, str], int] = {}
    facts = [encode_fact(fact, commits) for fact in find_facts(gap)]
    return {
        "schema": SCHEMA,
        "record": id_,
        "backend": gap.key,
        "date": day.isoformat(),
        "ref": gap.ref,
        "downstream_commit": gap.downstream_commit.hash,
        "pin": gap.pin.commit.hash,
        "tip": gap.tip.commit.hash,
        "commits": [{"repo": repo, "commit": commit} for repo, commit in commits],
        "facts": facts,
        "skipped": [{"what": skipped.what, "why": skipped.why} for skipped in gap.skipped],
    }


def encode_fact(fact: Fact[Any], commits: dict[tuple[str, str], int]) -> dict[str, Any]:
    return {
        "name": fact.name,
        "value": fact.value,
        "evidence": [_encode_place(item, commits) for item in fact.evidence],
    }


def _encode_place(evidence: Evidence, commits: dict[tuple[str, str], int]) -> dict[str, Any]:
    place: dict[str, Any] = {"at": commits.setdefault((evidence.repo, evidence.commit), len(commits))}
    if evidence.path is not None:
        place["path"] = evidence.path
    if evidence.lines is not None:
        place["lines"] = list(evidence.lines)
    if evidence.command is not None:
        place["command"] = evidence.command
    return place


def _build_answer(
    workspace: Workspace, made: list[tuple[Gap, Places, dict[str, Any]]], written: dict[str, list[Path]], today: date
) -> Answer:
    sections, reports, alerts = [], [], []
    for gap, places, record in made:
        changed = set(written[places.id])
        items = tuple(
            (Cell(_relative(workspace, path), code=True), "" if path in changed else " (unchanged)")
            for path in places.all
        )
        summary = build_summary(gap, day=today)
        sections.append(replace(summary.sections[0], title=gap.label))
        sections.append(Section(title="Files", blocks=(Bullets(items),)))
        alerts += find_alerts(gap.tip.commit.date, gap.distance.relation, gap.ref, today)
        files = [{"path": _relative(workspace, path), "changed": path in changed} for path in places.all]
        reports.append({"backend": gap.key, "id": places.id, "files": files, "record": record})
    skipped = tuple(skipped for gap, _, _ in made for skipped in gap.skipped)
    report = Report(title="Gap reports", sections=tuple(sections), alerts=tuple(alerts), skipped=skipped[:20])
    return Answer(report=report, data={"schema": "layline.gap-report/1", "date": today.isoformat(), "reports": reports})


def _relative(workspace: Workspace, path: Path) -> str:
    return path.relative_to(workspace.root).as_posix()
