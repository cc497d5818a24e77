"""Tools about benchmark files, dashboard records and periodic reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from layline.mcp.annotations import READS, WRITES
from layline.mcp.calls import Session, answer
from layline.mcp.paging import Packed


def register(server: MCPServer[Any], session: Session) -> None:
    """Add the tools to a server."""

    @server.tool(annotations=READS)
    async def parse_bench_csv(ctx: Context[Any, Any], file: str, other: str | None = None, offset: int = 0) -> Packed:
        """Read a benchmark CSV strictly: schema, PASS/FAIL, per-shape rows, aggregates; with `other`, compare the two."""
        from layline.app.bench import bench_csv as run

        return await answer(ctx, lambda _: run(Path(file), Path(other) if other else None), offset=offset)

    @server.tool(annotations=WRITES)
    async def dashboard_index(
        ctx: Context[Any, Any], only: Literal["backend-gap", "weekly", "monthly"] | None = None
    ) -> Packed:
        """Validate all dashboard records and rewrite the generated indexes; every problem is named with file and path."""
        from layline.app.dashboard_index import dashboard_index as run

        return await answer(ctx, lambda _: run(session.config, only=only))

    @server.tool(annotations=READS)
    async def dashboard_check(ctx: Context[Any, Any], folder: str, offset: int = 0) -> Packed:
        """Read a built site as a stranger would: entry point, indexes, links, anchors, external requests, sizes."""
        from layline.app.dashboard_check import dashboard_check as run

        return await answer(ctx, lambda _: run(Path(folder)), offset=offset)

    @server.tool(annotations=WRITES)
    async def periodic_weekly(ctx: Context[Any, Any], week: str | None = None, until: str | None = None) -> Packed:
        """Write the weekly engineering report and its record from git history (week as 2026-W19)."""
        from layline.app.periodic import Span
        from layline.app.periodic import periodic_weekly as run

        return await answer(ctx, lambda _: run(session.workspace(), Span(period=week, until=until)))

    @server.tool(annotations=WRITES)
    async def periodic_monthly(ctx: Context[Any, Any], month: str | None = None, until: str | None = None) -> Packed:
        """Write the monthly engineering report and its record from git history (month as 2026-06)."""
        from layline.app.periodic import Span
        from layline.app.periodic import periodic_monthly as run

        return await answer(ctx, lambda _: run(session.workspace(), Span(period=month, until=until)))
