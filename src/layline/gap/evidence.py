"""Every fact of a gap report with where it was read, as the file beside the record keeps it."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from layline.core.evidence import encode_skipped
from layline.gap.facts import find_facts
from layline.gap.files import Places
from layline.gap.short import Before
from layline.workspace.kept import name_program

if TYPE_CHECKING:
    from layline.core.evidence import Evidence, Fact
    from layline.gap import answers
    from layline.gap.model import Gap


SCHEMA: Literal["layline.evidence/1"] = "layline.evidence/1"


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
        places=_count_broken(places.evidence, record.upstream.commit),
    )


def _count_broken(evidence: Path, tip: str) -> int | None:
    """Places that broke, as an evidence file about that tip tells; None where there is none."""
    try:
        plain = json.loads(evidence.read_text(encoding="utf-8"))
        if not str(plain["tip"]).startswith(tip[:12]):
            return None
        values = [(fact, fact["value"]) for fact in plain["facts"] if isinstance(fact["value"], dict)]
        broken = [
            fact["evidence"][0]
            for fact, value in values
            if value.get("consequence") == "will break" or value.get("severity") == "breaks"
        ]
        return len({(place["path"], place["lines"][0]) for place in broken})
    except (OSError, ValueError, LookupError, TypeError):
        return None


def read_before(evidence: Path) -> Before | None:
    """What a report was compared with, as its evidence file keeps it."""
    try:
        plain = json.loads(evidence.read_text(encoding="utf-8")).get("before")
        return Before(**plain) if isinstance(plain, dict) else None
    except (OSError, ValueError, AttributeError, TypeError):
        return None


def build_evidence(gap: Gap, id_: str, day: date, before: Before | None = None) -> answers.EvidenceFile:
    """Every fact with its evidence; repositories and commits are named once and referred to by number."""
    commits: dict[tuple[str, str], int] = {}
    facts = [encode_fact(fact, commits) for fact in find_facts(gap)]
    return {
        "schema": SCHEMA,
        "record": id_,
        "made_by": name_program(),
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


def render_evidence(evidence: answers.EvidenceFile) -> str:
    """JSON with one line per fact: it compares well in a diff, and is quick to write."""
    head = {key: value for key, value in evidence.items() if key not in {"facts", "skipped"}}
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    for name, listed in (("facts", evidence["facts"]), ("skipped", evidence["skipped"])):
        rows = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in listed)
        lines.append(f'"{name}": [\n{rows}\n]' + ("," if name == "facts" else ""))
    return "{\n" + "\n".join(lines) + "\n}\n"


def encode_fact(fact: Fact[Any], commits: dict[tuple[str, str], int]) -> answers.Fact:
    return {
        "name": fact.name,
        "value": fact.value,
        "evidence": [_encode_place(item, commits) for item in fact.evidence],
    }


def _encode_place(evidence: Evidence, commits: dict[tuple[str, str], int]) -> answers.FactPlace:
    place: answers.FactPlace = {"at": commits.setdefault((evidence.repo, evidence.commit), len(commits))}
    if evidence.path is not None:
        place["path"] = evidence.path
    if evidence.lines is not None:
        place["lines"] = list(evidence.lines)
    if evidence.command is not None:
        place["command"] = evidence.command
    return place
