"""The server: tools, resources, prompts, in one place that says what an agent can do."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

from layline import __version__
from layline.mcp import campaign_tools, gap_tools, patch_tools, prompts, record_tools
from layline.mcp.calls import Session

INSTRUCTIONS = """\
Layline answers questions about a framework that is layered over pinned upstreams: how far each backend is behind (gap_*),
which monkey patches exist, when they are on and whether they still fit (patches_*), whether a kernel change is really
faster (campaign_*). Every figure carries its evidence. Answers are paged: `page.next_offset` is the handle for more.
Start with `doctor` to see the configured backends. Only claim what an answer shows; repeat what was skipped."""

REGISTRARS = (
    gap_tools.register,
    patch_tools.register,
    record_tools.register,
    campaign_tools.register,
    prompts.register,
)


def build_server(config: Path | None = None, *, today: date | None = None) -> MCPServer[Any]:
    """A server over one layline.toml."""
    server: MCPServer[Any] = MCPServer("layline", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    session = Session(config, today)
    for register in REGISTRARS:
        register(server, session)
    return server
