"""Tools about benchmark files, dashboard records and periodic reports."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.mcp.tool import READS, WRITES, Session, Tool


def parse_bench_csv(
    session: Session, progress: Progress, *, file: str, other: str | None = None, snr_db: float | None = None
) -> Answer:
    """Read a benchmark CSV strictly: schema, PASS/FAIL, per-shape rows, aggregates; with `other`, compare the two shape
    by shape.
    """
    from layline.app.bench import bench_csv as run

    return run(Path(file), Path(other) if other else None, snr_db=snr_db)


def dashboard_index(
    session: Session,
    progress: Progress,
    *,
    only: Literal["backend-gap", "weekly", "monthly"] | None = None,
    check: bool = False,
) -> Answer:
    """Validate all dashboard records and rewrite the generated indexes (`check`: only say whether they are current)."""
    from layline.app.dashboard_index import dashboard_index as run

    return run(session.config, only=only, check=check)


def dashboard_check(session: Session, progress: Progress, *, folder: str) -> Answer:
    """Read a built site as a stranger would: entry point, indexes, links, anchors, external requests, sizes."""
    from layline.app.dashboard_check import dashboard_check as run

    return run(Path(folder))


def periodic_weekly(
    session: Session, progress: Progress, *, week: str | None = None, until: str | None = None
) -> Answer:
    """Write the weekly engineering report and its record from git history (week as 2026-W19)."""
    from layline.app.periodic import Span
    from layline.app.periodic import periodic_weekly as run

    return run(session.workspace(), Span(period=week, until=until))


def periodic_monthly(
    session: Session, progress: Progress, *, month: str | None = None, until: str | None = None
) -> Answer:
    """Write the monthly engineering report and its record from git history (month as 2026-06)."""
    from layline.app.periodic import Span
    from layline.app.periodic import periodic_monthly as run

    return run(session.workspace(), Span(period=month, until=until))


TOOLS = (
    Tool(function=parse_bench_csv, does=READS, of="rows"),
    Tool(function=dashboard_index, does=WRITES),
    Tool(function=dashboard_check, does=READS),
    Tool(function=periodic_weekly, does=WRITES, paged=False),
    Tool(function=periodic_monthly, does=WRITES, paged=False),
)
