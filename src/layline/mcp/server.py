"""The server: tools, resources, prompts, in one place that says what an agent can do."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any, cast

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.tools import Tool as OfferedTool
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from layline import __version__
from layline.errors import Error
from layline.mcp import prompts
from layline.mcp.calls import Call, Workers, answer
from layline.mcp.tool import Does, Session, Tool
from layline.mcp.tools import TOOLS

INSTRUCTIONS = """\
Layline answers questions about a framework layered over pinned upstreams: how far each backend is behind (gap), which
monkey patches exist, when they are on and whether they still fit (patches), whether a kernel change is really faster
(campaign). Start with doctor. Answers are paged: page.next_offset. Only claim what an answer shows; repeat what was
skipped. To read without asking: layline://project, layline://inventory/BACKEND, layline://reports, layline://campaigns."""

_BY_NAME = {tool.name: tool for tool in TOOLS}


def build_server(config: Path | None = None, *, today: date | None = None) -> MCPServer[Any]:
    """A server over one layline.toml."""
    workers = Workers()

    @asynccontextmanager
    async def live(_: MCPServer[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await workers.close()

    session = Session(config, today)
    server: MCPServer[Any] = MCPServer(
        "layline",
        version=__version__,
        instructions=INSTRUCTIONS,
        tools=[_offer(tool, session, workers) for tool in TOOLS],
        log_level="WARNING",
        lifespan=live,
    )
    _add_resources(server, session, workers)
    prompts.register(server)
    return server


class _Offered(OfferedTool):
    """A tool as the SDK keeps it, which refuses inputs it does not have; the SDK would drop them in silence."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        try:
            _BY_NAME[self.name].refuse_unknown(arguments)
        except Error as error:
            raise ToolError(_say(error)) from None
        return await super().run(arguments, context, convert_result)


def _offer(tool: Tool, session: Session, workers: Workers) -> _Offered:
    """The tool with its inputs as we describe them: the SDK's own description is a quarter longer."""
    made = _Offered.from_function(
        _build_handler(tool, session, workers),
        name=tool.name,
        description=tool.says,
        annotations=_annotate(tool.does),
        structured_output=False,
    )
    inputs = {item.name: item.schema for item in tool.all_inputs}
    return cast("_Offered", made.model_copy(update={"parameters": {"type": "object", "properties": inputs}}))


def _annotate(does: Does) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=does.reads_only,
        destructive_hint=does.destroys,
        idempotent_hint=does.repeatable,
        open_world_hint=False,
    )


def _build_handler(tool: Tool, session: Session, workers: Workers) -> Callable[..., Awaitable[CallToolResult]]:
    """The tool as the SDK wants it: a coroutine with the tool's own inputs.

    The inputs are described as JSON Schema and checked by the tool itself, whose errors say what to write instead.
    """

    async def handle(ctx: Context[Any, Any], **arguments: Any) -> CallToolResult:
        given = {name: value for name, value in arguments.items() if value is not None}
        call = Call(ask="tool", name=tool.name, arguments=given)
        try:
            packed = await answer(workers, session, call, ctx.report_progress)
        except Error as error:
            raise ToolError(_say(error)) from None
        # the same JSON twice: as text for clients that show text, without the indentation that would double its size
        text = json.dumps(packed, ensure_ascii=False, separators=(",", ":"))
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=packed)

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Context[Any, Any])
    named = [
        inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
        for item in tool.all_inputs
    ]
    inputs = [context, *named]
    handle.__signature__ = inspect.Signature(inputs, return_annotation=CallToolResult)  # type: ignore[attr-defined]
    handle.__annotations__ = {**{item.name: item.annotation for item in inputs}, "return": CallToolResult}
    return handle


def _add_resources(server: MCPServer[Any], session: Session, workers: Workers) -> None:
    """Every long text is read a page at a time (`?offset=`), every list names the addresses of what it lists."""

    async def read(name: str, offset: int = 0, **arguments: str) -> str:
        try:
            call = Call(ask="resource", name=name, arguments=arguments, offset=offset)
            return str(await answer(workers, session, call, _tell_nobody))
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
