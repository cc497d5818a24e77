"""Audits a gap record, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from layline.gap.audit.claims import check_sentence
from layline.gap.audit.ground import holds_code
from layline.gap.audit.model import AuditedField, attempt, check, check_any, check_hash, leave
from layline.gap.overview import measure_footprint
from layline.history.commits import say_count

if TYPE_CHECKING:
    from layline.core.records import GapRecord
    from layline.core.revision import Commit
    from layline.gap.audit.ground import MeasuredPair


def audit_gap_record(record: GapRecord, ground: MeasuredPair) -> Iterator[AuditedField]:
    yield from _audit_sides(record, ground)
    yield from _audit_stats(record, ground)
    yield from _audit_footprint(record, ground)
    yield from _audit_sentences(record, ground)


def _audit_sides(record: GapRecord, ground: MeasuredPair) -> Iterator[AuditedField]:
    local, upstream = record.local, record.upstream
    yield attempt(_check_submodule, "local.commit", local.commit, local.source_path, ground)
    yield check_hash("upstream.commit", upstream.commit, ground.tip, f"git rev-parse {upstream.commit}")
    yield attempt(_check_ref, "upstream.ref", upstream.ref, ground)
    for place, side, at_tip in (("local", local, False), ("upstream", upstream, True)):
        if side.commit_date is not None:
            yield attempt(_check_date, f"{place}.commit_date", side.commit_date, ground, at_tip)
    for place, side, at_tip in (("local", local, False), ("upstream", upstream, True)):
        if side.version is not None:
            yield attempt(_check_version, f"{place}.version", side.version, ground, at_tip)


def _check_submodule(field: str, published: str, path: str, ground: MeasuredPair) -> AuditedField:
    entry = ground.downstream.read_entry(ground.downstream_commit, path)
    if entry is None or not entry.is_gitlink:
        return leave(field, published, f"no submodule at {path} in {ground.downstream_commit[:12]}")
    return check_hash(field, published, entry.oid, f"git ls-tree {ground.downstream_commit} -- {path}")


def _check_ref(field: str, published: str, ground: MeasuredPair) -> AuditedField:
    ref = published.removeprefix("origin/")
    head = ground.upstream.resolve(ref)
    base = ground.upstream.git("merge-base", ground.tip, head).decode("ascii").strip()
    computed = published if base == ground.tip else f"{ground.tip[:12]} is not on {ref}"
    return check(field, published, computed, f"git merge-base --is-ancestor {ground.tip} {ref}")


def _check_date(field: str, published: str, ground: MeasuredPair, at_tip: bool) -> AuditedField:
    commit = ground.commits[at_tip]
    return check_any(field, published, date_readings(commit), f"git log -1 --format='%ci %ai' {commit.hash}")


def _check_version(field: str, published: str, ground: MeasuredPair, at_tip: bool) -> AuditedField:
    version = ground.versions[at_tip]
    if version is None:
        return leave(field, published, "no file that Layline knows declares a version")
    return check(field, published, version.text, str(version.evidence))


def _audit_stats(record: GapRecord, ground: MeasuredPair) -> Iterator[AuditedField]:
    stats = record.stats
    yield attempt(_check_gap, "stats.commit_gap", stats.commit_gap, ground)
    for name in ("diff_files", "insertions", "deletions"):
        published = getattr(stats, name)
        if published is not None:
            yield attempt(_check_diff, f"stats.{name}", published, name, ground)


def _check_gap(field: str, published: int, ground: MeasuredPair) -> AuditedField:
    return check(field, published, ground.distance.behind, say_count(ground.pin, ground.tip))


def _check_diff(field: str, published: int, name: str, ground: MeasuredPair) -> AuditedField:
    computed = len(ground.diff.files) if name == "diff_files" else getattr(ground.diff, name)
    return check(field, published, computed, ground.shortstat())


def _audit_footprint(record: GapRecord, ground: MeasuredPair) -> Iterator[AuditedField]:
    told = record.integration
    if told is None:
        return
    if told.backend_files is not None:
        yield attempt(_check_footprint, "integration.backend_files", told.backend_files, ground)
    if told.tracked_files is not None:
        word = record.backend.key.lower()
        yield attempt(_check_footprint, "integration.tracked_files", told.tracked_files, ground, word)
    if told.integration_model is not None:
        yield leave("integration.integration_model", told.integration_model, "a description, not a figure")


def _check_footprint(field: str, published: int, ground: MeasuredPair, word: str | None = None) -> AuditedField:
    """A count of files below the integration folders, or, with a word, of paths of the whole tree that name it."""
    foot = measure_footprint(ground.downstream, ground.downstream_commit, ground.backend, "")
    if not foot.folders:
        return leave(field, published, "no integration folder is configured")
    if not foot.tracked:
        why = "has none of the integration folders"
        empty = why if holds_code(ground.downstream, ground.downstream_commit) else "contains no code"
        return leave(field, published, f"{ground.downstream_commit[:12]} {empty}")
    readings: dict[str, Any] = {"tracked": foot.tracked, "non-empty": foot.non_empty, "Python": foot.python}
    if word is not None:
        named = sum(1 for entry in ground.downstream.read_tree(ground.downstream_commit) if word in entry.path.lower())
        readings[f"paths of the whole tree that name {word}"] = named
    command = f"git ls-tree -r -l {ground.downstream_commit} -- {' '.join(foot.folders)}"
    return check_any(field, published, readings, command)


def _audit_sentences(record: GapRecord, ground: MeasuredPair) -> Iterator[AuditedField]:
    for index, text in enumerate(record.highlights):
        yield check_sentence(f"highlights[{index}]", text, ground)
    summary = record.dashboard_summary
    if summary is None:
        return
    yield check_sentence("dashboard_summary.headline", summary.headline, ground)
    yield leave(
        "dashboard_summary.recommendation",
        summary.recommendation,
        "a judgement; the policy that gave it is not in the record",
    )
    for name in ("why_it_matters", "feature_deltas", "dependency_deltas", "integration_risks"):
        for index, text in enumerate(getattr(summary, name)):
            yield check_sentence(f"dashboard_summary.{name}[{index}]", text, ground)


def date_readings(commit: Commit) -> dict[str, Any]:
    """The ways people read a commit's date."""
    committed = datetime.fromisoformat(commit.committed)
    return {
        "committer's own zone": commit.date,
        "UTC": committed.astimezone(UTC).date().isoformat(),
        "author date": commit.authored[:10],
    }
