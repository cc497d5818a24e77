"""Audits a published Markdown report: dependencies in its tables and paths in its bullets, absent, added or bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.gap.audit.added_paths import check_added_path, find_added_paths
from layline.gap.audit.model import AuditedField, AuditVerdict, attempt
from layline.gap.dependencies.model import canonical_name
from layline.history.commits import read_log
from layline.source.tree import Tree

if TYPE_CHECKING:
    from layline.core.records import GapRecord
    from layline.gap.audit.ground import MeasuredPair
    from layline.gap.dependencies import Declaration

_NAME = re.compile(r"`([A-Za-z0-9][\w.-]*)`\s*\Z")
_BOUND = re.compile(r"`((?:[<>=~!]=?|===)\s*[\w.*+]+)`")


def audit_report_text(record: GapRecord, ground: MeasuredPair, line: str, docs: str) -> Iterator[AuditedField]:
    """Tables headed `Dependency` and bullets that begin with `Added` of the record's Markdown, as the downstream
    published it after the record's day.
    """
    for artifact in record.artifacts:
        path = f"{docs}/backend-gap/{artifact.source}"
        text = _find_text(record, ground, line, path)
        source = artifact.source.rpartition("/")[2]
        for row in _find_rows(text) if text else ():
            yield from _audit_row(source, row, ground)
        for number, line_ in enumerate(text.splitlines() if text else (), 1):
            for path in find_added_paths(line_) if line_.lstrip().startswith(("- ", "* ")) else ():
                yield attempt(check_added_path, f"{source}:{number}: {path} added", path, ground)


def _find_text(record: GapRecord, ground: MeasuredPair, line: str, path: str) -> str | None:
    """The first version of the file that was committed on the record's day or later."""
    commits = [
        commit
        for commit in read_log(ground.downstream, None, line, paths=(path,))
        if commit.date >= record.generated_at
    ]
    for commit in reversed(commits):
        text = Tree(ground.downstream, commit.hash).read_text(path)
        if not isinstance(text, Skipped):
            return text
    return None


def _find_rows(text: str) -> Iterator[tuple[str, str, str]]:
    inside = False
    for row in text.splitlines():
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")] if row.lstrip().startswith("|") else []
        if len(cells) < 3:
            inside = False
        elif cells[0].lower() in {"dependency", "package", "requirement"}:
            inside = True
        elif inside and not set(cells[0]) <= set("-: ") and (name := _NAME.match(cells[0])):
            yield name.group(1), cells[1], cells[2]


def _audit_row(source: str, row: tuple[str, str, str], ground: MeasuredPair) -> Iterator[AuditedField]:
    name, was, now = row
    known = canonical_name(name)
    before, after = ground.declared(known, at_tip=False), ground.declared(known, at_tip=True)
    if was.lower().startswith(("not present", "none", "absent")):
        yield _told(f"{source}: {name} at the pin", was, before, ground, right=not before)
    for side, text, items in (("pin", was, before), ("tip", now, after)):
        for bound in _BOUND.findall(text):
            right = any(bound.replace(" ", "") in item.spec for item in items)
            yield _told(f"{source}: {name} at the {side}", bound, items, ground, right=right)
    if re.match(r"added\b", now, re.IGNORECASE):
        yield _told(f"{source}: {name} added", now, before or after, ground, right=bool(after) and not before)


def _told(field: str, published: str, items: list[Declaration], ground: MeasuredPair, *, right: bool) -> AuditedField:
    places = list(ground.places(items))
    verdict = AuditVerdict.CONFIRMED if right else AuditVerdict.CONTRADICTED
    computed = "; ".join(places[:3]) or "not declared"
    return AuditedField(
        field=field, published=published, computed=computed, verdict=verdict, evidence="; ".join(places[:3])
    )
