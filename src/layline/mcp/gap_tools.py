"""Tools about the project and the gap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from layline.mcp.annotations import READS, WRITES
from layline.mcp.calls import Session, answer
from layline.mcp.paging import Packed


def register(server: MCPServer[Any], session: Session) -> None:
    """Add the tools to a server."""

    @server.tool(annotations=READS)
    async def doctor(ctx: Context[Any, Any], at: str = "HEAD", offset: int = 0) -> Packed:
        """What is configured, found and missing: backends, pins, upstream objects, folders, programs. Start here."""
        from layline.app.doctor import doctor as run

        return await answer(ctx, lambda _: run(session.workspace(at)), offset=offset, limit=200)

    @server.tool(annotations=READS)
    async def gap_show(ctx: Context[Any, Any], backend: str, to: str | None = None, at: str = "HEAD") -> Packed:
        """How far a pinned backend is behind its upstream: commits, dates, versions, diff size, age; each with its git command."""
        from layline.app.gap import gap_show as run

        return await answer(ctx, lambda _: run(session.workspace(at), backend, to=to, today=session.day(None)))

    @server.tool(annotations=WRITES)
    async def gap_report(
        ctx: Context[Any, Any], backend: str, to: str | None = None, at: str = "HEAD", date: str | None = None
    ) -> Packed:
        """Write the detailed report, the one-page summary, the dashboard record and its evidence for one backend."""
        from layline.app.gap_report import gap_report as run

        def job(progress: Any) -> Any:
            return run(session.workspace(at), (backend,), to=to, today=session.day(date), progress=progress)

        return await answer(ctx, job)

    @server.tool(annotations=READS)
    async def gap_audit(ctx: Context[Any, Any], records: list[str], offset: int = 0) -> Packed:
        """Hold published records against git: each field confirmed, contradicted (with the right value) or not checkable."""
        from layline.app.gap_audit import gap_audit as run

        return await answer(
            ctx, lambda _: run(session.workspace(), tuple(Path(name) for name in records)), offset=offset
        )

    @server.tool(annotations=READS)
    async def gap_verify(ctx: Context[Any, Any], records: list[str] | None = None, offset: int = 0) -> Packed:
        """Recompute every fact of our own records from its evidence; changed, gone or unreachable facts are named."""
        from layline.app.gap_verify import gap_verify as run

        return await answer(
            ctx, lambda _: run(session.workspace(), tuple(Path(name) for name in records or ())), offset=offset
        )
