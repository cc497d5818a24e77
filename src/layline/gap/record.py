"""The dashboard record of a gap, from the same sentences as the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.records import (
    Artifact,
    BackendName,
    GapRecord,
    Integration,
    LocalSide,
    RecordStatus,
    Stats,
    Summary,
    UpstreamSide,
)
from layline.gap import need_statements, statements
from layline.gap.cells import plain_text
from layline.gap.report import title_of

if TYPE_CHECKING:
    from datetime import date

    from layline.gap.model import Gap


def build_record(gap: Gap, *, id_: str, day: date, artifacts: tuple[Artifact, ...]) -> GapRecord:
    """The record; its figures are the report's, its sentences are ranked."""
    return GapRecord(
        id=id_,
        title=title_of(gap),
        backend=BackendName(key=gap.key, label=gap.label),
        generated_at=day.isoformat(),
        status=RecordStatus.VERIFIED,
        scope=f"{gap.label} as {gap.project} pins it at {gap.downstream_commit.hash[:12]}, against {gap.ref} of "
        f"{gap.upstream}.",
        local=LocalSide(
            source_path=gap.source_path or gap.key,
            version=gap.pin.version.text if gap.pin.version else None,
            commit=gap.pin.commit.hash,
            commit_date=gap.pin.commit.date,
        ),
        upstream=UpstreamSide(
            repo=gap.upstream,
            ref=gap.ref,
            version=gap.tip.version.text if gap.tip.version else None,
            commit=gap.tip.commit.hash,
            commit_date=gap.tip.commit.date,
        ),
        stats=Stats(
            commit_gap=gap.distance.behind,
            diff_files=len(gap.diff.files),
            insertions=gap.diff.insertions,
            deletions=gap.diff.deletions,
        ),
        integration=_integration(gap),
        highlights=tuple(list(statements.find_reasons(gap))[:4]),
        dashboard_summary=Summary(
            headline=plain_text(statements.headline(gap)),
            recommendation=str(gap.recommendation),
            why_it_matters=tuple(list(statements.find_reasons(gap))[:5]),
            feature_deltas=statements.feature_deltas(gap),
            dependency_deltas=need_statements.dependency_deltas(gap),
            integration_risks=statements.integration_risks(gap),
        ),
        artifacts=artifacts,
    )


def default_artifacts(key: str, slug: str) -> tuple[Artifact, ...]:
    folder = f"./reports/{key}/{slug}"
    return (
        Artifact(
            label="Detailed Report (PDF)", path=f"{folder}/report.pdf", language="en", kind="detail", primary=True
        ),
        Artifact(
            label="One-Page Summary (PDF)", path=f"{folder}/summary.pdf", language="en", kind="summary", primary=False
        ),
    )


def _integration(gap: Gap) -> Integration | None:
    if not gap.footprint.folders:
        return None
    return Integration(
        backend_files=gap.footprint.non_empty,
        tracked_files=gap.footprint.tracked,
        integration_model=f"{gap.source_path or gap.key} + {', '.join(gap.footprint.folders)}",
    )
