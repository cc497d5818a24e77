"""Tools about the project and the gap."""

from __future__ import annotations

from pathlib import Path

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.mcp.tool import READS, WRITES, Session, Tool


def doctor(session: Session, progress: Progress, *, at: str = "HEAD") -> Answer:
    """What is configured, found and missing: backends, pins, upstream objects, folders, programs. Start here."""
    from layline.app.doctor import doctor as run

    return run(session.workspace(at))


def gap_show(session: Session, progress: Progress, *, backend: str, to: str | None = None, at: str = "HEAD") -> Answer:
    """How far a pinned backend is behind its upstream: commits, dates, versions, diff size, age; each with its git
    command.
    """
    from layline.app.gap import gap_show as run

    return run(session.workspace(at), backend, to=to, today=session.day())


def gap_report(
    session: Session,
    progress: Progress,
    *,
    backend: str,
    to: str | None = None,
    at: str = "HEAD",
    date: str | None = None,
) -> Answer:
    """Write the detailed report, the one-page summary, the dashboard record and its evidence for one backend."""
    from layline.app.gap_report import gap_report as run

    return run(session.workspace(at), (backend,), to=to, today=session.day(date), progress=progress)


def gap_audit(session: Session, progress: Progress, *, records: list[str]) -> Answer:
    """Hold published records against git: each field confirmed, contradicted (with the right value) or not
    checkable.
    """
    from layline.app.gap_audit import gap_audit as run

    return run(session.workspace(), tuple(Path(name) for name in records))


def gap_verify(session: Session, progress: Progress, *, records: list[str] | None = None) -> Answer:
    """Recompute every fact of our own records from its evidence; changed, gone or unreachable facts are named."""
    from layline.app.gap_verify import gap_verify as run

    return run(session.workspace(), tuple(Path(name).resolve() for name in records or ()), progress=progress)


TOOLS = (
    Tool(function=doctor, does=READS, limit=200),
    Tool(function=gap_show, does=READS, paged=False),
    Tool(function=gap_report, does=WRITES, paged=False),
    Tool(function=gap_audit, does=READS),
    Tool(function=gap_verify, does=READS),
)
