"""`layline mcp`: the door for agents, started from the door for people."""

from __future__ import annotations

from pathlib import Path

from layline.cli.group import command
from layline.cli.show import config_option


@command()
@config_option
def mcp(config: Path | None) -> int:
    """Serve the same answers to an AI agent (Model Context Protocol).

    Needs the extra `layline[mcp]`; speaks over stdin and stdout.
    """
    from layline.mcp.server import build_server

    build_server(config).run("stdio")
    return 0
