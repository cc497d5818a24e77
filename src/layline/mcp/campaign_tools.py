"""Tools about kernel campaigns and lessons. They work on the campaign of the folder the server was started in."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.mcp.tool import ACTS, ADDS, READS, WRITES, Session, Tool

BucketName = Literal["K1", "K2", "K3", "K4", "W1", "W2", "W3"]
NoteKind = Literal["diagnosis", "attribution", "next", "lesson", "profile", "inspection", "comparison", "direction"]


def campaign_handoff(
    session: Session,
    progress: Progress,
    *,
    operator: str,
    backend: str,
    gpu: str,
    options: dict[str, str] | None = None,
) -> Answer:
    """Every prerequisite of a campaign with where it was found or that it is missing, the environment check, a draft
    manifest.
    """
    from layline.app.campaign_handoff import campaign_handoff as run
    from layline.campaign.handoff import Request

    return run(Request(operator=operator, backend=backend, gpu=gpu, options=dict(options or {})))


def campaign_status(session: Session, progress: Progress, *, campaign: str | None = None) -> Answer:
    """Where a campaign stands: phase, best kernel, rounds, escalation step, what comes next."""
    from layline.app.campaign import campaign_status as run

    return run(campaign)


def campaign_log(session: Session, progress: Progress, *, campaign: str | None = None) -> Answer:
    """Everything that happened in a campaign, entry by entry, from the hash-chained ledger."""
    from layline.app.campaign_end import campaign_log as run

    return run(campaign)


def campaign_audit(
    session: Session, progress: Progress, *, folder: str, repo: str | None = None, at: str = "HEAD"
) -> Answer:
    """Hold a foreign campaign folder against the rules; violations with evidence. With `repo`, read it at a commit."""
    from layline.app.campaign_audit import campaign_audit as run

    return run(folder, repo=Path(repo) if repo else None, at=at)


def campaign_round(
    session: Session,
    progress: Progress,
    *,
    hypothesis: str,
    change: str,
    bucket: BucketName,
    expect: str | None = None,
    campaign: str | None = None,
) -> Answer:
    """Validate the edit in the work tree: gates, measure, judge; an accepted edit is committed, any other rolled
    back.
    """
    from layline.app.campaign import campaign_round as run
    from layline.campaign.proposers import Proposal
    from layline.campaign.values.model import Bucket

    proposal = Proposal(hypothesis=hypothesis, change=change, bucket=Bucket(bucket), expect=expect, proposer="agent")
    return run(proposal, campaign, progress=lambda said: progress(said, 0, 0))


def campaign_note(
    session: Session,
    progress: Progress,
    *,
    round: int,  # noqa: A002  the word users know
    kind: NoteKind,
    text: str,
    campaign: str | None = None,
) -> Answer:
    """Write down a diagnosis (demanded after a rollback), an attribution, the next direction or a lesson."""
    from layline.app.campaign import campaign_note as run

    return run(round, [(kind, text)], campaign)


def campaign_report(session: Session, progress: Progress, *, campaign: str | None = None) -> Answer:
    """The report: baseline against best in one run, effective and ineffective directions, next steps; before the end,
    the story so far.
    """
    from layline.app.campaign_end import campaign_report as run

    return run(campaign, progress=lambda said: progress(said, 0, 0))


def lessons_list(session: Session, progress: Progress, *, withdrawn: bool = False) -> Answer:
    """What earlier campaigns learned: effective and ineffective directions by GPU, operator and language."""
    from layline.app.lessons import lessons_list as run

    return run(withdrawn=withdrawn)


def lessons_show(session: Session, progress: Progress, *, lesson: str) -> Answer:
    """One lesson in full, by the id that `lessons_list` gives."""
    from layline.app.lessons import lessons_show as run

    return run(lesson)


TOOLS = (
    Tool(function=campaign_handoff, does=READS, paged=False),
    Tool(function=campaign_status, does=READS, paged=False),
    Tool(function=campaign_log, does=READS),
    Tool(function=campaign_audit, does=READS),
    Tool(function=campaign_round, does=ACTS, paged=False),
    Tool(function=campaign_note, does=ADDS, paged=False),
    Tool(function=campaign_report, does=WRITES, paged=False),
    Tool(function=lessons_list, does=READS),
    Tool(function=lessons_show, does=READS, paged=False),
)
