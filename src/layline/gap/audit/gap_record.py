"""Audits a gap record, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from layline.errors import GitError
from layline.gap.audit.claims import check_sentence
from layline.gap.audit.model import AuditedField, check, check_any, check_hash, leave
from layline.gap.overview import measure_footprint

if TYPE_CHECKING:
    from layline.core.records import GapRecord
    from layline.core.revision import Commit
    from layline.gap.audit.ground import Ground


def audit_gap_record(record: GapRecord, ground: Ground) -> Iterator[AuditedField]:
    yield from _audit_sides(record, ground)
    yield from _audit_stats(record, ground)
    yield from _audit_footprint(record, ground)
    yield from _audit_sentences(record, ground)


def _audit_sides(record: GapRecord, ground: Ground) -> Iterator[AuditedField]:
    pin, tip = ground.commits
    path = record.local.source_path
    entry = ground.downstream.read_entry(ground.downstream_commit, path)
    if entry is not None and entry.is_gitlink:
        command = f"git ls-tree {ground.downstream_commit} -- {path}"
        yield check_hash("local.commit", record.local.commit, entry.oid, command)
    else:
        yield leave("local.commit", record.local.commit, f"no submodule at {path} in {ground.downstream_commit[:12]}")
    yield check_hash("upstream.commit", record.upstream.commit, tip.hash, f"git rev-parse {record.upstream.commit}")
    yield _check_ref(record, ground)
    for field, published, commit in (
        ("local.commit_date", record.local.commit_date, pin), ("upstream.commit_date", record.upstream.commit_date, tip),
    ):  # fmt: skip
        if published is not None:
            yield check_any(field, published, date_readings(commit), f"git log -1 --format='%ci %ai' {commit.hash}")
    for field, published, version in zip(
        ("local.version", "upstream.version"),
        (record.local.version, record.upstream.version),
        ground.versions,
        strict=True,
    ):
        if published is None:
            continue
        if version is None:
            yield leave(field, published, "no file that we know declares a version")
        else:
            yield check(field, published, version.text, str(version.evidence))


def _check_ref(record: GapRecord, ground: Ground) -> AuditedField:
    ref = record.upstream.ref.removeprefix("origin/")
    try:
        head = ground.upstream.resolve(ref)
        base = ground.upstream.git("merge-base", ground.tip, head).decode("ascii").strip()
    except GitError as error:
        return leave("upstream.ref", record.upstream.ref, error.message)
    on_ref = base == ground.tip
    computed = record.upstream.ref if on_ref else f"{ground.tip[:12]} is not on {ref}"
    return check("upstream.ref", record.upstream.ref, computed, f"git merge-base --is-ancestor {ground.tip} {ref}")


def _audit_stats(record: GapRecord, ground: Ground) -> Iterator[AuditedField]:
    stats = record.stats
    yield check(
        "stats.commit_gap", stats.commit_gap, ground.distance.behind, f"git rev-list --count {ground.pin}..{ground.tip}"
    )
    computed = {
        "diff_files": len(ground.diff.files),
        "insertions": ground.diff.insertions,
        "deletions": ground.diff.deletions,
    }
    for name, value in computed.items():
        if getattr(stats, name) is not None:
            yield check(f"stats.{name}", getattr(stats, name), value, ground.shortstat())


def _audit_footprint(record: GapRecord, ground: Ground) -> Iterator[AuditedField]:
    if record.integration is None:
        return
    foot = measure_footprint(ground.downstream, ground.downstream_commit, ground.backend)
    if not foot.folders:
        yield leave("integration", record.integration.backend_files, "no integration folder is configured")
        return
    readings: dict[str, Any] = {"tracked": foot.tracked, "non-empty": foot.non_empty, "Python": foot.python}
    command = f"git ls-tree -r -l {ground.downstream_commit} -- {' '.join(foot.folders)}"
    if record.integration.backend_files is not None:
        yield check_any("integration.backend_files", record.integration.backend_files, readings, command)
    if record.integration.tracked_files is not None:
        word = record.backend.key.lower()
        named = sum(1 for entry in ground.downstream.read_tree(ground.downstream_commit) if word in entry.path.lower())
        readings[f"paths of the whole tree that name {word}"] = named
        yield check_any("integration.tracked_files", record.integration.tracked_files, readings, command)
    if record.integration.integration_model is not None:
        yield leave(
            "integration.integration_model", record.integration.integration_model, "a description, not a figure"
        )


def _audit_sentences(record: GapRecord, ground: Ground) -> Iterator[AuditedField]:
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
    from datetime import UTC, datetime

    committed = datetime.fromisoformat(commit.committed)
    return {
        "committer's own zone": commit.date,
        "UTC": committed.astimezone(UTC).date().isoformat(),
        "author date": commit.authored[:10],
    }
