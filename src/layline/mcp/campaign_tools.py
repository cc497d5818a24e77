"""Tools about kernel campaigns and lessons. They work on the campaign of the folder the server was started in."""

from __future__ import annotations

from pathlib import Path

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.mcp.inputs import CAMPAIGN
from layline.mcp.tool import ACTS, ADDS, READS, Asked, Input, Session, Tool

_BUCKETS = ("K1", "K2", "K3", "K4", "W1", "W2", "W3")
_NOTES = ("diagnosis", "attribution", "next", "lesson", "profile", "inspection", "comparison", "direction")


def _status(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.campaign import campaign_status

    return campaign_status(asked["campaign"])


def _log(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.campaign_end import campaign_log

    return campaign_log(asked["campaign"])


def _audit(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.campaign_audit import campaign_audit

    repo = asked["repo"]
    return campaign_audit(
        asked.need("folder", "The folder of a campaign."), repo=Path(repo) if repo else None, at=asked["at"] or "HEAD"
    )


def _handoff(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.campaign_handoff import campaign_handoff
    from layline.campaign.handoff_request import Request

    hint = "handoff needs operator (gemm_fp8_blockwise), language (TRITON, CK, C) and gpu (gfx950, cpu)."
    request = Request(
        operator=asked.need("operator", hint),
        backend=asked.need("language", hint),
        gpu=asked.need("gpu", hint),
        options=dict(asked["options"] or {}),
    )
    return campaign_handoff(request)


def _lessons(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.lessons import lessons_list, lessons_show

    return lessons_show(asked["lesson"]) if asked["lesson"] else lessons_list(withdrawn=False)


def _round(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.campaign import campaign_round
    from layline.campaign.proposers import Proposal
    from layline.campaign.values.measurement import Bucket

    proposal = Proposal(
        hypothesis=asked.need("hypothesis", "What you expect to improve, and why."),
        change=asked.need("change", "The one change, in one line."),
        bucket=Bucket(asked.need("bucket", f"One of {', '.join(_BUCKETS)}.")),
        expect=asked["expect"],
        proposer="agent",
    )
    return campaign_round(proposal, asked["campaign"], progress=lambda said: progress(said, 0, 0))


def _note(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.campaign import campaign_note

    number = asked.need("round", "The number of a round.")
    text = asked.need("text", "One sentence.")
    return campaign_note(number, [(asked.need("kind", f"One of {', '.join(_NOTES)}."), text)], asked["campaign"])


TOOLS = (
    Tool(
        name="campaign",
        says="Kernel campaigns; nothing is measured. ask=status: phase, best kernel, rounds, what comes next. log: "
        "every "
        "entry of the ledger. audit: a campaign folder that others wrote. handoff: prerequisites and a draft manifest. "
        "lessons: what earlier campaigns learned, or one `lesson` in full.",
        does=READS,
        questions={"status": _status, "log": _log, "audit": _audit, "handoff": _handoff, "lessons": _lessons},
        inputs=(
            CAMPAIGN,
            Input(name="folder", says="audit: the folder."),
            Input(name="repo", says="audit: read it from this repository."),
            Input(name="at", says="audit: at this commit of it."),
            Input(name="operator", says="handoff: with its precision, gemm_fp8_blockwise."),
            Input(name="language", says="handoff: TRITON, CK, HIPBLASLT, C."),
            Input(name="gpu", says="handoff: gfx950, or cpu."),
            Input(name="options", says="handoff: kernel, test, bench, quick, metric, target.", kind="object"),
            Input(name="lesson", says="lessons: an id."),
        ),
    ),
    Tool(
        name="campaign_round",
        says="Measure the edit in the work tree against the best kernel: an accepted edit is committed, any other "
        "rolled "
        "back.",
        does=ACTS,
        questions={"round": _round},
        inputs=(
            Input(name="hypothesis", says="What you expect to improve, and why."),
            Input(name="change", says="The one change, in one line."),
            Input(
                name="bucket",
                says="K1: inside the kernel; K2: layout; K3: fusion; K4: saved for backward; W1: weight cache.",
                choices=_BUCKETS,
            ),
            Input(name="expect", says="Expected effect, such as +4 %."),
            CAMPAIGN,
        ),
        paged=False,
    ),
    Tool(
        name="campaign_note",
        says="Note what a round taught; a diagnosis is required after a rollback.",
        does=ADDS,
        questions={"note": _note},
        inputs=(
            Input(name="round", says="Its number.", kind="integer"),
            Input(name="kind", says="What the note is.", choices=_NOTES),
            Input(name="text", says="One sentence."),
            CAMPAIGN,
        ),
        paged=False,
    ),
)
