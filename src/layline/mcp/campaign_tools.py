"""Tools about kernel campaigns and lessons. They work on the campaign of the folder the server was started in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.mcp.annotations import ACTS, READS, WRITES
from layline.mcp.calls import Session, answer
from layline.mcp.paging import Packed

BucketName = Literal["K1", "K2", "K3", "K4", "W1", "W2", "W3"]
NoteKind = Literal["diagnosis", "attribution", "next", "lesson", "profile", "inspection", "comparison", "direction"]


def register(server: MCPServer[Any], session: Session) -> None:  # noqa: ARG001  registrars share one shape
    """Add the tools to a server."""
    _register_reading(server)
    _register_acting(server)


def _register_reading(server: MCPServer[Any]) -> None:
    @server.tool(annotations=READS)
    async def campaign_status(ctx: Context[Any, Any], campaign: str | None = None) -> Packed:
        """Where a campaign stands: phase, best kernel, rounds, escalation step, what comes next."""
        from layline.app.campaign import campaign_status as run

        return await answer(ctx, lambda _: run(campaign))

    @server.tool(annotations=READS)
    async def campaign_log(ctx: Context[Any, Any], campaign: str | None = None, offset: int = 0) -> Packed:
        """Everything that happened in a campaign, entry by entry, from the hash-chained ledger."""
        from layline.app.campaign_end import campaign_log as run

        return await answer(ctx, lambda _: run(campaign), offset=offset)

    @server.tool(annotations=READS)
    async def campaign_audit(
        ctx: Context[Any, Any], folder: str, repo: str | None = None, at: str = "HEAD", offset: int = 0
    ) -> Packed:
        """Hold a foreign campaign folder against the rules; violations with evidence. With `repo`, read it at a commit."""
        from layline.app.campaign_audit import campaign_audit as run

        return await answer(ctx, lambda _: run(folder, repo=Path(repo) if repo else None, at=at), offset=offset)

    @server.tool(annotations=READS)
    async def campaign_handoff(
        ctx: Context[Any, Any], operator: str, backend: str, gpu: str, options: dict[str, str] | None = None
    ) -> Packed:
        """Every prerequisite of a campaign with where it was found or that it is missing, and the environment check."""
        from layline.app.campaign_handoff import campaign_handoff as run
        from layline.campaign.handoff import Request

        request = Request(operator=operator, backend=backend, gpu=gpu, options=dict(options or {}))
        return await answer(ctx, lambda _: run(request))

    @server.tool(annotations=READS)
    async def lessons_list(ctx: Context[Any, Any], withdrawn: bool = False, offset: int = 0) -> Packed:
        """What earlier campaigns learned: effective and ineffective directions by GPU, operator and language."""
        from layline.app.lessons import lessons_list as run

        return await answer(ctx, lambda _: run(withdrawn=withdrawn), offset=offset)


def _register_acting(server: MCPServer[Any]) -> None:
    @server.tool(annotations=ACTS)
    async def campaign_round(
        ctx: Context[Any, Any], hypothesis: str, change: str, bucket: BucketName, expect: str | None = None,
        campaign: str | None = None,
    ) -> Packed:  # fmt: skip
        """Validate the edit in the work tree: gates, measure, judge; an accepted edit is committed, any other rolled back."""
        from layline.app.campaign import campaign_round as run
        from layline.campaign.model import Bucket
        from layline.campaign.proposers import Proposal

        proposal = Proposal(
            hypothesis=hypothesis, change=change, bucket=Bucket(bucket), expect=expect, proposer="agent"
        )

        def job(progress: Progress) -> Answer:
            return run(proposal, campaign, progress=lambda said: progress(said, 0, 0))

        return await answer(ctx, job)

    @server.tool(annotations=WRITES)
    async def campaign_note(
        ctx: Context[Any, Any], round: int, kind: NoteKind, text: str, campaign: str | None = None  # noqa: A002
    ) -> Packed:  # fmt: skip
        """Write down a diagnosis (demanded after a rollback), an attribution, the next direction or a lesson."""
        from layline.app.campaign import campaign_note as run

        return await answer(ctx, lambda _: run(round, [(kind, text)], campaign))

    @server.tool(annotations=WRITES)
    async def campaign_report(ctx: Context[Any, Any], campaign: str | None = None) -> Packed:
        """The report: baseline against best in one run, effective and ineffective directions, next steps; before the end, the story so far."""
        from layline.app.campaign_end import campaign_report as run

        def job(progress: Progress) -> Answer:
            return run(campaign, progress=lambda said: progress(said, 0, 0))

        return await answer(ctx, job)
