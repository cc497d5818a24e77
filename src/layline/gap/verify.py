"""Recomputes every fact of a report from git; what changed, is gone or cannot be reached is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.progress import Progress
from layline.core.prose import count, verb
from layline.core.remarks import without_remarks
from layline.core.report import Answer, Cell, Paragraph, Report, Section, Table
from layline.errors import Error, GitError, RecordError, say_error
from layline.files import name_path
from layline.gap.endpoints import Endpoints, find_endpoints
from layline.gap.evidence import SCHEMA, read_before
from layline.gap.files import compose, evidence_path, find_places
from layline.gap.measure import Handed, measure_between
from layline.gap.written import build_texts
from layline.workspace.kept import name_program
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.gap import answers
    from layline.workspace.open import Workspace


MOST_ROWS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that no longer holds."""

    what: str
    verdict: str
    """changed, gone, new, unreachable or edited."""
    was: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    path: str
    facts: int
    findings: tuple[Finding, ...]
    made_by: str = ""
    """Who wrote the record; empty: a version that did not say so."""


def verify(workspace: Workspace, path: Path, handed: Handed, progress: Progress) -> Verified:
    record, evidence_file = _load(path), evidence_path(path)
    if not evidence_file.exists():
        raise Error(f"{path} has no evidence file.", hint="`layline gap audit` checks records made by others.")
    evidence = _load(evidence_file)
    if evidence.get("schema") != SCHEMA:
        raise RecordError(str(evidence_file), (f"schema is {evidence.get('schema')!r}, not {SCHEMA!r}",))
    shown = str(path.relative_to(workspace.root)) if path.is_relative_to(workspace.root) else str(path)
    facts = {fact["name"]: fact["value"] for fact in evidence["facts"]}
    try:
        now = _recompute(workspace, evidence, handed, progress)
    except GitError as error:
        finding = Finding(
            what=f"all {len(facts)} facts", verdict="unreachable", was="", now=f"{error.message} {error.hint or ''}"
        )
        return Verified(path=shown, facts=len(facts), findings=(finding,))
    findings = [*compare_facts(facts, now.values), *_compare_files(now, path, record)]
    made_by = str(evidence.get("made_by", ""))
    return Verified(path=shown, facts=len(facts), findings=tuple(findings), made_by=made_by)


def _recompute(workspace: Workspace, evidence: dict[str, Any], handed: Handed, progress: Progress) -> _Now:
    """The same downstream commit, pin and tip, read again; the pin is read where the downstream writes it."""
    key = str(evidence["backend"])
    at = know_packages(replace(workspace, commit=workspace.downstream.resolve(str(evidence["downstream_commit"]))))
    upstream = at.open_backend(key)
    ends: Endpoints = find_endpoints(at, upstream, key, to=str(evidence["tip"]))
    gap = measure_between(
        at,
        upstream,
        key,
        replace(ends, ref=str(evidence["ref"])),
        handed.read_patches if evidence.get("patches") is True else None,
        progress,
    )
    places = find_places(at.root / at.settings.project.docs, key, gap.slug)
    texts, record, recomputed = build_texts(
        at, gap, places, date.fromisoformat(str(evidence["date"])), read_before(places.evidence), handed.render
    )
    values = {fact["name"]: fact["value"] for fact in recomputed["facts"]}
    return _Now(values, texts, record, (places.report, places.summary))


@dataclass(frozen=True, slots=True)
class _Now:
    values: dict[str, Any]
    texts: tuple[str, str]
    record: dict[str, Any]
    files: tuple[Path, Path]


def compare_facts(was: dict[str, Any], now: dict[str, Any]) -> list[Finding]:
    """Facts that changed, are gone, or are new."""
    found: list[Finding] = []
    for name in was.keys() | now.keys():
        if name not in now:
            found.append(Finding(what=name, verdict="gone", was=_show(was[name]), now="—"))
        elif name not in was:
            found.append(Finding(what=name, verdict="new", was="—", now=_show(now[name])))
        elif was[name] != now[name]:
            found.append(Finding(what=name, verdict="changed", was=_show(was[name]), now=_show(now[name])))
    return sorted(found, key=lambda finding: finding.what)


def _compare_files(now: _Now, path: Path, record: dict[str, Any]) -> list[Finding]:
    """The record and both texts must be what the facts say; remarks are the reader's own."""
    was, is_ = dict(_flatten(record)), dict(_flatten(now.record))
    found = [
        Finding(
            what=f"{path.name}: {field}",
            verdict="edited",
            was=_show(was.get(field, "—")),
            now=_show(is_.get(field, "—")),
        )
        for field in dict.fromkeys((*is_, *was))
        if was.get(field) != is_.get(field)
    ]
    for place, text in zip(now.files, now.texts, strict=True):
        if not place.exists():
            found.append(Finding(what=str(place.name), verdict="gone", was="", now="the file is missing"))
        elif without_remarks(was_text := place.read_text(encoding="utf-8")) != without_remarks(compose(text, was_text)):
            found.append(
                Finding(
                    what=str(place.name),
                    verdict="edited",
                    was="",
                    now="not what Layline writes today: edited by hand, or layline.toml has changed since",
                )
            )
    return found


def _load(path: Path) -> dict[str, Any]:
    try:
        plain = codec.parse_json(path.read_bytes(), where=str(path))
    except OSError as error:
        hint = "Name the JSON of a report; without one, all reports of the project are verified."
        raise Error(f"{name_path(path)} cannot be read: {say_error(error)}.", hint=hint) from None
    if not isinstance(plain, dict):
        raise RecordError(str(path), ("is not an object",))
    return plain


def _flatten(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """`stats.commit_gap` → 854: the fields of a record at their full depth; lists stay whole."""
    if isinstance(value, dict) and (value or not name):
        for key, inner in value.items():
            yield from _flatten(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _show(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"


def _say_maker(one: Verified) -> str:
    """Another program may say other things of the same commits."""
    if one.made_by == name_program():
        return ""
    return (
        f" The record was made by another version of Layline ({one.made_by or 'not named'}; this is {name_program()}), and "
        "that alone may explain the differences: write the report again to find out."
    )


def build_answer(verified: list[Verified]) -> Answer:
    sections = []
    for one in verified:
        if one.findings:
            rows = tuple(
                (Cell(item.what, code=True), item.verdict, item.was, item.now) for item in one.findings[:MOST_ROWS]
            )
            table = Table(
                columns=("fact", "verdict", "was", "now"),
                rows=rows,
                more=max(0, len(one.findings) - MOST_ROWS),
                more_where="--format json",
            )
            text = (
                f"{count(one.facts, 'fact')} computed again from the same commits: {len(one.findings)} "
                f"{verb(len(one.findings), 'differs')}.{_say_maker(one)}"
            )
            sections.append(Section(title=one.path, blocks=(Paragraph(text), table)))
        else:
            sections.append(
                Section(
                    title=one.path,
                    blocks=(
                        Paragraph(f"{count(one.facts, 'fact')} computed again from the same commits: nothing differs."),
                    ),
                )
            )
    data: answers.Verified = {
        "schema": "layline.verify/1",
        "records": [
            {
                "path": one.path,
                "facts": one.facts,
                "findings": [
                    {"what": item.what, "verdict": item.verdict, "was": item.was, "now": item.now}
                    for item in one.findings
                ],
            }
            for one in verified
        ],
    }
    needs = any(one.findings for one in verified)
    return Answer(report=Report(title="Verification", sections=tuple(sections)), data=data, needs_person=needs)
