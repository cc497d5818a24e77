"""`gap report`: the detailed report, the summary, the dashboard record and the evidence of one backend."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.app.gap import Endpoints, find_alerts, find_endpoints
from layline.app.gap_files import Places, find_places, refuse_foreign, write_gap
from layline.app.gap_measure import Options, measure_between
from layline.codec import parse_json
from layline.core.evidence import encode_skipped
from layline.core.progress import Progress, silent
from layline.core.records import encode_record, read_gap_record
from layline.core.report import Answer, Bullets, Cell, Paragraph, Report, Section
from layline.core.revision import Relation
from layline.dashboard.check.markup import read_page
from layline.errors import ConfigError, RecordError
from layline.gap.facts import find_facts
from layline.gap.overview import slug_of
from layline.gap.record import build_record
from layline.gap.report import build_report, build_summary
from layline.gap.short import Before
from layline.render.html import render_article
from layline.render.lint import find_markdown_problems
from layline.render.markdown import render_markdown
from layline.workspace.kept import Results, result_key
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.core.evidence import Alert, Evidence, Fact
    from layline.gap.model import Gap
    from layline.git import Repository
    from layline.workspace.open import Workspace

SCHEMA = "layline.evidence/1"


def gap_report(
    workspace: Workspace,
    keys: tuple[str, ...],
    *,
    to: str | None = None,
    today: date,
    take_over: bool = False,
    patches: bool = True,
    progress: Progress = silent,
) -> Answer:
    """Write the report of every backend named; nothing is written if one of them cannot be measured."""
    if not keys:
        raise ConfigError("No backend is configured.", hint="`layline init` looks for them.")
    wanted = Wanted(to=to, today=today, take_over=take_over, patches=patches)
    workspace = know_packages(workspace)
    made = [make_report(workspace, key, wanted, progress) for key in keys]
    written = {one.places.id: write_gap(one.places, one.texts, one.record, one.evidence) for one in made}
    return _build_answer(workspace, made, written, today)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One report ready to be written, and what the answer says about it."""

    key: str
    label: str
    places: Places
    texts: tuple[str, str]
    record: dict[str, Any]
    evidence: str
    alerts: tuple[Alert, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How reports are asked for."""

    to: str | None
    today: date
    take_over: bool
    patches: bool
    """Ask the patch explorer what became of every patch."""


def make_report(workspace: Workspace, key: str, wanted: Wanted, progress: Progress = silent) -> Made:
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
        gap = measure_between(workspace, upstream, key, ends, Options(patches=wanted.patches), progress)
        texts, record, evidence = build_texts(workspace, gap, places, wanted.today, before)
        found = {
            "texts": texts,
            "record": record,
            "evidence": render_evidence(evidence),
            "tip_date": gap.tip.commit.date,
            "relation": gap.distance.relation.value,
        }
        results.store(name, found)
    alerts = find_alerts(found["tip_date"], Relation(found["relation"]), ends.ref, wanted.today)
    label = workspace.label(key)
    return Made(
        key=key,
        label=label,
        places=places,
        texts=tuple(found["texts"]),
        record=found["record"],
        evidence=found["evidence"],
        alerts=tuple(alerts),
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
    workspace: Workspace, gap: Gap, places: Places, day: date, before: Before | None = None
) -> tuple[tuple[str, str], dict[str, Any], dict[str, Any]]:
    """Report and summary as Markdown, the record and the evidence as plain data: a pure function of the gap."""
    where = places.evidence.relative_to(workspace.root).as_posix()
    texts = (
        render_markdown(build_report(gap, day=day, evidence_path=where, before=before)),
        render_markdown(build_summary(gap, day=day)),
    )
    record = encode_record(build_record(gap, id_=places.id, day=day, artifacts=places.artifacts))
    return texts, record, build_evidence(gap, places.id, day, before)


def find_before(places: Places, today: date) -> Before | None:
    """What the last report of the same comparison said; a report written again on its day keeps what it compared
    with.
    """
    record = places.existing
    if record is None or record.generated_at > today.isoformat():
        return None
    if record.generated_at == today.isoformat():
        return read_before(places.evidence)
    return Before(
        date=record.generated_at,
        behind=record.stats.commit_gap,
        pin=record.local.commit,
        tip=record.upstream.commit,
    )


def read_before(evidence: Path) -> Before | None:
    """What a report was compared with, as its evidence file keeps it."""
    try:
        plain = json.loads(evidence.read_text(encoding="utf-8")).get("before")
        return Before(**plain) if isinstance(plain, dict) else None
    except (OSError, ValueError, AttributeError, TypeError):
        return None


def build_evidence(gap: Gap, id_: str, day: date, before: Before | None = None) -> dict[str, Any]:
    """Every fact with its evidence; repositories and commits are named once and referred to by number."""
    commits: dict[tuple[str, str], int] = {}
    facts = [encode_fact(fact, commits) for fact in find_facts(gap)]
    return {
        "schema": SCHEMA,
        "record": id_,
        "backend": gap.key,
        "date": day.isoformat(),
        "ref": gap.ref,
        "before": asdict(before) if before is not None else None,
        "patches": gap.patches is not None,
        "downstream_commit": gap.downstream_commit.hash,
        "pin": gap.pin.commit.hash,
        "tip": gap.tip.commit.hash,
        "commits": [{"repo": repo, "commit": commit} for repo, commit in commits],
        "facts": facts,
        "skipped": encode_skipped(gap.skipped),
    }


def render_evidence(evidence: dict[str, Any]) -> str:
    """JSON with one line per fact: it compares well in a diff, and is quick to write."""
    head = {key: value for key, value in evidence.items() if key not in {"facts", "skipped"}}
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    for name in ("facts", "skipped"):
        rows = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in evidence[name])
        lines.append(f'"{name}": [\n{rows}\n]' + ("," if name == "facts" else ""))
    return "{\n" + "\n".join(lines) + "\n}\n"


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


def _build_answer(workspace: Workspace, made: list[Made], written: dict[str, list[Path]], today: date) -> Answer:
    sections, reports = [], []
    for one in made:
        changed = set(written[one.places.id])
        items = tuple(
            (Cell(_relative(workspace, path), code=True), "" if path in changed else " (unchanged)")
            for path in one.places.all
        )
        summary = one.record["dashboard_summary"]
        lines = (summary["headline"], f"Recommendation: {summary['recommendation']}.", *summary["why_it_matters"])
        sections.append(Section(title=one.label, blocks=(Bullets(lines), Paragraph("Files:"), Bullets(items))))
        found = [f"{_relative(workspace, path)}: {reason}" for path, reason in find_problems(one.places)]
        told = f"Checked after writing: {len(found)} problems." if found else "Checked after writing: no problem."
        sections[-1] = replace(
            sections[-1], blocks=(*sections[-1].blocks, Paragraph(told), *([Bullets(tuple(found))] if found else []))
        )
        files = [{"path": _relative(workspace, path), "changed": path in changed} for path in one.places.all]
        reports.append(
            {"backend": one.key, "id": one.places.id, "files": files, "problems": found, "record": one.record}
        )
    alerts = tuple(alert for one in made for alert in one.alerts)
    report = Report(title="Gap reports", sections=tuple(sections), alerts=alerts)
    return Answer(report=report, data={"schema": "layline.gap-report/1", "date": today.isoformat(), "reports": reports})


def find_problems(places: Places) -> Iterator[tuple[Path, str]]:
    """Yields what a reader's tools would stumble over in the files as they stand on disk now."""
    for path in (places.report, places.summary):
        text = path.read_text(encoding="utf-8")
        yield from ((path, reason) for reason in find_markdown_problems(text))
        article = render_article(text)
        yield from (
            (path, f"as a page: {reason}")
            for reason in read_page(f"<!DOCTYPE html><main>{article.html}</main>").problems
        )
        yield from ((path, f"as a page: a link to {link} leads nowhere") for link in article.dead_links)
    for path in (places.record, places.evidence):
        try:
            plain = parse_json(path.read_bytes(), where=path.name)
        except RecordError as error:
            yield from ((path, reason) for reason in error.problems)
            continue
        record = read_gap_record(plain) if path == places.record else None
        yield from ((path, str(problem)) for problem in (record if isinstance(record, tuple) else ()))


def _relative(workspace: Workspace, path: Path) -> str:
    return path.relative_to(workspace.root).as_posix()
