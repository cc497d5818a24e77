"""The data files and badges of a site: what the pages show, for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.period import Cadence
from layline.dashboard.backend_status import Standing
from layline.dashboard.content import Content
from layline.dashboard.index import build_cadence_index, build_combined_index, build_gap_index
from layline.render.charts import badge, shields_endpoint

if TYPE_CHECKING:
    from layline.dashboard import answers

COLUMNS = (
    "backend",
    "date",
    "source",
    "kind",
    "behind",
    "pin",
    "pin_date",
    "tip",
    "tip_date",
    "recommendation",
    "evidence",
    "command",
)


def build_data(content: Content, standings: tuple[Standing, ...]) -> Iterator[tuple[str, bytes, str]]:
    """Yields (path, bytes, what it holds); the published indexes keep their places and shapes."""
    told: answers.Standings = {"schema": "layline.standings/1", "standings": [_standing(item) for item in standings]}
    yield "data/standings.json", _json(told), "Where each backend stands, with its evidence"
    yield "data/standings.csv", _csv([_row(item, item.latest) for item in standings]), "The same, one line per backend"
    yield (
        "data/measurements.csv",
        _csv([_row(standing, item) for standing in standings for item in standing.measurements]),
        "Every measurement of every report",
    )
    yield "dashboard-data/index.json", _json(build_gap_index(content.records)), "Index of the gap reports"
    yield "reports-data/index.json", _json(build_combined_index(content.records)), "Index of weekly and monthly reports"
    for cadence in Cadence:
        if content.records.of(cadence):
            yield (
                f"data/{cadence.value}.json",
                _json(build_cadence_index(content.records, cadence)),
                f"Index of the {cadence.value} reports",
            )
    for item in content.records.gap:
        yield f"dashboard-data/reports/{item.record.id}.json", _json(dict(item.plain)), f"Record: {item.record.title}"
        if item.record.id in content.evidence:
            yield (
                f"dashboard-data/evidence/{item.record.id}.json",
                _compact(content.evidence[item.record.id]),
                f"Evidence of {item.record.title}",
            )
    for key, inventory in content.patches.items():
        yield f"data/patches/{key}.json", _json(dict(inventory)), f"Patch inventory of {content.labels.get(key, key)}"
    for key, drift in content.drifts.items():
        yield f"data/patches/{key}.drift.json", _json(dict(drift)), f"Drift of {content.labels.get(key, key)}'s patches"
    for key, campaign in content.campaigns.items():
        yield f"data/campaigns/{key}.json", _json(dict(campaign)), f"Campaign {key}"
    yield "sections.json", _json(content.sections.index), "Mounted sections and links"


def build_badges(standings: tuple[Standing, ...]) -> Iterator[tuple[str, bytes]]:
    """Yields the SVG and the shields endpoint of each backend."""
    for standing in standings:
        label, value, tone = badge_words(standing)
        yield f"badges/{standing.key}.svg", (badge(label, value, tone) + "\n").encode()
        yield f"badges/{standing.key}.json", _json(shields_endpoint(label, value, tone))


def badge_words(standing: Standing) -> tuple[str, str, str]:
    behind = standing.latest.behind
    label = f"{standing.label} upstream"
    if behind is None:
        return label, "not measured", "none"
    stale = f" on {standing.latest.date}" if standing.is_stale else ""
    return label, ("up to date" if behind == 0 else f"{behind:,} behind") + stale, standing.advice.tone


def _standing(standing: Standing) -> answers.OneStanding:
    latest = standing.latest
    return {
        "backend": standing.key,
        "label": standing.label,
        "behind": latest.behind,
        "change": standing.step[0] if standing.step else None,
        "since": standing.step[1] if standing.step else None,
        "measured": {"date": latest.date, "source": latest.source, "kind": latest.kind},
        "stale": standing.is_stale,
        "stale_days": standing.stale_days,
        "pin": {"commit": latest.pin, "date": latest.pin_date},
        "tip": {"commit": latest.tip, "date": latest.tip_date, "repo": latest.repo, "ref": latest.ref},
        "recommendation": standing.advice.recommendation,
        "evidence": {"link": latest.compare_link, "command": latest.command},
    }


def _row(standing: Standing, item: Any) -> list[Any]:
    values = [
        standing.key,
        item.date,
        item.source,
        item.kind,
        item.behind,
        item.pin,
        item.pin_date,
        item.tip,
        item.tip_date,
        item.recommendation,
        item.compare_link,
        item.command,
    ]
    return [_harmless(value) for value in values]


def _harmless(value: Any) -> Any:
    """A spreadsheet must not take a record's words for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" else value


def _csv(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue().encode()


def _compact(plain: Mapping[str, Any]) -> bytes:
    """Never heavier than the file it was read from."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()


def _json(plain: Mapping[str, Any]) -> bytes:
    return codec.to_json(plain).encode()
