"""Tools about patches: what they replace, when they are on, whether they still fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.mcp.annotations import READS, WRITES
from layline.mcp.calls import Session, answer
from layline.mcp.paging import Packed

StyleName = Literal["binding-replacement", "function-wrapping", "config-rewrite", "env-lifecycle", "source-rewrite"]


def register(server: MCPServer[Any], session: Session) -> None:
    """Add the tools to a server."""
    _register_inventory(server, session)
    _register_drift(server, session)


def _register_inventory(server: MCPServer[Any], session: Session) -> None:
    @server.tool(annotations=READS)
    async def patches_list(
        ctx: Context[Any, Any], backend: str, at: str = "HEAD", phase: str | None = None, style: StyleName | None = None,
        show: Literal["table", "full", "unregistered"] = "table", offset: int = 0,
    ) -> Packed:  # fmt: skip
        """Every monkey patch of a backend: what it does, which upstream symbol it replaces or wraps, where, how to enable it.

        `show="full"` has every field of a patch, `show="unregistered"` the effects found outside any registration.
        """
        from layline.app.patches import Filter
        from layline.app.patches import patches_list as run

        def job(_progress: Progress) -> Answer:
            found = run(session.workspace(at), backend, Filter(phase=phase, style=style))
            return (
                _without(found, "patches")
                if show == "unregistered"
                else _without(found, "unregistered", as_table=show == "table")
            )

        return await answer(
            ctx, job, of="unregistered" if show == "unregistered" else "patches", offset=offset, limit=200
        )

    @server.tool(annotations=READS)
    async def patches_find(
        ctx: Context[Any, Any], word: str, backend: str | None = None, at: str = "HEAD", offset: int = 0
    ) -> Packed:
        """Where is feature X: ids, descriptions, targets, guards, config keys and YAML files, implementation names."""
        from layline.app.patches_find import patches_find as run

        return await answer(ctx, lambda _: run(session.workspace(at), word, backend), offset=offset)

    @server.tool(annotations=READS)
    async def patches_show(ctx: Context[Any, Any], patch: str, backend: str | None = None, at: str = "HEAD") -> Packed:
        """One patch in depth: logic, guard, code, upstream definition beside ours, other patches on the target, history."""
        from layline.app.patches_show import patches_show as run

        return await answer(ctx, lambda _: run(session.workspace(at), patch, backend))

    @server.tool(annotations=WRITES)
    async def patches_port(ctx: Context[Any, Any], patch: str, to: str | None = None, at: str = "HEAD") -> Packed:
        """The porting plan of a patch: files, symbol to rebind, by-value importers, constraints; with `to`, writes a bundle there."""
        from layline.app.patches_port import patches_port as run

        return await answer(ctx, lambda _: run(session.workspace(at), patch, to=Path(to) if to else None))

    @server.tool(annotations=READS)
    async def patches_notes(ctx: Context[Any, Any], file: str, at: str = "HEAD", offset: int = 0) -> Packed:
        """Hold hand-written patch notes against the code: confirmed, contradicted, stale, missing."""
        from layline.app.patches_find import patches_notes as run

        return await answer(ctx, lambda _: run(session.workspace(at), Path(file)), offset=offset)


def _register_drift(server: MCPServer[Any], session: Session) -> None:
    @server.tool(annotations=READS)
    async def patches_drift(
        ctx: Context[Any, Any], backend: str, to: str | None = None, at: str = "HEAD", culprits: bool = False,
        offset: int = 0, limit: int = 50,
    ) -> Packed:  # fmt: skip
        """Will every patch still fit at an upstream ref? Kind per effect, worst first, with suggestion and culprit commit."""
        from layline.app.patches_drift import DriftOptions
        from layline.app.patches_drift import patches_drift as run

        options = DriftOptions(to=to, culprits=culprits, today=session.day(None))
        return await answer(ctx, lambda _: run(session.workspace(at), backend, options), offset=offset, limit=limit)

    @server.tool(annotations=READS)
    async def patches_diff(ctx: Context[Any, Any], patch: str, to: str | None = None, at: str = "HEAD") -> Packed:
        """Three sides of one patch: upstream then, upstream now, ours; where both changed is the porting work."""
        from layline.app.patches_drift import patches_diff as run

        return await answer(ctx, lambda _: run(session.workspace(at), patch, to=to))

    @server.tool(annotations=READS)
    async def patches_retarget(ctx: Context[Any, Any], backend: str, to: str | None = None, at: str = "HEAD") -> Packed:
        """The edit for moved and renamed targets as a diff ready for `git apply`; nothing is written."""
        from layline.app.patches_drift import patches_retarget as run

        return await answer(ctx, lambda _: run(session.workspace(at), backend, to=to)[0])


def _without(found: Answer, other: str, *, as_table: bool = False) -> Answer:
    """The list asked for; the other one is only counted."""
    data = {**found.data, other: [], f"{other}_count": len(found.data[other])}
    if as_table:
        data["patches"] = [_as_row(patch) for patch in data["patches"]]
    return Answer(report=found.report, data=data, needs_person=found.needs_person)


def _as_row(patch: dict[str, Any]) -> dict[str, Any]:
    """The five columns of the inventory and what asks for attention."""
    return {
        "patch": patch["id"],
        "what": patch["description"],
        "logic": [_say_effect(effect) for effect in patch["effects"]],
        "code": f"{patch['file']}:{patch['line']}",
        "enable": patch["guard"]["expression"],
        "phase": patch["phase"],
        "priority": patch["priority"],
        **({} if patch["active"] else {"never_active": patch["active_reason"]}),
    }


def _say_effect(effect: dict[str, Any]) -> str:
    target = effect["target"] or ", ".join(effect["mutates"]) or "N/A"
    doubt = "" if effect["certain"] else f" (not certain: {effect['reason']})"
    absent = " [absent at the pin]" if effect["target_kind"] == "absent" else ""
    return f"{effect['style']}: {target}{absent}{doubt}"
