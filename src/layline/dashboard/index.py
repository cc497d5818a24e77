"""The generated indexes: current state, never sums over the archive; the newest record's date, never the clock's.

`build_gap_index`, `build_cadence_index` and `build_combined_index` give plain data in the published shape with two
additions: `schema`, and in the combined index `targets` (what every source says about a target, newest first) and
`contradictions`. Records are passed on exactly as they stand in their files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from layline.core.period import Cadence
from layline.core.records import GapRecord, PeriodicRecord, recommendation_label
from layline.workspace.records import Loaded, Records

if TYPE_CHECKING:
    from layline.dashboard import answers


def build_gap_index(records: Records) -> answers.GapIndex:
    """`docs/backend-gap/dashboard-data/index.json`."""
    reports = sorted(records.gap, key=lambda item: (item.record.backend.label.lower(), item.record.id))
    reports.sort(key=lambda item: item.record.date, reverse=True)
    newest = reports[0].record.generated_at if reports else None
    labels = {item.record.backend.key: item.record.backend.label for item in reversed(reports)}
    counts = Counter(item.record.backend.key for item in reports)
    return {
        "schema": "layline.gap-index/1",
        "generated_at": newest,
        "summary": {
            "total_reports": len(reports),
            "verified_reports": sum(item.record.status == "verified" for item in reports),
            "total_backends": len(counts),
            "latest_report_date": newest,
        },
        "backends": [
            {"key": key, "label": labels[key], "count": counts[key]}
            for key in sorted(counts, key=lambda key: (labels[key].lower(), key))
        ],
        "reports": [dict(item.plain) for item in reports],
    }


def build_cadence_index(records: Records, cadence: Cadence) -> answers.CadenceIndex:
    """`docs/weekly_reports/dashboard-data/index.json` and its monthly sister."""
    reports = records.of(cadence)
    return {
        "schema": "layline.cadence-index/1",
        "generated_at": reports[0].record.generated_at if reports else None,
        "cadence": cadence.value,
        "summary": {"total_reports": len(reports), **_summarise(reports)},
        "reports": [_tag(item) for item in reports],
    }


def build_combined_index(records: Records) -> answers.ReportsIndex:
    """`reports-data/index.json`: both cadences, newest first."""
    reports = records.periodic
    latest = reports[0].record if reports else None
    return {
        "schema": "layline.reports-index/1",
        "generated_at": latest.generated_at if latest else None,
        "summary": {
            "total_reports": len(reports),
            "cadence_counts": {cadence.value: len(records.of(cadence)) for cadence in Cadence},
            "latest_cadence": latest.cadence.value if latest else None,
            **_summarise(reports),
        },
        "targets": find_claims(records),
        "contradictions": list(find_contradictions(records)),
        "reports": [_tag(item) for item in reports],
    }


def find_claims(records: Records) -> dict[str, list[answers.Claim]]:
    """Target → what each source says about its distance, newest first; the first one is the current state."""
    claims: dict[str, list[answers.Claim]] = {}
    for item in records.periodic:
        for key, status in item.record.statuses.items():
            claims.setdefault(key, []).append(
                _claim(item.record.report_id, item.record.generated_at, status, item.record.recommendations.get(key))
            )
    for gap in records.gap:
        claims.setdefault(gap.record.backend.key, []).append(_gap_claim(gap.record))
    # periodic records come in true order; of the same day, the report that says when, to the minute, is the newer one
    return {
        key: sorted(found, key=lambda claim: (claim["date"][:10], claim["kind"] == "periodic"), reverse=True)
        for key, found in sorted(claims.items())
    }


def find_contradictions(records: Records) -> Iterator[answers.Contradiction]:
    """Yields what sources disagree about, each claim with its source and date, newest first."""
    for key, claims in find_claims(records).items():
        newest = _newest_per_kind(claims)
        if len({claim["commit_gap"] for claim in newest}) > 1:
            yield {"about": f"{key}.commit_gap", "claims": [_pick(claim, "commit_gap") for claim in newest]}
        if len({recommendation_label(claim["recommendation"]) for claim in newest}) > 1:
            yield {"about": f"{key}.recommendation", "claims": [_pick(claim, "recommendation") for claim in newest]}
    for item in records.periodic:
        yield from _find_inner_contradictions(item.record)


def _summarise(reports: Sequence[Loaded[PeriodicRecord]]) -> answers.PeriodicSummary:
    latest = reports[0].record if reports else None
    current = find_current_recommendations(item.record for item in reports)
    counts = Counter(recommendation_label(text) for text in current.values())
    return {
        "latest_report_id": latest.report_id if latest else None,
        "latest_generated_at": latest.generated_at if latest else None,
        "latest_merged_pr_count": latest.merged_pr_count if latest else 0,
        "tracked_drift_targets": sorted(current),
        "recommendation_counts": {label: counts[label] for label in sorted(label for label in counts if label)},
    }


def find_current_recommendations(newest_first: Iterable[PeriodicRecord]) -> dict[str, str]:
    """Target → what the newest report that names it recommends."""
    current: dict[str, str] = {}
    for record in newest_first:
        for key, text in record.recommendations.items():
            current.setdefault(key, text)
    return current


def _tag(item: Loaded[PeriodicRecord]) -> dict[str, Any]:
    return {**item.plain, "cadence": item.record.cadence.value}


def _claim(source: str, date: str, status: Mapping[str, Any], recommendation: str | None) -> answers.Claim:
    return {
        "source": source,
        "kind": "periodic",
        "date": date,
        "commit_gap": status.get("commit_gap"),
        "pin_commit": status.get("pin_commit"),
        "upstream_head": status.get("upstream_head"),
        "recommendation": status.get("recommendation") or recommendation,
    }


def _gap_claim(record: GapRecord) -> answers.Claim:
    summary = record.dashboard_summary
    return {
        "source": record.id,
        "kind": "gap",
        "date": record.generated_at,
        "commit_gap": record.stats.commit_gap,
        "pin_commit": record.local.commit,
        "upstream_head": record.upstream.commit,
        "recommendation": summary.recommendation if summary else None,
    }


def _newest_per_kind(claims: list[answers.Claim]) -> list[answers.Claim]:
    """The newest measured claim of each kind: an older report of the same series is history, not a contradiction."""
    found: dict[str, answers.Claim] = {}
    for claim in claims:
        if claim["commit_gap"] is not None and claim["recommendation"] is not None:
            found.setdefault(claim["kind"], claim)
    return list(found.values())


def _pick(claim: answers.Claim, field: Literal["commit_gap", "recommendation"]) -> answers.Contradicted:
    return {"value": claim[field], "source": claim["source"], "date": claim["date"]}


def _find_inner_contradictions(record: PeriodicRecord) -> Iterator[answers.Contradiction]:
    def claim(value: Any, place: str) -> answers.Contradicted:
        return {"value": value, "source": f"{record.report_id}: {place}", "date": record.generated_at}

    total = sum(record.category_breakdown.values())
    if record.category_breakdown and total != record.merged_pr_count:
        claims = [claim(record.merged_pr_count, "merged_pr_count"), claim(total, "the sum of category_breakdown")]
        yield {"about": f"{record.report_id}.merged_pr_count", "claims": claims}
    for key, text in record.recommendations.items():
        own = record.statuses.get(key, {}).get("recommendation")
        if own is not None and own != text:
            claims = [claim(text, f"recommendations.{key}"), claim(own, f"{key}_status.recommendation")]
            yield {"about": f"{record.report_id}.{key}.recommendation", "claims": claims}
