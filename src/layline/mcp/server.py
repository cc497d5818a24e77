"""The server: tools, resources, prompts, in one place that says what an agent can do."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from layline import __version__
from layline.errors import Error
from layline.mcp import prompts
from layline.mcp.calls import Call, answer
from layline.mcp.paging import Packed
from layline.mcp.tool import Does, Session, Tool
from layline.mcp.tools import TOOLS

INSTRUCTIONS = """\
Layline answers questions about a framework that is layered over pinned upstreams: how far each backend is behind (gap_*),
which monkey patches exist, when they are on and whether they still fit (patches_*), whether a kernel change is really
faster (campaign_*). Every figure carries its evidence. Answers are paged: `page.next_offset` is the handle for more.
Start with `doctor` to see the configured backends. Only claim what an answer shows; repeat what was skipped.
To read without asking: layline://project, layline://inventory/BACKEND, layline://reports, layline://campaigns."""


def build_server(config: Path | None = None, *, today: date | None = None) -> MCPServer[Any]:
    """A server over one layline.toml."""
    server: MCPServer[Any] = MCPServer("layline", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    session = Session(config, today)
    for tool in TOOLS:
        server.add_tool(
            _build_handler(tool, session),
            name=tool.name,
            description=inspect.getdoc(tool.function),
            annotations=_annotate(tool.does),
        )
    _add_resources(server, session)
    prompts.register(server)
    return server


def _annotate(does: Does) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=does.reads_only,
        destructive_hint=does.destroys,
        idempotent_hint=does.repeatable,
        open_world_hint=False,
    )


def _build_handler(tool: Tool, session: Session) -> Callable[..., Awaitable[CallToolResult]]:
    """The tool as the SDK wants it: a coroutine with the tool's own inputs, its types and the output's schema."""

    async def handle(ctx: Context[Any, Any], **arguments: Any) -> CallToolResult:
        offset, limit = arguments.pop("offset", 0), arguments.pop("limit", tool.limit)
        call = Call(ask="tool", name=tool.name, arguments=arguments, offset=offset, limit=limit)
        try:
            packed = await answer(session, call, ctx.report_progress)
        except Error as error:
            raise ToolError(_say(error)) from None
        # the same JSON twice: as text for clients that show text, without the indentation that would double its size
        text = json.dumps(packed, ensure_ascii=False, separators=(",", ":"))
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=packed)

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Context[Any, Any])
    inputs = [context, *tool.inputs]
    result = Annotated[CallToolResult, Packed]
    handle.__signature__ = inspect.Signature(inputs, return_annotation=result)  # type: ignore[attr-defined]  # how a signature is given
    handle.__annotations__ = {**{item.name: item.annotation for item in inputs}, "return": result}
    return handle


def _add_resources(server: MCPServer[Any], session: Session) -> None:
    """Every long text is read a page at a time (`?offset=`), every list names the addresses of what it lists."""

    async def read(name: str, offset: int = 0, **arguments: str) -> str:
        try:
            call = Call(ask="resource", name=name, arguments=arguments, offset=offset)
            return str(await answer(session, call, _tell_nobody))
        except Error as error:
            raise ResourceError(_say(error)) from None

    @server.resource("layline://project", mime_type="text/markdown")
    async def project() -> str:
        """What is configured, found and missing, and which other resources there are."""
        return await read("project")

    @server.resource("layline://reports", mime_type="text/markdown")
    async def reports() -> str:
        """The gap, weekly and monthly reports of the project, newest first, with the address of each."""
        return await read("reports")

    @server.resource("layline://campaigns", mime_type="text/markdown")
    async def campaigns() -> str:
        """The kernel campaigns of the repository the server was started in, with the address of each."""
        return await read("campaigns")

    @server.resource("layline://inventory/{backend}{?offset}", mime_type="text/markdown")
    async def inventory(backend: str, offset: int = 0) -> str:
        """The patches of a backend as they are now, one line each, with the address of each."""
        return await read("inventory", offset, backend=backend)

    @server.resource("layline://patch/{patch}{?offset}", mime_type="text/markdown")
    async def patch(patch: str, offset: int = 0) -> str:
        """One patch in depth."""
        return await read("patch", offset, patch=patch)

    @server.resource("layline://report/{report}/{part}{?offset}", mime_type="text/markdown")
    async def report(report: str, part: str, offset: int = 0) -> str:
        """A published report: part `summary` or `detail` of a gap report, `weekly` or `monthly` of a periodic one."""
        return await read("report", offset, report=report, part=part)

    @server.resource("layline://campaign/{campaign}{?offset}", mime_type="text/markdown")
    async def campaign(campaign: str, offset: int = 0) -> str:
        """Where a campaign stands, its rounds and what they taught; nothing is measured."""
        return await read("campaign", offset, campaign=campaign)


async def _tell_nobody(progress: float, total: float | None = None, message: str | None = None) -> None:
    """Reading a resource has no progress to send."""


def _say(error: Error) -> str:
    return f"{error.message} Hint: {error.hint}" if error.hint else error.message
